"""The export dialog: options, progress and result."""

from PySide6.QtWidgets import QWidget

from app.exporting.state import ExportState
from app.theme import SPACE
from app.translation import tr
from app.widgets import buttons, layouts
from app.widgets.dialogs import MAX_WIDTH, choose_file, choose_folder, footer
from app.widgets.forms.controls import ComboBox
from app.widgets.opening import open_path
from app.widgets.page import clear
from app.widgets.progress import StageProgress, StagesDialog
from app.widgets.screen import FitArea, available_area
from app.widgets.text import numbers
from app.widgets.text.labels import OneLine, Text, TextStyle, TextView
from engine.config.export import PRECISIONS
from engine.messages.exporting import Exported
from engine.messages.question import Refused

REPORT = "export-report.txt"
VERIFIED_ROWS = 24  # first rows of the user's file


class ExportDialog(StagesDialog):
    """Shows an ExportState in three stages. Closing it stops a running export."""

    def __init__(self, state: ExportState, owner: QWidget) -> None:
        super().__init__(tr("Export “{0}”").format(state.name), owner)
        self.state = state
        state.setParent(self)
        self.setMinimumWidth(min(MAX_WIDTH, available_area(self).width()))
        self.choices = OptionsView(state)
        self.progress = StageProgress(
            self.tr("Export progress"),
            self.tr("A large model takes a minute or two. Stopping leaves nothing behind."),
        )
        self.outcome = Outcome(state)
        self.add_parts(self.choices, self.progress, self.outcome)
        state.changed.connect(self._show)
        self._show()

    def stop(self) -> None:
        self.state.cancel()

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


def open_dialog(owner: QWidget, state: ExportState) -> ExportDialog:
    """Open the dialog, which is not modal, over the window of `owner`."""
    dialog = ExportDialog(state, owner)
    dialog.show()
    return dialog


class Outcome(QWidget):
    """The report of an export, or its error."""

    def __init__(self, state: ExportState) -> None:
        super().__init__()
        self._state = state
        self.close_button = buttons.plain(self.tr("&Close"))
        self.back = buttons.plain(self.tr("&Back"), state.discard_result, "arrow-left")
        self.report = buttons.plain(self.tr("Open the &report"), self._on_report, "file-text")
        self.folder = buttons.primary(self.tr("Open the &folder"), self._on_folder, "folder-open")
        inner = QWidget()
        self._texts = layouts.column(parent=inner, spacing=2 * SPACE)
        layouts.column(
            FitArea(inner),
            layouts.STRETCH,
            footer(self.close_button, self.back, self.report, self.folder),
            parent=self,
        )

    def show_exported(self, exported: Exported) -> None:
        report = exported.report
        clear(self._texts)
        done = self.tr("Export complete: {0} in {1}").format(
            numbers.size(exported.bytes), exported.folder
        )
        checked = self.tr(
            "The export was reloaded and verified with %Ln text(s). Its tokens and labels "
            "match the model.",
            "",
            len(report.texts),
        )
        texts: list[tuple[str, TextStyle]] = [(done, "good"), (checked, "body")]
        if report.weights_equal:
            same = self.tr("All {0} tensors are identical to the model’s, bit for bit.")
            rounded = self.tr("All {0} tensors match the model’s, rounded to {1}.")
            is_exact = report.precision == "float32"
            template = same if is_exact else rounded
            texts.append((template.format(report.tensors, report.precision), "body"))
        if report.pruned_heads:
            left_out = self.tr(
                "%Ln pruned attention head(s) were left out, so layers are narrower.",
                "",
                report.pruned_heads,
            )
            texts.append((left_out, "body"))
        texts += [(comparison.sentence(), "body") for comparison in report.comparisons]
        texts.append((self.tr("Verified with: {0}.").format(", ".join(report.sources)), "muted"))
        texts += [(note, "warn") for note in report.notes]
        for text, style in texts:
            self._texts.addWidget(Text(text, style, selectable=True))
        self._show_buttons(is_done=True)

    def show_problem(self, problem: Refused) -> None:
        clear(self._texts)
        self._texts.addWidget(Text(problem.problem, "bad", selectable=True))
        if problem.advice:
            self._texts.addWidget(Text(problem.advice, selectable=True))
        self._texts.addWidget(Text(self.tr("No files were written."), "muted"))
        if problem.details:
            self._texts.addWidget(TextView(self.tr("Details"), problem.details[:20_000]))
        self._show_buttons(is_done=False)

    def _show_buttons(self, is_done: bool) -> None:
        self.report.setVisible(is_done)
        self.folder.setVisible(is_done)
        self.back.setVisible(not is_done)
        (self.folder if is_done else self.back).setFocus()

    def _on_folder(self) -> None:
        open_path(self._state.target)

    def _on_report(self) -> None:
        open_path(self._state.target / REPORT)


class OptionsView(QWidget):
    """Controls for format, precision, folder and texts."""

    def __init__(self, state: ExportState) -> None:
        super().__init__()
        self._state = state
        self.form = ComboBox(self.tr("Format"))
        for form, (name, _) in self._forms().items():
            self.form.addItem(name, form)
        self.form_help = Text("", "small")
        self.precision = ComboBox(self.tr("Precision"))
        self.precision_help = Text("", "small")
        self.target = OneLine()
        self.choose_folder = buttons.plain(self.tr("C&hoose…"), self._on_folder, "folder-open")
        self.choose_folder.setAccessibleName(self.tr("Choose a folder for the export"))
        self.texts = OneLine()
        self.choose_texts = buttons.plain(self.tr("Add a &file…"), self._on_texts, "file-text")
        self.no_texts = buttons.plain(self.tr("&Remove file"), lambda: state.set_texts(None))
        inner = QWidget()
        grid = layouts.grid(parent=inner, h_spacing=6 * SPACE, v_spacing=2 * SPACE, stretch=1)
        rows = (
            (self.tr("Format"), self.form, self.form_help),
            (self.tr("Precision"), self.precision, self.precision_help),
            (
                self.tr("Folder"),
                _row_widget(self.target, self.choose_folder),
                Text(self.tr("Created only after the export has been verified."), "small"),
            ),
            (
                self.tr("Verified with"),
                _row_widget(self.texts, self.choose_texts, self.no_texts),
                Text(
                    self.tr(
                        "A separate process loads only the exported files; its outputs on "
                        "these texts are compared with the model’s."
                    ),
                    "small",
                ),
            ),
        )
        for index, (name, control, help_text) in enumerate(rows):
            grid.addWidget(Text(name, "strong", wraps=False), 3 * index, 0)
            grid.addWidget(control, 3 * index, 1)
            grid.addWidget(help_text, 3 * index + 1, 1)
            grid.setRowMinimumHeight(3 * index + 2, 2 * SPACE)
        self.start = buttons.primary(self.tr("&Export"), state.start, "upload")
        self.start.setDefault(True)
        self.close_button = buttons.plain(self.tr("&Cancel"))
        row = footer(self.close_button, self.start)
        layouts.column(FitArea(inner), layouts.STRETCH, row, parent=self)
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
                    "8-bit integers: a quarter of the size, faster; a few predictions may change, "
                    "and depend a little on the other texts of their batch."
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
        self.target.setText(self.tr("{0} in {1}").format(state.target.name, state.folder))
        if state.texts is None:
            self.texts.setText(
                self.tr("Built-in texts and, for a checkpoint of a run, its validation rows")
            )
        else:
            text = self.tr("Built-in texts and the first {0} rows of {1}")
            self.texts.setText(text.format(VERIFIED_ROWS, state.texts.name))
        self.no_texts.setVisible(state.texts is not None)

    def _on_chosen(self) -> None:
        self._state.choose(self.form.currentData(), self.precision.currentData())

    def _on_folder(self) -> None:
        state = self._state
        choose_folder(self, self.tr("Choose a folder"), state.set_folder, state.folder)

    def _on_texts(self) -> None:
        choose_file(self, self.tr("Choose a file with texts"), self._state.set_texts)


def _row_widget(*controls: QWidget) -> QWidget:
    widget = QWidget()
    row = layouts.row(parent=widget, spacing=2 * SPACE)
    for index, control in enumerate(controls):
        row.addWidget(control, 1 if index == 0 else 0)
    return widget
