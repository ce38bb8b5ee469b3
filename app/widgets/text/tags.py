"""Short facts in frames, in as many rows as they need."""

from collections.abc import Sequence

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPaintEvent

from app import theme
from app.theme import SPACE, Role
from app.widgets.drawing import FlowWidget, fill, flow, write
from app.widgets.text.labels import font, one_line, tooltip

PADDING = 2.5 * SPACE  # px on either side of the text
GAP = 1.5 * SPACE


class Tags(FlowWidget):
    """Paints all tags as one widget, which a screen reader reads as one line."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._texts: list[str] = []

    def show_texts(self, texts: Sequence[str]) -> None:
        """Show facts in this order."""
        self._texts = [one_line(text) for text in texts]
        self.setAccessibleDescription("; ".join(self._texts))
        self.setToolTip(tooltip("\n".join(self._texts)))  # if one is elided
        self.updateGeometry()
        self.update()

    def shown(self) -> list[str]:
        return list(self._texts)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        small, middle = font("small"), Qt.TextElideMode.ElideMiddle
        for text, box in zip(self._texts, self.boxes_at(self.width()), strict=True):
            fill(painter, box, theme.colour(Role.ACCENT_SOFT), box.height() / 2)
            inner = box.adjusted(PADDING, 0, 1 - PADDING, 0)
            write(painter, inner, text, small, Role.TEXT, elide=middle)

    def boxes_at(self, width: int) -> list[QRectF]:
        metrics = QFontMetricsF(font("small"))
        widths = (metrics.horizontalAdvance(text) + 2 * PADDING for text in self._texts)
        clipped = (min(text_width, float(width)) for text_width in widths)
        return flow(clipped, metrics.height() + SPACE, width, GAP, GAP)
