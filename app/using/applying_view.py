"""Dialog that applies a model to a file."""

from operator import itemgetter

from PySide6.QtCore import QSize
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QComboBox, QGridLayout, QWidget

from app.studio import Studio
from app.theme import SPACE, Role, colour
from app.translation import tr, translated
from app.using.applying_state import DATASET, ApplyingState
from app.widgets import buttons, layouts
from app.widgets.dialogs import choose_file, choose_folder, footer
from app.widgets.forms.controls import ColumnsBox, ComboBox, ProbabilityBox
from app.widgets.opening import open_path
from app.widgets.progress import StageProgress, StagesDialog
from app.widgets.screen import resize_within
from app.widgets.tables import Column, ColumnsModel, make_table
from app.widgets.text import numbers
from app.widgets.text.labels import OneLine, Text, one_line
from app.widgets.text.spec_texts import title_of
from engine.config.dataset import Mapping
from engine.data.formats.sources import data_suffixes
from engine.messages.applying import FirstPredicted

SIZE = QSize(860, 620)  # px
MAX_COLUMN_WIDTH = 320  # px
MAX_CELL_CHARACTERS = 200
BOX_CHARACTERS = 16  # width of a box
MAX_NAME_CHARACTERS = 100  # of a column in a list


class ApplyingDialog(StagesDialog):
    """A non-modal dialog in three stages: options with a preview, progress and result."""

    def __init__(self, studio: Studio, state: ApplyingState, owner: QWidget) -> None:
        super().__init__(tr("Apply “{0}” to a file").format(state.name), owner)
        self._studio, self.state = studio, state
        state.setParent(self)
        self.choices, self.outcome = OptionsView(state), Outcome(state)
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
        self.outcome.open.clicked.connect(self._on_open)
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

    def _on_open(self) -> None:
        state = self.state
        if state.dataset is not None:
            self._studio.navigate.emit("data", state.dataset)
            self.accept()
        elif state.applied is not None:
            open_path(state.applied.out.parent)


class OptionsView(QWidget):
    """Controls for file, columns and output, and the first rows."""

    def __init__(self, state: ApplyingState) -> None:
        super().__init__()
        self._state = state
        self.file = OneLine()
        self.choose_file = buttons.plain(self.tr("Choose a &file…"), self._on_file, "file-text")
        self.boxes = {role: self._column_box(role) for role in state.roles if role != "endings"}
        title = title_of("endings", Mapping.model_fields["endings"])
        self.endings = ColumnsBox(title, BOX_CHARACTERS)
        self.endings.changed.connect(lambda: state.choose_endings(self.endings.chosen()))
        self.threshold = ProbabilityBox(self.tr("Mark as unsure below"), state.threshold)
        self.threshold.setSpecialValueText(self.tr("off"))
        self.threshold.valueChanged.connect(state.set_threshold)
        self.format = ComboBox(self.tr("Output format"))
        for suffix in state.formats:
            self.format.addItem(self._format_texts()[suffix], suffix)
        self.format.activated.connect(lambda _: state.set_format(self.format.currentData()))
        self.target = OneLine()
        self.choose_folder = buttons.plain(self.tr("F&older…"), self._on_folder, "folder-open")
        self.status = Text("", "muted")
        self.model = ColumnsModel[tuple[str, ...]](parent=self)
        self.table = make_table(
            self.tr("First rows with their predictions"), self.model, numbered=True
        )
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
        file = layouts.row((self.file, 1), self.choose_file, spacing=2 * SPACE)
        rows = [(self.tr("File"), file), (self.tr("Columns"), columns)]
        if self._state.has_probabilities:
            unsure = layouts.row(
                self.threshold,
                (Text(self.tr("Predictions with a lower probability are marked."), "muted"), 1),
                spacing=2 * SPACE,
            )
            rows.append((self.tr("Mark as unsure below"), unsure))
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
        }

    # ── display ──────────────────────────────────────────────────────────────────────────────

    def show_state(self) -> None:
        state = self._state
        self.file.setText(str(state.file) if state.file else self.tr("No file chosen"))
        columns = state.recognised.columns if state.recognised else ()
        for role, box in self.boxes.items():
            self._fill(box, columns)
            chosen = getattr(state.mapping, role) if state.mapping else None
            box.setCurrentIndex(max(0, box.findData(chosen)))
            box.setEnabled(bool(columns))
        self.endings.show_columns(columns, state.mapping.endings if state.mapping else ())
        self.target.setText(self._target_text())
        self.choose_folder.setVisible(state.format != DATASET)
        self.status.setText(self._status())
        self.status.set_style("bad" if state.problem else "muted")
        if not state.is_loading:
            self.model.show_rows(
                () if state.preview is None else state.preview.rows, preview_columns(state.preview)
            )
            self.table.resizeColumnsToContents()
            for column in range(self.model.columnCount()):
                if self.table.columnWidth(column) > MAX_COLUMN_WIDTH:
                    self.table.setColumnWidth(column, MAX_COLUMN_WIDTH)
        cached = state.preview.cached if state.preview else 0
        text = self.tr("&Resume") if cached else self.tr("&Apply")
        buttons.set_text(self.start, text)
        self.start.setEnabled(state.preview is not None and not state.is_loading)

    def _fill(self, box: QComboBox, columns: tuple[str, ...]) -> None:
        if [box.itemData(n) for n in range(1, box.count())] == list(columns) and box.count():
            return
        box.clear()
        box.addItem(self.tr("none"), None)
        for column in columns:
            box.addItem(one_line(column, MAX_NAME_CHARACTERS), column)

    def _target_text(self) -> str:
        state = self._state
        if state.format == DATASET or state.target is None:
            return ""
        return self.tr("{0} in {1}").format(state.target.name, state.target.parent)

    def _status(self) -> str:
        state = self._state
        if state.problem is not None:
            return str(state.problem.phrase)
        if state.file is None:
            return self.tr("Choose a file with texts, or drop one on the model’s page.")
        if state.is_loading:
            return self.tr("Predicting the first rows …")
        if state.mapping is None:
            return self.tr("Choose the column with the text.")
        if state.preview is not None and state.preview.cached:
            return self.tr(
                "%Ln row(s) of this file have already been predicted; “Resume” predicts the rest.",
                "",
                state.preview.cached,
            )
        return self.tr("The first rows as they will be written; predicted columns come last.")

    def _on_file(self) -> None:
        suffixes = " ".join(f"*{suffix}" for suffix in data_suffixes())
        filters = [self.tr("Files with texts ({0})").format(suffixes), self.tr("All files (*)")]
        choose_file(self, self.tr("Choose an input file"), self._state.open, filters)

    def _on_folder(self) -> None:
        state = self._state
        choose_folder(self, self.tr("Choose a folder"), state.set_folder, state.folder)


def preview_columns(preview: FirstPredicted | None) -> list[Column[tuple[str, ...]]]:
    """Columns of the file, muted, then the predicted ones, whose headings are bold."""
    if preview is None:
        return []
    from_file = len(preview.columns) - preview.predicted
    return [_preview_column(n, name, n >= from_file) for n, name in enumerate(preview.columns)]


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
    def __init__(self, state: ApplyingState) -> None:
        super().__init__()
        self._state = state
        self.summary = Text("", "good", selectable=True)
        self.unsure = Text("", selectable=True)
        self.notes = Text("", "muted", selectable=True)
        self.close_button = buttons.plain(self.tr("&Close"))
        self.back = buttons.plain(self.tr("&Back"), state.discard_result, "arrow-left")
        self.open = buttons.primary(self.tr("Open the &folder"), icon="folder-open")
        layouts.column(
            self.summary,
            self.unsure,
            self.notes,
            layouts.STRETCH,
            footer(self.close_button, self.back, self.open),
            parent=self,
            spacing=2 * SPACE,
        )

    def show_state(self) -> None:
        state = self._state
        assert state.applied is not None
        rows = self.tr("%Ln row(s)", "", state.applied.rows)
        if state.dataset is None:
            self.summary.setText(self.tr("{0} written to {1}.").format(rows, state.applied.out))
            text = self.tr("Open the &folder")
        else:
            self.summary.setText(
                self.tr("{0} written to the data set “{1}”.").format(
                    rows, state.dataset.parent.name
                )
            )
            text = self.tr("Open the &data set")
        buttons.set_text(self.open, text)
        unsure = state.applied.unsure
        self.unsure.setVisible(unsure is not None)
        if unsure is not None:
            below = numbers.percent(state.threshold, 0)
            self.unsure.setText(
                self.tr("%Ln of them have a probability below {0}.", "", unsure).format(below)
            )
        self.notes.setText("\n".join(map(translated, state.applied.notes)))
        self.notes.setVisible(bool(state.applied.notes))
        self.open.setFocus()


def open_dialog(studio: Studio, owner: QWidget, state: ApplyingState) -> ApplyingDialog:
    """Open the dialog, which is not modal, over the window of `owner`."""
    dialog = ApplyingDialog(studio, state, owner)
    dialog.show()
    return dialog
