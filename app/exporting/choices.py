"""Options of an export: format, precision, folder and texts."""

from PySide6.QtWidgets import QWidget

from app.exporting.state import ExportState
from app.theme import SPACE
from app.widgets import buttons, layouts
from app.widgets.dialogs import choose_file, choose_folder, foot
from app.widgets.forms.controls import ComboBox
from app.widgets.screen import Fitting
from app.widgets.text.labels import OneLine, Text
from engine.config.export import PRECISIONS

VERIFIED_ROWS = 24  # of a file of texts


class Choices(QWidget):
    """Format, precision, folder and texts."""

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
        self.place = buttons.plain(self.tr("C&hoose…"), self._on_place, "folder-open")
        self.place.setAccessibleName(self.tr("Choose a folder for the export"))
        self.texts = OneLine()
        self.choose_texts = buttons.plain(self.tr("Add a &file…"), self._on_texts, "file-text")
        self.no_texts = buttons.plain(self.tr("&Remove file"), lambda: state.set_texts(None))
        inner = QWidget()
        grid = layouts.grid(parent=inner, across=6 * SPACE, down=2 * SPACE, stretched=1)
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
        layouts.column(Fitting(inner), layouts.STRETCH, foot(self.leave, self.go), parent=self)
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
            text = self.tr("Built-in texts and the first {0} rows of {1}")
            self.texts.setText(text.format(VERIFIED_ROWS, state.texts.name))
        self.no_texts.setVisible(state.texts is not None)

    def _on_chosen(self) -> None:
        self._state.choose(self.form.currentData(), self.precision.currentData())

    def _on_place(self) -> None:
        state = self._state
        choose_folder(self, self.tr("Choose a folder"), state.set_place, state.place)

    def _on_texts(self) -> None:
        choose_file(self, self.tr("Choose a file with texts"), self._state.set_texts)


def _beside(*controls: QWidget) -> QWidget:
    whole = QWidget()
    row = layouts.row(parent=whole, spacing=2 * SPACE)
    for number, control in enumerate(controls):
        row.addWidget(control, 1 if number == 0 else 0)
    return whole
