"""A switch for what is on or off."""

from PySide6.QtCore import QEvent, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QWidget

from app import theme
from app.theme import Role

TRACK = QSize(36, 20)
RING = 3  # px around the track, for the focus


class Switch(QAbstractButton):
    """On at the right, off at the left; Space or a click throws it. `toggled` tells."""

    def __init__(self, name: str, on: bool = False, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setCheckable(True)
        self.setChecked(on)
        self.setAccessibleName(name)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setFixedSize(self.sizeHint())

    def sizeHint(self) -> QSize:
        return TRACK + QSize(2 * RING, 2 * RING)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        track = QRectF(self.rect()).adjusted(RING, RING, -RING, -RING)
        on, usable = self.isChecked(), self.isEnabled()
        fill = (Role.ACCENT if on else Role.HOVER) if usable else Role.HOVER
        edge = (Role.ACCENT if on else Role.EDGE) if usable else Role.BORDER
        painter.setPen(QPen(theme.colour(edge), 1))
        painter.setBrush(theme.colour(fill))
        inner = track.adjusted(0.5, 0.5, -0.5, -0.5)
        painter.drawRoundedRect(inner, inner.height() / 2, inner.height() / 2)
        knob = QRectF(0, 0, 12, 12)
        knob.moveCenter(track.center())
        knob.moveLeft(track.right() - 16 if on else track.left() + 4)
        painter.setPen(Qt.PenStyle.NoPen)
        role = (Role.ON_ACCENT if on else Role.MUTED) if usable else Role.DISABLED
        painter.setBrush(theme.colour(role))
        painter.drawEllipse(knob)
        if self.hasFocus():
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(theme.colour(Role.ACCENT), 2))
            ring = QRectF(self.rect()).adjusted(1, 1, -1, -1)
            painter.drawRoundedRect(ring, ring.height() / 2, ring.height() / 2)
