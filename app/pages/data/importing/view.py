"""Page on which an import is checked, corrected and started."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import (
    QHBoxLayout,
    QSizePolicy,
    QSplitter,
    QStackedLayout,
    QTabBar,
    QVBoxLayout,
    QWidget,
)

from app.library import ModelEntry
from app.pages.data.cells import header_data, one_line, size_columns
from app.pages.data.importing.columns import ColumnsTable
from app.pages.data.importing.files import display_names
from app.pages.data.importing.findings_view import FindingsView
from app.pages.data.importing.preview import EXAMPLE_LENGTH, Example
from app.pages.data.importing.problems import ProblemList
from app.pages.data.importing.roles import Roles
from app.pages.data.importing.sections import (
    ColumnsSection,
    FilesSection,
    FormatSection,
    NameSection,
    SplitSection,
)
from app.pages.data.importing.state import ImportState
from app.theme import SPACE, Role, colour, px
from app.translation import translated
from app.widgets import buttons, layouts
from app.widgets.forms.checkpoint_box import CheckpointBox
from app.widgets.page import EmptyState, Page, scrolling
from app.widgets.progress import ProgressLine
from app.widgets.tables import Column, ColumnsModel, make_table
from app.widgets.text import numbers
from app.widgets.text.labels import Text, plain_menu_text, tooltip
from app.widgets.text.tagged import (
    CHIPS,
    Chip,
    ChipDelegate,
    chips,
    tag_types,
    text_chips,
    word_spans,
)
from app.widgets.text.token_row import TokenRow
from engine.data.columns.text_spans import marks_characters, read_spans
from engine.data.columns.words import split_words
from engine.data.formats.reading import FirstRows
from engine.data.formats.rows import Row

SIDE_WIDTH, MAX_SIDE_WIDTH = 88 * SPACE, 132 * SPACE  # px, of the controls; at any text size
_EMPTY = FirstRows((), [], ())


class ImportView(Page):
    """The page of an import.

    Signals:
        closed: return to the list and abandon the import.
        files_requested: choose other files.
        models_requested: show models of many languages.
    """

    closed = Signal()
    files_requested = Signal()
    models_requested = Signal()

    def __init__(self, state: ImportState, parent: QWidget | None = None) -> None:
        super().__init__("", "", parent)
        self.state = state
        self.back = self.add_back(self.tr("Back to data sets"), self.closed.emit)
        self.choose_files = buttons.plain(
            self.tr("Choose other &files…"), self.files_requested.emit, "folder-open"
        )
        self.action_row.addWidget(self.choose_files)
        middle = layouts.row(spacing=5 * SPACE)
        self.body.addLayout(middle, 1)
        self._add_rows_and_examples(middle)
        self._add_side(middle)
        self._add_foot()
        self._connect()

    def set_models(self, models: list[ModelEntry]) -> None:
        """Set the models whose tokenizers can show the examples; the first one is selected."""
        self.tokenizer.set_models(models)
        usable = next((model for model in models if model.info is not None), None)
        if self.tokenizer.chosen() is None and usable is not None:
            self.tokenizer.choose(usable.path)
            self.state.examples.set_model(usable.path)
        self._show_examples()

    # ── parts, each added to the page before it is filled, which is faster ───────────────────

    def _add_rows_and_examples(self, middle: QHBoxLayout) -> None:
        self.splitter = QSplitter(Qt.Orientation.Vertical)
        self.splitter.setChildrenCollapsible(False)
        self.splitter.setHandleWidth(4 * SPACE)
        middle.addWidget(self.splitter, 1)
        upper, self.examples_panel = QWidget(), QWidget()
        self.splitter.addWidget(upper)
        self.splitter.addWidget(self.examples_panel)
        self.splitter.setSizes([1_000, 1_000])
        self._fill_rows(_column(upper))
        self._fill_examples(_column(self.examples_panel))

    def _fill_rows(self, column: QVBoxLayout) -> None:
        head = layouts.wrap(spacing=3 * SPACE)
        column.addLayout(head)
        self.file_tabs = QTabBar()
        self.file_tabs.setAccessibleName(self.tr("File shown"))
        self.file_tabs.setExpanding(False)
        self.file_tabs.setElideMode(Qt.TextElideMode.ElideNone)  # it scrolls
        self.file_tabs.currentChanged.connect(self._show_file)
        self.count = Text("", "muted", wraps=False)
        self.shown = buttons.Segments(
            (self.tr("First rows"), self.tr("Columns")), self.tr("Contents of the file")
        )
        self.shown.choose(0)
        self.shown.chosen.connect(lambda _: self._show_table())
        head.addWidget(self.shown)
        column.addWidget(self.file_tabs)
        layouts.extend(head, layouts.STRETCH, self.count)
        self.check = buttons.quiet(self.tr("Check for &problems"), self.state.findings.examine)
        self.check.setToolTip(
            tooltip(self.tr("Finds duplicates, leakage, conflicting labels and more."))
        )
        self.cancel_check = buttons.quiet(self.tr("Cancel"), self.state.findings.cancel)
        self.cancel_check.setAccessibleName(self.tr("Cancel checking rows"))
        head.addWidget(self.check)
        head.addWidget(self.cancel_check)
        self.table_stack = QStackedLayout()
        column.addLayout(self.table_stack, 1)
        self.rows = PreviewModel(self)
        self.table = make_table(self.tr("First rows"), self.rows, numbered=True)
        self.table.setItemDelegate(ChipDelegate(self.table))
        self.table_stack.addWidget(self.table)
        self.columns_table = ColumnsTable(self.state)
        self.columns_table.assigned.connect(self._show_roles)
        self.table_stack.addWidget(self.columns_table)
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        self.table.verticalHeader().setDefaultAlignment(right)
        self.unreadable = EmptyState(
            "file-text",
            "",
            "",
            buttons.plain(
                self.tr("C&hoose other files…"), self.files_requested.emit, "folder-open"
            ),
        )
        self.table_stack.addWidget(self.unreadable)

    def _fill_examples(self, column: QVBoxLayout) -> None:
        head = layouts.wrap(spacing=3 * SPACE)
        column.addLayout(head)
        self.below = buttons.Segments(
            (self.tr("Tokenised preview"), self.tr("Findings")), self.tr("Preview and findings")
        )
        self.below.choose(0)
        self.below.chosen.connect(self._show_below)
        layouts.extend(head, self.below, layouts.STRETCH)
        self.tokenizer = CheckpointBox()
        self.tokenizer.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.tokenizer.setAccessibleName(self.tr("Model whose tokenizer is used"))
        self.tokenizer.picked.connect(lambda entry: self.state.examples.set_model(entry.path))
        self.tokenizer.setMaximumWidth(px(64 * SPACE))
        head.addWidget(self.tokenizer, 4)
        self.examples, self.findings = ExamplesView(), FindingsView(self.state.findings)
        self.examples.multilingual.clicked.connect(self.models_requested)
        self.below_stack = QStackedLayout()
        self.below_stack.addWidget(self.examples)
        self.below_stack.addWidget(self.findings)
        column.addLayout(self.below_stack, 1)

    def _add_side(self, middle: QHBoxLayout) -> None:
        inner = QWidget()
        self.side = scrolling(inner)
        self.side.setFixedWidth(min(px(SIDE_WIDTH), MAX_SIDE_WIDTH))
        self.side.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        middle.addWidget(self.side)
        column = layouts.column(parent=inner, spacing=6 * SPACE, margins=(0, 0, 3 * SPACE, 0))
        self.files = FilesSection(self.state, inner)
        self.format = FormatSection(self.state, inner)
        self.columns = ColumnsSection(self.state, inner)
        self.split = SplitSection(self.state, inner)
        self.name = NameSection(self.state, inner)
        for section in (self.files, self.format, self.columns, self.split, self.name):
            column.addWidget(section)
        column.addStretch(1)

    def _add_foot(self) -> None:
        self.choices = QWidget()
        self.body.addWidget(self.choices)
        row = layouts.row(parent=self.choices, spacing=4 * SPACE)
        self.problems = ProblemList(self.choices)
        self.problems.cleaning_chosen.connect(self.state.clean)
        self.obstacle = Text("", "muted")
        self.obstacle.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.start = buttons.primary(self.tr("&Import"), self.state.start_import, "check")
        row.addWidget(self.problems, 3)
        row.addWidget(self.obstacle, 1)
        row.addWidget(self.start, 0, Qt.AlignmentFlag.AlignVCenter)
        self.progress = ProgressLine(self.tr("Importing a data set"), in_bytes=True)
        self.progress.cancelled.connect(self.state.cancel_import)
        self.body.addWidget(self.progress)

    # ── state ────────────────────────────────────────────────────────────────────────────────

    def _connect(self) -> None:
        state = self.state
        state.opened.connect(self._show_files)
        state.previewed.connect(self._show_preview)
        state.examples.changed.connect(self._show_examples)
        state.count.changed.connect(self._show_count)
        state.findings.progressed.connect(self._show_count)
        state.checked.connect(self._show_problems)
        state.progressed.connect(self._on_progress)
        state.ended.connect(self._on_ended)

    def show_opening(self) -> None:
        """Show that files are being opened."""
        self.set_title(self.tr("Import"), self.tr("Opening the files…"))
        self._show_unreadable()
        self.rows.show_preview(_EMPTY)
        self.problems.show_problems([], ())
        self.start.setEnabled(False)
        self.files.show_files()
        self.format.show_reading()
        self.columns.show_columns()
        self.split.show_split()
        self._show_examples()
        self._show_count()

    def _show_files(self) -> None:
        files = self.state.files
        if files:
            names = ", ".join(one_line(name) for name in display_names(files[:4]))
            self.set_title(
                self.tr("Import “{0}”").format(one_line(self.state.name)),
                names if len(files) > 1 else str(files[0]),
            )
        else:
            self.set_title(self.tr("Import"), "")
        self._fill_tabs(files)
        self.files.show_files()
        self.name.show_name()

    def _fill_tabs(self, files: Sequence[Path]) -> None:
        """A tab for each file; that of a sheet has its size."""
        with QSignalBlocker(self.file_tabs):
            while self.file_tabs.count():
                self.file_tabs.removeTab(0)
            for file, name in zip(files, display_names(files), strict=True):
                title = plain_menu_text(one_line(name))
                if (shape := self.state.shapes.get(file)) is not None:
                    title += f" ({numbers.count(shape[0])} × {numbers.count(shape[1])})"
                self.file_tabs.addTab(title)
        self.file_tabs.setVisible(len(files) > 1)

    def _show_file(self, index: int) -> None:
        if index >= 0 and index != self.state.file_index:
            self.state.show_file(index)

    def _show_preview(self) -> None:
        preview = self.state.preview
        with QSignalBlocker(self.file_tabs):
            self.file_tabs.setCurrentIndex(self.state.file_index)
        self.format.show_reading()
        self.columns.show_columns()
        self.split.show_split()
        self.name.show_name()
        self._show_unreadable()
        self.rows.show_preview(preview.table if preview else _EMPTY)
        self._show_roles()
        self._size_columns()

    def _show_unreadable(self) -> None:
        """If nothing can be read, show the reason instead of rows."""
        problem = self.state.preview_problem
        self._show_table()
        self.examples_panel.setVisible(problem is None)
        self.side.setVisible(problem is None or self.state.reading is not None)
        if problem is not None:
            self.unreadable.title.setText(problem.problem)
            self.unreadable.text.setText(problem.advice)

    def _show_roles(self) -> None:
        self.columns.show_columns()
        self.rows.show_roles(self.state.roles)
        preview = self.state.preview
        self.columns_table.show_columns(preview.facts if preview else ())

    def _show_table(self) -> None:
        """Show the first rows or the columns, as chosen."""
        chosen = self.columns_table if self.shown.choice() else self.table
        is_readable = self.state.preview_problem is None
        self.table_stack.setCurrentWidget(chosen if is_readable else self.unreadable)

    def _size_columns(self) -> None:
        preview, roles = self.state.preview, self.state.roles
        if preview is not None:
            tags = next((name for name, role in roles.columns.items() if role == "tags"), None)
            size_columns(self.table, preview.table.columns, (roles.text, roles.pair, tags), 0, 0)

    def _show_examples(self) -> None:
        state = self.state
        examples = state.examples
        problem = examples.problem
        if not problem and examples.model is None:
            problem = self.tr("Import a model to see the rows as tokens.")
        elif not problem and not examples.examples and state.preview is not None:
            problem = self.tr("Choose the text column first.")
        lines = map(translated, filter(None, examples.coverage))
        self._show_roles()
        note = problem or "\n".join(lines)
        self.examples.show_examples(examples.examples, examples.unknown, note, self.rows.tag_types)
        self.examples.multilingual.setVisible(not problem and bool(examples.coverage.warning))
        self.split.show_split()

    def _show_below(self, index: int) -> None:
        self.below_stack.setCurrentIndex(index)
        self.tokenizer.setVisible(index == 0)

    def _show_findings(self) -> None:
        findings = self.state.findings
        count = len(findings.listed)
        title = self.tr("Findings ({0})").format(count) if count else self.tr("Findings")
        self.below.group.button(1).setText(title)
        self.findings.show_findings(findings.listed, findings.note())

    def _show_count(self) -> None:
        count, findings = self.state.count, self.state.findings
        done, total = count.bytes_read
        self.check.setVisible(findings.can_examine and not self.state.is_importing)
        self.cancel_check.setVisible(findings.is_examining)
        if findings.is_examining:
            self.count.setText(
                self.tr("Checking rows: {0}").format(numbers.percent(findings.fraction, 0))
            )
        elif count.collected is not None:
            self.count.setText(self.tr("%Ln row(s)", "", len(count.collected.splits)))
        elif count.is_counting and total:
            percentage = numbers.percent(done / total, 0)
            self.count.setText(self.tr("Checking all rows: {0}").format(percentage))
        else:
            self.count.setText("")
        self.split.show_sizes()

    def _show_problems(self) -> None:
        state = self.state
        collected, preview = state.count.collected, state.preview
        notes = collected.notes if collected else (preview.table.notes if preview else ())
        self.problems.show_problems(state.problems(), tuple(notes))
        self._show_findings()
        obstacle = state.obstacle()
        self.start.setEnabled(not obstacle and not state.is_importing)
        self.obstacle.setText(obstacle)
        self.obstacle.setVisible(bool(obstacle) and not self.problems.shows(obstacle))
        self.start.setAccessibleDescription(translated(obstacle))
        self.name.show_name()
        if state.is_importing and self.progress.isHidden():
            self.choices.hide()
            self.progress.begin(self.tr("Reading “{0}”").format(one_line(state.name)))
            self._set_editable(False)

    def _on_progress(self, done: int, total: int) -> None:
        if self.state.is_importing:
            self.progress.show_progress(done, total)

    def _on_ended(self) -> None:
        self.progress.end()
        self.choices.show()
        self._set_editable(True)
        self._show_problems()

    def _set_editable(self, editable: bool) -> None:
        for widget in (
            self.files,
            self.format,
            self.columns,
            self.split,
            self.name,
            self.choose_files,
        ):
            widget.setEnabled(editable)
        self.file_tabs.setEnabled(editable)


def _column(parent: QWidget) -> QVBoxLayout:
    return layouts.column(parent=parent, spacing=2 * SPACE)


class ExamplesView(QWidget):
    """The tokens, segments and labels of a few rows."""

    def __init__(self) -> None:
        super().__init__()
        self.rows: list[tuple[Text, TokenRow, Text]] = []
        self.note = Text("", "muted")
        self.multilingual = buttons.quiet(self.tr("Multilingual models…"))
        self.multilingual.hide()
        self._grid = layouts.grid(
            h_spacing=4 * SPACE, v_spacing=3 * SPACE, stretch=1, margins=(0, 0, 2 * SPACE, 0)
        )
        inner = layouts.page(
            self.note,
            (self.multilingual, 0, Qt.AlignmentFlag.AlignLeft),
            self._grid,
            layouts.STRETCH,
        )
        layouts.column(scrolling(inner), parent=self)

    def show_examples(
        self, examples: list[Example], unknown: int, note: str, types: list[str]
    ) -> None:
        """Show examples below a note, or the problem if there are none; `types` are of tags."""
        self.note.setText(note)
        self.note.setVisible(bool(note))
        while len(self.rows) < len(examples):
            self._add_row()
        for index, (line, tokens, label) in enumerate(self.rows):
            is_used = index < len(examples)
            for widget in (line, tokens, label):
                widget.setVisible(is_used)
            if is_used:
                tokens.show_tokens(examples[index].tokens, unknown, examples[index].spans, types)
                self._describe(examples[index], line, label)

    def _add_row(self) -> None:
        row = len(self.rows)
        widgets = (Text("", "small", wraps=False), TokenRow(EXAMPLE_LENGTH), Text("", "small"))
        widgets[2].setFixedWidth(px(30 * SPACE))
        for column, widget in enumerate(widgets):
            self._grid.addWidget(widget, row, column, Qt.AlignmentFlag.AlignTop)
        self.rows.append(widgets)

    def _describe(self, example: Example, line: Text, label: Text) -> None:
        line.setText(self.tr("line {0}").format(example.line))
        lines = []
        if example.label is not None:
            name = one_line(example.label)
            lines.append(self.tr("label “{0}”").format(name) if name else self.tr("no label"))
        if example.truncated:
            lines.append(self.tr("truncated to {0} tokens").format(EXAMPLE_LENGTH))
        label.setText("\n".join(lines))


class PreviewModel(ColumnsModel[Row]):
    """Rows as read; headers show the roles of columns, row headers the line numbers."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent=parent, row_title=lambda row: str(self.rows[row].line))
        self._roles: dict[str, str] = {}
        self.tag_types: list[str] = []  # of tags, in the order of their colours

    def show_preview(self, preview: FirstRows) -> None:
        columns = [self._column(index, name) for index, name in enumerate(preview.columns)]
        self.show_rows(preview.rows, columns)

    def _column(self, index: int, name: str) -> Column[Row]:
        def cell(row: Row) -> str:
            return row.cells[index] if index < len(row.cells) else ""

        return Column(
            name,
            lambda row: one_line(cell(row)),
            value=cell,
            tooltip=cell,
            color=lambda _: None if name in self._roles else colour(Role.MUTED),
            roles={
                CHIPS: lambda row: self._chips(row) if self._roles.get(name) == "tags" else None
            },
        )

    def _chips(self, row: Row) -> tuple[Chip, ...] | None:
        """The spans of a row; None if it has not as many tags as words."""
        text, cell = self._text_and_tags(row)
        if marks_characters(text, cell):
            return text_chips(text, read_spans(cell) or (), self.tag_types)
        words, tags = split_words(text), split_words(cell)
        return chips(words, word_spans(tags), self.tag_types) if len(words) == len(tags) else None

    def _text_and_tags(self, row: Row) -> tuple[str, str]:
        places = {self._roles.get(column.title): n for n, column in enumerate(self.columns)}
        indices = (places.get(role, len(row.cells)) for role in ("text", "tags"))
        text, cell = (row.cells[n] if n < len(row.cells) else "" for n in indices)
        return text, cell

    def _tags(self, row: Row) -> list[str]:
        """The tags of a row, or the labels of its spans of characters."""
        text, cell = self._text_and_tags(row)
        spans = read_spans(cell) if marks_characters(text, cell) else None
        return split_words(cell) if spans is None else [span.label for span in spans]

    def show_roles(self, roles: Roles) -> None:
        self._roles = roles.columns
        has_tags = "tags" in self._roles.values()
        tags = (self._tags(row) for row in (self.rows if has_tags else ()))
        self.tag_types = tag_types(sorted({tag for found in tags for tag in found if tag != "O"}))
        last = self.columnCount() - 1
        if last >= 0:
            self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, last)
            bottom = self.index(self.rowCount() - 1, last)
            self.dataChanged.emit(self.index(0, 0), bottom, [Qt.ItemDataRole.ForegroundRole])

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation == Qt.Orientation.Horizontal and section < len(self.columns):
            return header_data(self.columns[section].title, self._roles, role)
        return super().headerData(section, orientation, role)
