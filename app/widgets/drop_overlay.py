"""Overlay of the window while something is dragged over it."""

from pathlib import Path

from PySide6.QtCore import QEvent, QRectF, Qt
from PySide6.QtGui import QDropEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QWidget

from app import theme
from app.theme import Role
from app.widgets.text.labels import font


def paths_of(event: QDropEvent) -> list[Path]:
    """Local files and folders of a drag or drop."""
    return [Path(url.toLocalFile()) for url in event.mimeData().urls() if url.isLocalFile()]


class DropOverlay(QWidget):
    """Covers the window and says what can be dropped."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.hide()

    def appear(self) -> None:
        self.resize(self.window().size())
        self.raise_()
        self.show()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.fillRect(self.rect(), theme.colour(Role.WINDOW, 0.85))
        pen = QPen(theme.colour(Role.ACCENT), 2, Qt.PenStyle.DashLine)
        painter.setPen(pen)
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(16, 16, -16, -16), 14, 14)
        painter.setFont(font("title"))
        painter.setPen(theme.colour(Role.ACCENT))
        painter.drawText(
            self.rect(),
            Qt.AlignmentFlag.AlignCenter,
            self.tr("Drop a data file, a model folder or a run folder"),
        )
