"""Dialog that applies a model to a file or to rows of a data set."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QAction, QFont
from PySide6.QtWidgets import (
    QComboBox,
    QGridLayout,
    QLayout,
    QListWidget,
    QMenu,
    QTableView,
    QWidget,
)

from app import background
from app.library import DataEntry
from app.studio import Studio
from app.theme import SPACE, Role, colour, px
from app.translation import tr, translated
from app.using import estimating_view
from app.using.applying_state import DATASET, EDITS, ApplyingState, StoredRows
from app.using.estimating_state import EstimatingState
from app.using.nightly import NightlyDialog
from app.widgets import buttons, layouts
from app.widgets.context_menu import context_menu, menu_action
from app.widgets.dialogs import Choice, choose_file, choose_folder, confirm, footer
from app.widgets.forms.controls import ColumnsBox, ComboBox, ProbabilityBox
from app.widgets.label_bars import LabelBarsView
from app.widgets.opening import open_path
from app.widgets.progress import StageProgress, StagesDialog
from app.widgets.screen import resize_within
from app.widgets.table_menu import selected_rows
from app.widgets.tables import Column, ColumnsModel, make_table
from app.widgets.text import numbers
from app.widgets.text.data_texts import split_title
from app.widgets.text.labels import OneLine, Text, one_line
from app.widgets.text.spec_texts import title_of
from app.widgets.text.tagged import CHIPS, Chip, ChipDelegate, chips, word_spans
from engine.config.dataset import Mapping
from engine.config.tasks import get_head
from engine.data.columns.words import split_words
from engine.data.formats.sources import data_suffixes
from engine.messages.applying import Applied, FirstPredicted

SIZE = QSize(860, 620)  # px
MAX_COLUMN_WIDTH = 320  # px
MAX_CELL_CHARACTERS = 200
BOX_CHARACTERS, FORMAT_CHARACTERS = 16, 32  # widths of boxes
MAX_NAME_CHARACTERS = 100  # of a column in a list


def fit_columns(table: QTableView) -> None:
    """Give each column the width of its cells, up to a limit; scroll to the predictions."""
    table.resizeColumnsToContents()
    for column in range(table.model().columnCount()):
        table.setColumnWidth(column, min(table.columnWidth(column), px(MAX_COLUMN_WIDTH)))
    bar = table.horizontalScrollBar()
    bar.setValue(bar.maximum())


class ApplyingDialog(StagesDialog):
    """A non-modal dialog in three stages: options with a preview, progress and result."""

    def __init__(self, studio: Studio, state: ApplyingState, owner: QWidget) -> None:
        super().__init__(tr("Apply “{0}”").format(state.name), owner)
        self._studio, self.state = studio, state
        state.setParent(self)
        self.choices, self.outcome = OptionsView(studio, state), Outcome(studio, state)
        self.progress = StageProgress(
            self.tr("Progress of the predictions"),
            self.tr(
                "You can keep working. If you stop, the predictions so far are kept and you can "
                "resume later."
            ),
        )
        self.add_parts(self.choices, self.outcome)
        self.parts.addWidget(self.progress)
        self.progress.close_button.clicked.connect(state.cancel)
        self.outcome.shown_elsewhere.connect(self.accept)
        state.changed.connect(self._show)
        resize_within(self, SIZE)
        self._show()
        self.choices.choose_file.setFocus()

    def stop(self) -> None:
        self.state.stop()

    def _show(self) -> None:
        state = self.state
        if state.working is not None:
            self.progress.show_working(state.working)
            self.parts.setCurrentWidget(self.progress)
        elif state.applied is not None:
            self.outcome.show_state()
            self.parts.setCurrentWidget(self.outcome)
        else:
            self.choices.show_state()
            self.parts.setCurrentWidget(self.choices)


class OptionsView(QWidget):
    """Controls for rows, columns and output, and the first rows."""

    def __init__(self, studio: Studio, state: ApplyingState) -> None:
        super().__init__()
        self._studio, self._state = studio, state
        self.file = OneLine()
        self.choose_file = buttons.plain(self.tr("Choose a &file…"), self._on_file, "file-text")
        self.choose_dataset = buttons.plain(
            self.tr("Choose a data &set…"), self._on_dataset, "database"
        )
        self.rows = ComboBox(self.tr("Rows of the data set"), FORMAT_CHARACTERS)
        self.rows.activated.connect(lambda _: state.choose_rows(self.rows.currentData()))
        self.boxes = {role: self._column_box(role) for role in state.roles if role != "endings"}
        title = title_of("endings", Mapping.model_fields["endings"])
        self.endings = ColumnsBox(title, BOX_CHARACTERS)
        self.endings.changed.connect(lambda: state.choose_endings(self.endings.chosen()))
        self.threshold = ProbabilityBox(self.tr("Mark as unsure below"), state.threshold)
        self.threshold.setSpecialValueText(self.tr("off"))
        self.threshold.valueChanged.connect(state.set_threshold)
        self.precision = ComboBox(self.tr("Precision"), BOX_CHARACTERS)
        self.precision.addItem(self.tr("Exact (fp32)"), True)
        self.precision.addItem(self.tr("Fast (bf16 or int8)"), False)
        self.precision.activated.connect(lambda _: state.set_exact(self.precision.currentData()))
        self.agreement = Text("", "muted", selectable=True)
        self.format = ComboBox(self.tr("Output format"), FORMAT_CHARACTERS)
        self.format.activated.connect(lambda _: state.set_format(self.format.currentData()))
        self.target = OneLine()
        self.choose_folder = buttons.plain(self.tr("F&older…"), self._on_folder, "folder-open")
        self.status = Text("", "muted")
        self.model = ColumnsModel[tuple[str, ...]](parent=self)
        self.table = make_table(
            self.tr("First rows with their predictions"), self.model, numbered=True
        )
        self.table.setItemDelegate(ChipDelegate(self.table))
        self.close_button = buttons.plain(self.tr("&Cancel"))
        self.start = buttons.primary(self.tr("&Apply"), state.start, "play")
        self.start.setDefault(True)
        layouts.column(
            self._grid(),
            self.status,
            (self.table, 1),
            footer(self.close_button, self.start),
            parent=self,
            spacing=3 * SPACE,
        )

    def _column_box(self, role: str) -> QComboBox:
        box = ComboBox(title_of(role, Mapping.model_fields[role]), BOX_CHARACTERS)
        box.activated.connect(lambda _: self._state.assign(role, box.currentData()))
        return box

    def _grid(self) -> QGridLayout:
        grid = layouts.grid(h_spacing=4 * SPACE, v_spacing=2 * SPACE, stretch=1)
        columns = layouts.row(spacing=2 * SPACE)
        for role, box in self.boxes.items():
            columns.addWidget(Text(title_of(role, Mapping.model_fields[role]), wraps=False))
            columns.addWidget(box, 1)
        if "endings" in self._state.roles:
            title = title_of("endings", Mapping.model_fields["endings"])
            columns.addWidget(Text(title, wraps=False))
            columns.addWidget(self.endings, 1)
        else:
            self.endings.hide()
        result = layouts.row(spacing=2 * SPACE)
        for part in (self.format, self.target, self.choose_folder):
            result.addWidget(part, 1 if part is self.target else 0)
        source = layouts.row(
            (self.file, 1), self.choose_file, self.choose_dataset, spacing=2 * SPACE
        )
        given = layouts.column(
            source, (self.rows, 0, Qt.AlignmentFlag.AlignLeft), spacing=2 * SPACE
        )
        rows: list[tuple[str, QLayout]] = [(self.tr("Rows"), given), (self.tr("Columns"), columns)]
        if self._state.has_probabilities:
            unsure = layouts.row(
                self.threshold,
                (Text(self.tr("Predictions with a lower probability are marked."), "muted"), 1),
                spacing=2 * SPACE,
            )
            rows.append((self.tr("Mark as unsure below"), unsure))
        precision = layouts.row(self.precision, (self.agreement, 1), spacing=2 * SPACE)
        rows += [(self.tr("Precision"), precision), (self.tr("Output format"), result)]
        for index, (name, row) in enumerate(rows):
            grid.addWidget(Text(name, "strong", wraps=False), index, 0)
            grid.addLayout(row, index, 1)
        return grid

    def _format_texts(self) -> dict[str, str]:
        return {
            ".csv": "CSV",
            ".tsv": "TSV",
            ".jsonl": "JSON Lines",
            ".parquet": "Parquet",
            ".npy": self.tr("NumPy (.npy, vectors only)"),
            ".xlsx": "Excel",
            DATASET: self.tr("New data set, for correction"),
            EDITS: self.tr("Labels of these rows, as edits to review"),
        }

    def _rows_text(self, rows: StoredRows, count: int) -> str:
        match rows:
            case "all":
                title = self.tr("All rows")
            case "unlabelled":
                title = self.tr("Rows without a label")
            case tuple():
                title = self.tr("Selected rows")
            case _:
                title = split_title(rows)
        return f"{title} ({numbers.count(count)})"

    # ── display ──────────────────────────────────────────────────────────────────────────────

    def show_state(self) -> None:
        state = self._state
        self.file.setText(self._source_text())
        self._show_rows()
        self._show_formats()
        columns = state.columns
        for role, box in self.boxes.items():
            self._fill(box, columns)
            chosen = getattr(state.mapping, role) if state.mapping else None
            box.setCurrentIndex(max(0, box.findData(chosen)))
            box.setEnabled(bool(columns) and state.stored is None)
        self.endings.show_columns(columns, state.mapping.endings if state.mapping else ())
        self.target.setText(self._target_text())
        self.endings.setEnabled(state.stored is None)
        self.choose_folder.setVisible(state.format not in (DATASET, EDITS))
        notes = state.recognised.notes if state.recognised else ()
        self.status.setText("\n".join((self._status(), *map(translated, notes))))
        self.status.set_style("bad" if state.problem else "muted")
        if not state.is_loading:
            self.model.show_rows(
                () if state.preview is None else state.preview.rows, preview_columns(state.preview)
            )
            fit_columns(self.table)
        cached = state.preview.cached if state.preview else 0
        text = self.tr("&Resume") if cached else self.tr("&Apply")
        buttons.set_text(self.start, text)
        self.precision.setCurrentIndex(self.precision.findData(state.is_exact))
        self.agreement.setText(self._agreement_text())
        # also while a changed preview is computed
        self.start.setEnabled(state.preview is not None and not state.is_measuring)

    def _source_text(self) -> str:
        stored = self._state.stored
        if stored is not None:
            template = self.tr("“{0}”, version {1}")
            return template.format(stored.spec.name, stored.spec.version)
        return str(self._state.file) if self._state.file else self.tr("Nothing chosen")

    def _show_rows(self) -> None:
        choices = self._state.row_choices()
        self.rows.clear()
        for rows, count in choices.items():
            self.rows.addItem(self._rows_text(rows, count), rows)
        if self._state.rows in choices:
            self.rows.setCurrentIndex(list(choices).index(self._state.rows))
        self.rows.setVisible(self._state.stored is not None)

    def _show_formats(self) -> None:
        formats = self._state.formats
        if [self.format.itemData(n) for n in range(self.format.count())] != list(formats):
            self.format.clear()
            for suffix in formats:
                self.format.addItem(self._format_texts()[suffix], suffix)
        self.format.setCurrentIndex(formats.index(self._state.format))

    def _fill(self, box: QComboBox, columns: tuple[str, ...]) -> None:
        if [box.itemData(n) for n in range(1, box.count())] == list(columns) and box.count():
            return
        box.clear()
        box.addItem(self.tr("none"), None)
        for column in columns:
            box.addItem(one_line(column, MAX_NAME_CHARACTERS), column)

    def _target_text(self) -> str:
        state = self._state
        if state.format in (DATASET, EDITS) or state.target is None:
            return ""
        return self.tr("{0} in {1}").format(state.target.name, state.target.parent)

    def _status(self) -> str:
        state = self._state
        if state.problem is not None:
            return translated(state.problem.phrase)
        if state.file is None and state.stored is None and not state.is_loading:
            return self.tr("Choose a file with texts, or a data set.")
        if state.is_loading:
            return self.tr("Predicting the first rows …")
        if state.mapping is None:
            return self.tr("Choose the column with the text.")
        if state.preview is not None and state.preview.cached:
            return self.tr(
                "%Ln row(s) have already been predicted; “Resume” predicts the rest.",
                "",
                state.preview.cached,
            )
        return self.tr("The first rows as they will be written; predicted columns come last.")

    def _agreement_text(self) -> str:
        state = self._state
        if state.is_exact:
            return ""
        if state.is_measuring:
            return self.tr("Comparing with fp32 on the validation rows…")
        if state.agreement is None:
            return self.tr("No validation rows: used if it agrees with fp32 on built-in texts.")
        return translated(state.agreement.phrase)

    def _on_file(self) -> None:
        suffixes = " ".join(f"*{suffix}" for suffix in data_suffixes())
        filters = [self.tr("Files with texts ({0})").format(suffixes), self.tr("All files (*)")]
        choose_file(self, self.tr("Choose an input file"), self._state.open, filters)

    def _on_dataset(self) -> None:
        background.run(self, self._studio.datasets, self._ask_for_dataset)

    def _ask_for_dataset(self, entries: list[DataEntry]) -> None:
        readable = [entry for entry in entries if entry.spec is not None]
        choices = QListWidget()
        choices.setAccessibleName(self.tr("Data sets"))
        for entry in readable:
            template = self.tr("{0} · version {1}")
            choices.addItem(one_line(template.format(entry.name, entry.version)))
        choices.setCurrentRow(0)

        def chosen() -> None:
            if choices.currentRow() >= 0:
                self._state.open_rows(readable[choices.currentRow()].folder)

        text = "" if readable else self.tr("There are no data sets yet. Import one first.")
        choice = Choice("choose", self.tr("Choose"), "primary")
        asked = confirm(self, self.tr("Choose a data set"), text, choice, chosen, [choices])
        choices.itemActivated.connect(lambda _: asked.buttons["choose"].click())
        choices.setFocus()

    def _on_folder(self) -> None:
        state = self._state
        choose_folder(self, self.tr("Choose a folder"), state.set_folder, state.folder)


def preview_columns(preview: FirstPredicted | None) -> list[Column[tuple[str, ...]]]:
    """Columns of the file, muted, then the predicted ones, whose headings are bold."""
    if preview is None:
        return []
    from_file = len(preview.columns) - preview.predicted
    columns = [_preview_column(n, name, n >= from_file) for n, name in enumerate(preview.columns)]
    names = [name.removeprefix("predicted_") for name in preview.columns]
    places = {name: n for n, name in enumerate(names) if n >= from_file}
    if {"words", "tags"} <= places.keys():
        spans = _spans(preview, places["words"], places["tags"])
        columns[places["tags"]] = replace(columns[places["tags"]], roles={CHIPS: spans})
    return columns


def _spans(
    preview: FirstPredicted, words: int, tags: int
) -> Callable[[tuple[str, ...]], tuple[Chip, ...]]:
    """A function from a row to its predicted spans; types have the same colour in all rows."""
    found = {
        row: (split_words(row[words]), word_spans(split_words(row[tags]))) for row in preview.rows
    }
    types = sorted({span.type for _, spans in found.values() for span in spans})
    return lambda row: chips(*found[row], types)


def _preview_column(index: int, name: str, is_predicted: bool) -> Column[tuple[str, ...]]:
    bold = QFont()
    bold.setBold(True)
    return Column(
        one_line(name, MAX_CELL_CHARACTERS),
        lambda row: one_line(row[index], MAX_CELL_CHARACTERS),
        value=itemgetter(index),
        tooltip=itemgetter(index),
        color=None if is_predicted else lambda _: colour(Role.MUTED),
        title_font=bold if is_predicted else None,
    )


class Outcome(QWidget):
    """Location of the result, counts of the predicted labels, and the least certain rows.

    Signals:
        shown_elsewhere: a page shows the rows.
    """

    shown_elsewhere = Signal()

    def __init__(self, studio: Studio, state: ApplyingState) -> None:
        super().__init__()
        self._studio, self._state = studio, state
        self.summary = Text("", "good", selectable=True)
        self.unsure = Text("", selectable=True)
        self.notes = Text("", "muted", selectable=True)
        self.bars = LabelBarsView()
        self.bars.setSelectionMode(LabelBarsView.SelectionMode.NoSelection)
        self.predictions = layouts.page(
            Text(self.tr("Predictions"), "heading"), self.bars, layouts.STRETCH, spacing=SPACE
        )
        self.model = ColumnsModel[tuple[str, ...]](parent=self)
        self.table = make_table(self.tr("Least certain predictions"), self.model)
        context_menu(self.table).add(self._row_actions)
        self.least = layouts.page(
            Text(self.tr("Least certain predictions"), "heading"), (self.table, 1), spacing=SPACE
        )
        self.close_button = buttons.plain(self.tr("&Close"))
        self.back = buttons.plain(self.tr("&Back"), state.discard_result, "arrow-left")
        self.folder = buttons.plain(
            self.tr("Show in &folder"), lambda: open_path(self._out.parent), "folder-open"
        )
        self.nightly = buttons.plain(self.tr("Every &night…"), self._on_nightly, "moon")
        self.review = buttons.plain(self.tr("&Review the unsure rows"), self._on_review, "pencil")
        self.estimate = buttons.plain(
            self.tr("Corrected &estimates…"), self._on_estimate, "chart-line"
        )
        self.open = buttons.primary(self.tr("&Open file"), self._on_open, "file-text")
        parts = layouts.row((self.predictions, 2), (self.least, 3), spacing=5 * SPACE)
        layouts.column(
            self.summary,
            self.unsure,
            self.notes,
            (parts, 1),
            footer(
                *(self.close_button, self.back, self.nightly),
                *(self.folder, self.estimate, self.review, self.open),
            ),
            parent=self,
            spacing=2 * SPACE,
        )

    @property
    def _out(self) -> Path:
        assert self._state.applied is not None  # as while this is shown
        return self._state.applied.out

    def show_state(self) -> None:
        state, applied = self._state, self._state.applied
        assert applied is not None
        self.summary.setText(self._summary_text(applied))
        is_file = state.dataset is None
        text = self.tr("&Open file") if is_file else self.tr("&Open the data set")
        buttons.set_text(self.open, text)
        self.folder.setVisible(is_file)
        self.nightly.setVisible(is_file and state.file is not None)
        self.review.setVisible(not is_file and bool(state.review))
        head = get_head(state.task)
        is_code = head.labels_inputs or (head.predicts_numbers and not head.pools)
        self.estimate.setVisible(is_code and state.format != EDITS)
        unsure = applied.unsure
        self.unsure.setVisible(unsure is not None)
        if unsure is not None:
            below = numbers.percent(state.threshold, 0)
            self.unsure.setText(
                self.tr("%Ln unsure row(s) (probability below {0}).", "", unsure).format(below)
            )
        self.notes.setText("\n".join(map(translated, applied.notes)))
        self.notes.setVisible(bool(applied.notes))
        names = {"answer": self.tr("Answer"), "no answer": self.tr("No answer")}
        if not get_head(state.task).finds_spans:
            names = {}
        counts = {names.get(name, name): count for name, count in applied.counts.items()}
        several = applied.rows if get_head(state.task).is_multi_label else 0
        self.bars.show_labels(counts, several, applied.is_binned)
        self.predictions.setVisible(bool(counts))
        self.model.show_rows(applied.least, self._least_columns(applied))
        fit_columns(self.table)
        self.table.horizontalScrollBar().setValue(0)
        self.least.setVisible(bool(applied.least))
        self.open.setFocus()

    def _summary_text(self, applied: Applied) -> str:
        state, rows = self._state, self.tr("%Ln row(s)", "", applied.rows)
        if state.dataset is None:
            return self.tr("{0} written to {1}.").format(rows, applied.out)
        name = state.dataset.parent.name
        if state.format == EDITS:
            template = self.tr("{0} labelled in “{1}”, as edits that can be undone there.")
        else:
            template = self.tr("{0} written to the data set “{1}”.")
        return template.format(rows, name)

    def _least_columns(self, applied: Applied) -> list[Column[tuple[str, ...]]]:
        """The prediction and its probability, the texts, then the other columns."""
        mapping = self._state.mapping
        first = (applied.prediction, "probability", *(mapping.texts if mapping is not None else ()))
        places = {name: place for place, name in enumerate(first)}
        names = sorted(applied.columns, key=lambda name: places.get(name, len(places)))
        return [_preview_column(applied.columns.index(name), name, False) for name in names]

    def _row_actions(self, menu: QMenu) -> Iterator[QAction]:
        rows, stored = selected_rows(self.table), self._state.stored
        if rows and stored is not None:
            number = int(self.model.row(rows[0])[0])  # of the row in the data set
            request = {"data": stored.folder, "row": number}
            yield menu_action(
                menu,
                self.tr("Show in &data set"),
                partial(self._studio.navigate.emit, "data", request),
                "database",
            )

    def _on_nightly(self) -> None:
        """Offer to do the same every night."""
        state = self._state
        dialog = NightlyDialog(
            *(state.checkpoint, state.name, state.task, self), state.file, state.mapping
        )
        dialog.threshold.setValue(state.threshold)
        dialog.format.setCurrentIndex(max(0, dialog.format.findData(self._out.suffix)))
        dialog.show()

    def _on_estimate(self) -> None:
        """Estimate from the predictions and the hand codes of the same rows."""
        assert self._state.applied is not None
        path = self._state.dataset or self._out
        state = EstimatingState(path, self._state.applied.prediction)
        self.estimating = estimating_view.open_dialog(state, self._studio.notices, self)

    def _on_review(self) -> None:
        title = self.tr("Unsure predictions of “{0}”").format(self._state.name)
        self._close_and_show(
            {"data": self._state.dataset, "rows": self._state.review, "title": title}
        )

    def _on_open(self) -> None:
        if self._state.dataset is None:
            open_path(self._out)
        else:
            self._close_and_show({"data": self._state.dataset})

    def _close_and_show(self, request: dict[str, Any]) -> None:
        self._studio.navigate.emit("data", request)
        self.shown_elsewhere.emit()


def open_dialog(studio: Studio, owner: QWidget, state: ApplyingState) -> ApplyingDialog:
    """Open the dialog, which is not modal, over the window of `owner`."""
    dialog = ApplyingDialog(studio, state, owner)
    dialog.show()
    return dialog
