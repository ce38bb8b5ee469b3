"""The dialog of an export: what is wanted, then how far it is, then how it ended."""

from pathlib import Path

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QFileDialog,
    QGridLayout,
    QHBoxLayout,
    QPlainTextEdit,
    QProgressBar,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from app.exporting.state import ExportState
from app.resources import mono_font
from app.theme import SPACE
from app.translation import translated
from app.widgets import buttons, numbers
from app.widgets.page import clear
from app.widgets.text import Look, OneLine, Text, visible
from engine.messages.exporting import Exported
from engine.messages.question import Refused, Working
from engine.spec.export import PRECISIONS

REPORT = "export-report.txt"
MOST_TEXTS = 24  # rows of a file that are tried


class ExportDialog(QDialog):
    """Shows an ExportState in three parts, one at a time. Closing it stops an export under way."""

    def __init__(self, state: ExportState, owner: QWidget) -> None:
        super().__init__(owner.window())
        self.state = state
        state.setParent(self)
        title = self.tr("Export “{0}”").format(state.name)
        self.setWindowTitle(visible(title))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setMinimumWidth(640)
        self.choices = Choices(state)
        self.progress = Progress(state)
        self.outcome = Outcome(state)
        self.parts = QStackedWidget()
        for part in (self.choices, self.progress, self.outcome):
            self.parts.addWidget(part)
            part.leave.clicked.connect(self.reject)
        column = QVBoxLayout(self)
        column.setContentsMargins(6 * SPACE, 6 * SPACE, 6 * SPACE, 5 * SPACE)
        column.setSpacing(4 * SPACE)
        column.addWidget(Text(title, "heading"))
        column.addWidget(self.parts, 1)
        state.changed.connect(self._show)
        self._show()

    def done(self, result: int) -> None:
        """However it is closed: what is under way stops."""
        self.state.cancel()
        super().done(result)

    def _show(self) -> None:
        state = self.state
        if state.working is not None:
            self.progress.show_working(state.working)
            self.parts.setCurrentWidget(self.progress)
        elif state.exported is not None:
            self.outcome.show_exported(state.exported)
            self.parts.setCurrentWidget(self.outcome)
        elif state.problem is not None:
            self.outcome.show_problem(state.problem)
            self.parts.setCurrentWidget(self.outcome)
        else:
            self.parts.setCurrentWidget(self.choices)


class Choices(QWidget):
    """Form, precision, folder and texts."""

    def __init__(self, state: ExportState) -> None:
        super().__init__()
        self._state = state
        self.form = QComboBox()
        self.form.setAccessibleName(self.tr("Format"))
        for form, (name, _) in self._forms().items():
            self.form.addItem(name, form)
        self.form_help = Text("", "small")
        self.precision = QComboBox()
        self.precision.setAccessibleName(self.tr("Precision"))
        self.precision_help = Text("", "small")
        self.target = OneLine()
        self.place = buttons.plain(self.tr("C&hoose…"), self._on_place, "folder-open")
        self.place.setAccessibleName(self.tr("Choose a folder for the export"))
        self.texts = OneLine()
        self.choose_texts = buttons.plain(self.tr("Add a &file…"), self._on_texts, "file-text")
        self.no_texts = buttons.plain(self.tr("&Remove file"), lambda: state.set_texts(None))
        grid = QGridLayout()
        grid.setHorizontalSpacing(6 * SPACE)
        grid.setVerticalSpacing(2 * SPACE)
        grid.setColumnStretch(1, 1)
        rows = (
            (self.tr("Format"), self.form, self.form_help),
            (self.tr("Precision"), self.precision, self.precision_help),
            (
                self.tr("Folder"),
                _beside(self.target, self.place),
                Text(self.tr("Created only after the export has been verified."), "small"),
            ),
            (
                self.tr("Verified with"),
                _beside(self.texts, self.choose_texts, self.no_texts),
                Text(
                    self.tr(
                        "A separate process loads only the exported files; its outputs on "
                        "these texts are compared with the model’s."
                    ),
                    "small",
                ),
            ),
        )
        for number, (name, control, help_text) in enumerate(rows):
            grid.addWidget(Text(name, "strong", wraps=False), 3 * number, 0)
            grid.addWidget(control, 3 * number, 1)
            grid.addWidget(help_text, 3 * number + 1, 1)
            grid.setRowMinimumHeight(3 * number + 2, 2 * SPACE)
        self.go = buttons.primary(self.tr("&Export"), state.start, "upload")
        self.go.setDefault(True)
        self.leave = buttons.plain(self.tr("&Cancel"))
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addLayout(grid)
        column.addStretch(1)
        column.addLayout(_foot(self.leave, self.go))
        self.form.activated.connect(self._on_chosen)
        self.precision.activated.connect(self._on_chosen)
        state.changed.connect(self._show)
        self._show()

    def _forms(self) -> dict[str, tuple[str, str]]:
        return {
            "hf": (
                self.tr("Hugging Face (safetensors)"),
                self.tr("For transformers and compatible tools, including BERT Studio."),
            ),
            "onnx": (
                self.tr("ONNX"),
                self.tr(
                    "A graph that runs without PyTorch, for any batch size and sequence length."
                ),
            ),
            "tf1": (
                self.tr("TensorFlow 1 (Google's BERT)"),
                self.tr("The format of the original BERT release; for BERT models only."),
            ),
        }

    def _precisions(self) -> dict[str, tuple[str, str]]:
        return {
            "float32": (self.tr("float32"), self.tr("32-bit floats, exact.")),
            "float16": (
                self.tr("float16"),
                self.tr("16-bit floats: half the size, about 3 significant digits."),
            ),
            "bfloat16": (
                self.tr("bfloat16"),
                self.tr(
                    "16-bit floats with the range of fp32: half the size, about 2 significant "
                    "digits."
                ),
            ),
            "int8": (
                self.tr("int8"),
                self.tr(
                    "8-bit integers: a quarter of the size, faster; a few predictions may change."
                ),
            ),
        }

    def _show(self) -> None:
        state = self._state
        self.form.setCurrentIndex(self.form.findData(state.form))
        self.form_help.setText(self._forms()[state.form][1])
        precisions = self._precisions()
        self.precision.clear()
        for precision in PRECISIONS[state.form]:
            self.precision.addItem(precisions[precision][0], precision)
        self.precision.setCurrentIndex(self.precision.findData(state.precision))
        self.precision.setEnabled(self.precision.count() > 1)
        self.precision_help.setText(precisions[state.precision][1])
        where = self.tr("{0} in {1}")
        self.target.setText(where.format(state.target.name, state.place))
        if state.texts is None:
            self.texts.setText(
                self.tr("Built-in texts and, for a checkpoint of a run, its validation rows")
            )
        else:
            told = self.tr("Built-in texts and the first {0} rows of {1}")
            self.texts.setText(told.format(MOST_TEXTS, state.texts.name))
        self.no_texts.setVisible(state.texts is not None)

    def _on_chosen(self) -> None:
        self._state.choose(self.form.currentData(), self.precision.currentData())

    def _on_place(self) -> None:
        dialog = QFileDialog(self, self.tr("Choose a folder"), str(self._state.place))
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.fileSelected.connect(lambda chosen: self._state.set_place(Path(chosen)))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def _on_texts(self) -> None:
        dialog = QFileDialog(self, self.tr("Choose a file with texts"))
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.fileSelected.connect(lambda chosen: self._state.set_texts(Path(chosen)))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()


class Progress(QWidget):
    """Which stage it is at."""

    def __init__(self, state: ExportState) -> None:
        super().__init__()
        self.stage = Text("", "strong")
        self.bar = QProgressBar()
        self.bar.setAccessibleName(self.tr("Export progress"))
        self.bar.setTextVisible(False)
        self.leave = buttons.plain(self.tr("&Stop"))
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2 * SPACE)
        column.addWidget(self.stage)
        column.addWidget(self.bar)
        column.addWidget(
            Text(
                self.tr("A large model takes a minute or two. Stopping leaves nothing behind."),
                "muted",
            )
        )
        column.addStretch(1)
        column.addLayout(_foot(self.leave))

    def show_working(self, working: Working) -> None:
        self.stage.setText(f"{translated(working.stage)} …")
        self.bar.setRange(0, working.total)
        self.bar.setValue(working.done)
        self.bar.setAccessibleDescription(working.stage)


class Outcome(QWidget):
    """The report of an export, or why there is none."""

    def __init__(self, state: ExportState) -> None:
        super().__init__()
        self._state = state
        self.leave = buttons.plain(self.tr("&Close"))
        self.back = buttons.plain(self.tr("&Back"), state.back, "arrow-left")
        self.report = buttons.plain(self.tr("Open the &report"), self._on_report, "file-text")
        self.folder = buttons.primary(self.tr("Open the &folder"), self._on_folder, "folder-open")
        self._said = QVBoxLayout()
        self._said.setSpacing(2 * SPACE)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addLayout(self._said)
        column.addStretch(1)
        column.addLayout(_foot(self.leave, self.back, self.report, self.folder))

    def show_exported(self, exported: Exported) -> None:
        report = exported.report
        clear(self._said)
        done = self.tr("Export complete: {0} in {1}").format(
            numbers.size(exported.bytes), exported.folder
        )
        tried = self.tr(
            "The export was reloaded and verified with %Ln text(s). Its tokens and labels "
            "match the model.",
            "",
            len(report.texts),
        )
        said: list[tuple[str, Look]] = [(done, "good"), (tried, "body")]
        if report.weights_equal:
            same = self.tr("All {0} tensors are identical to the model’s, bit for bit.")
            rounded = self.tr("All {0} tensors match the model’s, rounded to {1}.")
            is_whole = report.precision == "float32"
            template = same if is_whole else rounded
            said.append((template.format(report.tensors, report.precision), "body"))
        said += [(one.sentence(), "body") for one in report.comparisons]
        said.append((self.tr("Verified with: {0}.").format(", ".join(report.sources)), "muted"))
        said += [(note, "warn") for note in report.notes]
        for text, look in said:
            self._said.addWidget(Text(text, look, selectable=True))
        self._show_buttons(is_done=True)

    def show_problem(self, problem: Refused) -> None:
        clear(self._said)
        self._said.addWidget(Text(problem.problem, "bad", selectable=True))
        if problem.advice:
            self._said.addWidget(Text(problem.advice, selectable=True))
        self._said.addWidget(Text(self.tr("No files were written."), "muted"))
        if problem.details:
            details = QPlainTextEdit(problem.details[:20_000], readOnly=True)
            details.setAccessibleName(self.tr("Details"))
            details.setFont(mono_font())
            details.setTabChangesFocus(True)
            self._said.addWidget(details)
        self._show_buttons(is_done=False)

    def _show_buttons(self, is_done: bool) -> None:
        self.report.setVisible(is_done)
        self.folder.setVisible(is_done)
        self.back.setVisible(not is_done)
        (self.folder if is_done else self.back).setFocus()

    def _on_folder(self) -> None:
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._state.target)))

    def _on_report(self) -> None:
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(self._state.target / REPORT)))


def ask(owner: QWidget, state: ExportState) -> ExportDialog:
    """Open the dialog over the window of `owner`, which can be used while it works."""
    dialog = ExportDialog(state, owner)
    dialog.show()
    return dialog


def _beside(*controls: QWidget) -> QWidget:
    whole = QWidget()
    row = QHBoxLayout(whole)
    row.setContentsMargins(0, 0, 0, 0)
    row.setSpacing(2 * SPACE)
    for number, control in enumerate(controls):
        row.addWidget(control, 1 if number == 0 else 0)
    return whole


def _foot(*parts: QWidget) -> QHBoxLayout:
    """Buttons at the right, the main one last."""
    row = QHBoxLayout()
    row.setContentsMargins(0, 4 * SPACE, 0, 0)
    row.setSpacing(2 * SPACE)
    row.addStretch()
    for part in parts:
        row.addWidget(part)
    return row
