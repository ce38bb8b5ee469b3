"""A card that is one of several to choose from, as a radio button is."""

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QSizePolicy, QWidget

from app import theme
from app.theme import SPACE, Role
from app.widgets import layouts
from app.widgets.text.labels import Text


class ChoiceCard(QAbstractButton):
    """A title, a `body` to fill, and a frame that shows whether it is chosen.

    Cards with the same parent exclude one another; the arrow keys move between them.
    """

    def __init__(self, title: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setCheckable(True)
        self.setAutoExclusive(True)
        self.setText(title)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.body = layouts.column(
            parent=self, spacing=2 * SPACE, margins=(5 * SPACE, 4 * SPACE, 5 * SPACE, 4 * SPACE)
        )
        self.add(Text(title, "heading"))

    def add(self, part: QWidget) -> None:
        """Put a part on the card that lets clicks through to it."""
        part.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.body.addWidget(part)

    def sizeHint(self) -> QSize:
        return self.body.sizeHint()

    def minimumSizeHint(self) -> QSize:
        return self.body.minimumSize()

    def hasHeightForWidth(self) -> bool:
        return self.body.hasHeightForWidth()

    def heightForWidth(self, width: int) -> int:
        return self.body.heightForWidth(width)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        frame = QRectF(self.rect()).adjusted(3, 3, -3, -3)
        chosen = self.isChecked()
        edge = Role.ACCENT if chosen else Role.MUTED if self.underMouse() else Role.BORDER
        painter.setPen(QPen(theme.colour(edge), 2 if chosen else 1))
        painter.setBrush(theme.colour(Role.SURFACE))
        painter.drawRoundedRect(frame, 10, 10)
        if self.isChecked():
            paint_mark(painter, frame)
        if self.hasFocus():
            painter.setPen(QPen(theme.colour(Role.MUTED), 1, Qt.PenStyle.DashLine))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(frame.adjusted(-2.5, -2.5, 2.5, 2.5), 12, 12)
        painter.end()


def paint_mark(painter: QPainter, frame: QRectF) -> None:
    """A disc with a tick in the upper right corner: chosen is not told by colour alone."""
    disc = QRectF(frame.right() - 30, frame.top() + 12, 18, 18)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(theme.colour(Role.ACCENT))
    painter.drawEllipse(disc)
    painter.setPen(QPen(theme.colour(Role.ON_ACCENT), 2))
    x, y = disc.center().x(), disc.center().y()
    painter.drawPolyline([QPointF(x - 4, y), QPointF(x - 1, y + 3), QPointF(x + 4.5, y - 3.5)])
