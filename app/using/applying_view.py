"""Dialog that applies a model to a file or to rows of a data set."""

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import (
    QComboBox,
    QGridLayout,
    QLayout,
    QListWidget,
    QWidget,
)

from app import background
from app.library import DataEntry
from app.studio import Studio
from app.theme import SPACE
from app.translation import tr, translated
from app.using.applied_rows import StoredRows
from app.using.applying_state import DATASET, EDITS, ApplyingState
from app.using.outcome_view import Outcome, fit_columns, preview_columns
from app.widgets import buttons, layouts
from app.widgets.dialogs import Choice, choose_file, choose_folder, confirm, footer
from app.widgets.forms.controls import ColumnsBox, ComboBox, ProbabilityBox
from app.widgets.progress import StageProgress, StagesDialog
from app.widgets.screen import resize_within
from app.widgets.tables import ColumnsModel, make_table
from app.widgets.text import numbers
from app.widgets.text.data_texts import split_title
from app.widgets.text.labels import OneLine, Text, one_line
from app.widgets.text.spec_texts import title_of
from app.widgets.text.tagged import ChipDelegate
from engine.config.dataset import Mapping
from engine.data.formats.sources import data_suffixes

SIZE = QSize(860, 620)  # px
BOX_CHARACTERS, FORMAT_CHARACTERS = 16, 32  # widths of boxes
MAX_NAME_CHARACTERS = 100  # of a column in a list


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
        if self._state.described is None:
            precision = layouts.row(self.precision, (self.agreement, 1), spacing=2 * SPACE)
            rows.append((self.tr("Precision"), precision))
        else:
            self.precision.hide()
        rows.append((self.tr("Output format"), result))
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
        texts = [self._rows_text(rows, count) for rows, count in choices.items()]
        if [self.rows.itemText(n) for n in range(self.rows.count())] != texts:  # the list is open
            self.rows.clear()
            for text, rows in zip(texts, choices, strict=True):
                self.rows.addItem(text, rows)
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


def open_dialog(studio: Studio, owner: QWidget, state: ApplyingState) -> ApplyingDialog:
    """Open the dialog, which is not modal, over the window of `owner`."""
    dialog = ApplyingDialog(studio, state, owner)
    dialog.show()
    return dialog
