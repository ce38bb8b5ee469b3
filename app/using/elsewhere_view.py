"""Dialog with code that uses a model in other programs, and its model card."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QTabWidget, QWidget

from app import background
from app.theme import SPACE
from app.translation import tr
from app.widgets import buttons, layouts
from app.widgets.dialogs import Dialog, foot
from app.widgets.text.labels import ReadText, Text
from engine.checkpoints.info import fine_tuned_task
from engine.checkpoints.prediction_settings import prediction_settings
from engine.documents.card import model_card
from engine.documents.code import onnx_code, transformers_code

SIZE = (820, 560)  # px
ONNX_FOLDER = "model-onnx"


class ElsewhereDialog(Dialog):
    """Python code for transformers and onnxruntime, and the model card of exports."""

    def __init__(self, checkpoint: Path, owner: QWidget) -> None:
        super().__init__(owner.window(), tr("Use it elsewhere"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.tabs = QTabWidget()
        self.tabs.setAccessibleName(self.tr("Ways to use the model"))
        self.tabs.setDocumentMode(True)
        self.card = CodeTab(self.tr("Model card"), self.tr("Each export gets it as README.md."))
        self._checkpoint = checkpoint
        for title, note in (
            (
                "transformers",
                self.tr("Runs as is if transformers and torch are installed."),
            ),
            (
                "onnxruntime",
                self.tr(
                    "Export the model to ONNX first, and run this next to the exported folder; "
                    "torch is not needed."
                ),
            ),
        ):
            self.tabs.addTab(CodeTab(title, note), title)
        self.tabs.addTab(self.card, self.tr("Model card"))
        column = layouts.column(
            (self.tabs, 1),
            parent=self,
            spacing=4 * SPACE,
            margins=(6 * SPACE, 6 * SPACE, 6 * SPACE, 5 * SPACE),
        )
        close: Callable[[], object] = self.accept
        column.addLayout(foot(buttons.plain(self.tr("&Close"), close)))
        self.resize(*SIZE)
        background.run(self, self._write, self._on_written, self._on_failed)

    def _write(self) -> tuple[str, ...]:
        """Texts of the tabs; outside the GUI thread, since files are read."""
        task, settings = fine_tuned_task(self._checkpoint), prediction_settings(self._checkpoint)
        assert task is not None  # the dialog is offered for fine-tuned models only
        return (
            transformers_code(task, str(self._checkpoint), settings=settings),
            onnx_code(task, ONNX_FOLDER, settings=settings),
            model_card(self._checkpoint, "hf"),
        )

    def _on_written(self, texts: tuple[str, ...]) -> None:
        for index, text in enumerate(texts):
            tab = self.tabs.widget(index)
            assert isinstance(tab, CodeTab)
            tab.text.setPlainText(text)

    def _on_failed(self, error: BaseException) -> None:
        self.card.text.setPlainText(str(error))
        self.tabs.setCurrentWidget(self.card)


class CodeTab(QWidget):
    def __init__(self, name: str, note: str) -> None:
        super().__init__()
        self.text = ReadText(name)
        self.copy = buttons.plain(self.tr("C&opy"), self._on_copy, "copy")
        layouts.column(
            Text(note, "muted"),
            (self.text, 1),
            (self.copy, 0, Qt.AlignmentFlag.AlignLeft),
            parent=self,
            spacing=2 * SPACE,
            margins=(0, 3 * SPACE, 0, 0),
        )

    def _on_copy(self) -> None:
        QGuiApplication.clipboard().setText(self.text.toPlainText())
