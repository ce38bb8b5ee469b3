"""The legend of a chart as a widget: line, name and current value of each series."""

from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSize
from PySide6.QtGui import QFontMetricsF, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.notices import shorten
from app.theme import SPACE, Role, px
from app.widgets.drawing import flow, write
from app.widgets.text.labels import font, visible

LINE_WIDTH = 24  # px of the sample line
GAP = 4 * SPACE  # px between entries
NAME_CHARACTERS = 40


@dataclass
class LegendEntry:
    """One series; `width` fits its widest value so far, so that entries do not move."""

    name: str
    pen: QPen
    value: str = ""
    width: float = 0.0  # px

    def shown_name(self) -> str:
        return shorten(visible(self.name), NAME_CHARACTERS)


class Legend(QWidget):
    """Entries in as many rows as they need; hidden if empty."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.entries: list[LegendEntry] = []
        self.more = ""  # text about series that are not named
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.hide()

    def show_series(self, pens: dict[str, QPen], more: str = "") -> None:
        """List these series; those that were listed before keep their values."""
        before = {entry.name: entry for entry in self.entries}
        self.entries = [LegendEntry(name, pen) for name, pen in pens.items()]
        for entry in self.entries:
            if (old := before.get(entry.name)) is not None:
                entry.value, entry.width = old.value, old.width
        self.more = more
        self.setVisible(bool(self.entries))
        self._arrange()

    def show_values(self, values: dict[str, str]) -> None:
        metrics = QFontMetricsF(font("small"))
        for entry in self.entries:
            entry.value = values.get(entry.name, "")
            entry.width = max(entry.width, metrics.horizontalAdvance(entry.value))
        self._arrange()

    def boxes(self) -> list[QRectF]:
        """The box of each entry, and of the text about the others."""
        metrics = QFontMetricsF(font("small"))
        height = metrics.height() + SPACE
        widths = [
            LINE_WIDTH + SPACE + metrics.horizontalAdvance(entry.shown_name()) + SPACE + entry.width
            for entry in self.entries
        ]
        widths += [metrics.horizontalAdvance(self.more)] if self.more else []
        return flow(widths, height, self.width(), GAP)

    def _arrange(self) -> None:
        self.setAccessibleDescription(", ".join(f"{e.name} {e.value}" for e in self.entries))
        boxes = self.boxes()
        self.setFixedHeight(round(boxes[-1].bottom()) if boxes else 0)
        self.update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def sizeHint(self) -> QSize:
        return QSize(px(100), self.height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        boxes, small = self.boxes(), font("small")
        for entry, box in zip(self.entries, boxes, strict=False):
            y = box.center().y()
            painter.setPen(entry.pen)
            painter.drawLine(QPointF(box.left(), y), QPointF(box.left() + LINE_WIDTH, y))
            name = box.adjusted(LINE_WIDTH + SPACE, 0, 1, 0)
            write(painter, name, entry.shown_name(), small, Role.MUTED)
            value = box.adjusted(box.width() - entry.width, 0, 1, 0)
            write(painter, value, entry.value, small, Role.TEXT)
        if self.more:
            write(painter, boxes[-1].adjusted(0, 0, 1, 0), self.more, small, Role.MUTED)
