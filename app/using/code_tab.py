"""Code to copy, with a note."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from app.theme import SPACE
from app.widgets import buttons, layouts
from app.widgets.text.labels import Text, TextView


class CodeTab(QWidget):
    def __init__(self, name: str, note: str) -> None:
        super().__init__()
        self.text = TextView(name)
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
