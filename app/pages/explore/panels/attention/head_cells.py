"""How the list of heads paints its cells: quickly enough for the frame of another pair."""

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtGui import QFontMetrics, QPainter, QStaticText
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QTableView

from app.resources import mono_font
from app.theme import SPACE, Role, colour
from app.widgets.tables import Index

PADDING = 2 * SPACE  # px at both sides of a cell
CACHED_TEXTS = 4000  # texts that stay laid out


class HeadCells(QStyledItemDelegate):
    """Paints what the cells of a table say.

    Qt would ask nine questions of each cell and lay out its text anew each time, for which the
    frame of another pair has no time; nor has it for more than a few calls of ours.
    """

    def __init__(self, text: Callable[[int, int], str], first: int, table: QTableView) -> None:
        """`text` of a row and a column; from column `first` on they stand at the right."""
        super().__init__(table)
        self._said, self._first, self._table = text, first, table
        self._laid_out: dict[str, tuple[QStaticText, float, float]] = {}  # width and height, px
        self._font = mono_font()

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        row, column, box = index.row(), index.column(), option.rect
        if row == self._table.currentIndex().row():
            self._paint_state(painter, option)
        width = box.width()
        text, wide, high = self._text(self._said(row, column), width - 2 * PADDING)
        left = box.x() + (width - PADDING - wide if column >= self._first else PADDING)
        painter.setFont(self._font)
        painter.drawStaticText(int(left), int(box.y() + (box.height() - high) / 2), text)

    def _paint_state(self, painter: QPainter, option: QStyleOptionViewItem) -> None:
        if option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(option.rect, colour(Role.ACCENT_SOFT))
        if option.state & QStyle.StateFlag.State_HasFocus:
            pen = painter.pen()
            painter.setPen(colour(Role.ACCENT))
            painter.drawRect(option.rect.adjusted(0, 0, -1, -1))
            painter.setPen(pen)

    def _text(self, text: str, most: float) -> tuple[QStaticText, float, float]:
        """`text`, laid out in at most so many pixels, and its size."""
        found = self._laid_out.get(text)
        if found is None:
            if len(self._laid_out) >= CACHED_TEXTS:
                self._laid_out.clear()
            made = QStaticText(text)
            made.setTextFormat(Qt.TextFormat.PlainText)
            made.prepare(font=self._font)
            found = self._laid_out[text] = made, made.size().width(), made.size().height()
        if found[1] <= most or len(text) <= 1:
            return found
        end = Qt.TextElideMode.ElideRight
        return self._text(QFontMetrics(self._font).elidedText(text, end, int(most)), most)
