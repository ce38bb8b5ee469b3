"""The state of a run as an icon and a word."""

from PySide6.QtCore import QRectF, QSize
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from app.pages.runs.delegate import ICON_SIDE, paint_state
from app.theme import SPACE
from app.translation import tr
from app.widgets.text import run_texts
from app.widgets.text.labels import font


class StateBadge(QWidget):
    """As wide as its word."""

    def __init__(self) -> None:
        super().__init__()
        self._state = ""
        self.setFont(font("strong"))

    def show_state(self, state: str) -> None:
        self._state = state
        self.setAccessibleName(tr("State: {0}").format(run_texts.state_text(state)))
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        width = self.fontMetrics().horizontalAdvance(run_texts.state_text(self._state))
        return QSize(
            ICON_SIDE + 2 * SPACE + width + 2, max(ICON_SIDE, self.fontMetrics().height()) + 4
        )

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(self.font())
        paint_state(painter, QRectF(self.rect()), self._state, run_texts.state_text(self._state))
        painter.end()
