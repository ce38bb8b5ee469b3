"""Overlay of the window while something is dragged over it."""

from pathlib import Path

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QDropEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from app import theme
from app.theme import Role
from app.widgets.drawing import write
from app.widgets.text.labels import font


def dropped_paths(event: QDropEvent) -> list[Path]:
    """Local files and folders of a drag or drop."""
    return [Path(url.toLocalFile()) for url in event.mimeData().urls() if url.isLocalFile()]


class DropOverlay(QWidget):
    """Covers the window and names what can be dropped."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()

    def appear(self) -> None:
        self.resize(self.window().size())
        self.raise_()
        self.show()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(self.rect(), theme.colour(Role.WINDOW, 0.85))
        painter.setPen(QPen(theme.colour(Role.ACCENT), 2, Qt.PenStyle.DashLine))
        area = QRectF(self.rect()).adjusted(16, 16, -16, -16)
        painter.drawRoundedRect(area, 14, 14)
        text = self.tr("Drop a data file, a model folder or a run folder")
        write(painter, area, text, font("title"), Role.ACCENT, Qt.AlignmentFlag.AlignCenter)
