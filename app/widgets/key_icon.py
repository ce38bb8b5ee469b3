"""A key of the keyboard with its character, as an icon."""

from PySide6.QtCore import QRect, QRectF, Qt
from PySide6.QtGui import QFont, QIcon, QIconEngine, QPainter
from PySide6.QtWidgets import QApplication

from app import theme
from app.resources import DrawnIcon
from app.theme import Role


class _Engine(DrawnIcon):
    """Draws the key at any size, at the left of a rectangle that is wider than high."""

    def __init__(self, character: str) -> None:
        super().__init__()
        self._character = character

    def paint(self, painter: QPainter, rect: QRect, mode: QIcon.Mode, _: QIcon.State) -> None:
        is_off = mode == QIcon.Mode.Disabled
        side = min(rect.width(), rect.height())
        top = rect.top() + (rect.height() - side) / 2
        key = QRectF(rect.left(), top, side, side).adjusted(0.5, 0.5, -0.5, -0.5)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(theme.colour(Role.DISABLED if is_off else Role.EDGE))
        painter.drawRoundedRect(key, side / 5, side / 5)
        font = QFont(QApplication.font())
        font.setPixelSize(max(round(side * 0.7), 1))
        painter.setFont(font)
        painter.setPen(theme.colour(Role.DISABLED if is_off else Role.MUTED))
        painter.drawText(key, Qt.AlignmentFlag.AlignCenter, self._character)
        painter.restore()

    def clone(self) -> QIconEngine:
        return _Engine(self._character)


def key_icon(character: str) -> QIcon:
    """The key of one character."""
    return QIcon(_Engine(character))
