"""A list of entries as cards: icon, title, line of facts, number, badge."""

from dataclasses import dataclass

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFont, QFontMetricsF, QKeyEvent, QPainter, QPen
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem

from app.resources import icon
from app.theme import SPACE, Role, colour, px
from app.widgets.card_list import ITEM, CardItem, CardList
from app.widgets.drawing import write
from app.widgets.keys import is_press
from app.widgets.tables import Index
from app.widgets.text.labels import one_line


@dataclass(frozen=True)
class Entry(CardItem):
    """One card.

    Args:
        key: emitted when the entry is opened.
        figure: a short number on the right, with its `unit` below.
        mark: a word or two in a frame after the title; `warns` gives it the warning colour.
    """

    icon: str
    figure: str = ""
    unit: str = ""
    mark: str = ""
    warns: bool = False

    def sentence(self) -> str:
        """One line for a screen reader."""
        figure = f"{self.figure} {self.unit}".strip()
        return ", ".join(part for part in (self.title, self.mark, figure, self.facts) if part)


class EntryList(CardList):
    """A list of cards.

    Signals:
        opened: key of the entry that was clicked, or chosen by Enter or Space.
    """

    opened = Signal(object)

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.chosen_key: object = None  # of the entry described next to the list
        self.setItemDelegate(_CardDelegate(self))
        self.setUniformItemSizes(True)
        self.clicked.connect(self._open)

    def show_entries(self, entries: list[Entry]) -> None:
        """Show entries; the current entry stays current if it is still listed."""
        current = self.currentIndex()
        key = current.data(ITEM).key if current.isValid() else None
        if entries != self.cards.rows:
            self.cards.show_rows(entries)
        row = self.cards.find_row(key)
        if entries:
            self.setCurrentIndex(self.cards.index(max(row, 0), 0))

    def mark_chosen(self, key: object) -> None:
        """Mark the entry that is described next to the list."""
        if key != self.chosen_key:
            self.chosen_key = key
            self.viewport().update()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if is_press(event):
            self._open(self.currentIndex())
        else:
            super().keyPressEvent(event)

    def _open(self, index: Index) -> None:
        if index.isValid():
            self.opened.emit(index.data(ITEM).key)


class _CardDelegate(QStyledItemDelegate):
    GAP = 2 * SPACE
    PADDING = 4 * SPACE
    ICON_SIZE = 6 * SPACE

    def __init__(self, entries: EntryList) -> None:
        super().__init__(entries)
        self._list = entries

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        lines = QFontMetricsF(_title_font(option.font)).height() + option.fontMetrics.height()
        return QSize(px(60 * SPACE), round(lines) + SPACE + 2 * self.PADDING + self.GAP)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        entry = index.data(ITEM)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        card = QRectF(option.rect).adjusted(1, 1, -1, -1 - self.GAP)
        self._paint_card(painter, option, card, self._list.chosen_key == entry.key)
        inner = card.adjusted(self.PADDING, self.PADDING, -self.PADDING, -self.PADDING)
        side = px(self.ICON_SIZE)
        picture = QRectF(inner.left(), inner.center().y() - side / 2, side, side)
        icon(entry.icon, Role.ACCENT).paint(painter, picture.toRect())
        inner.setLeft(picture.right() + self.PADDING)
        inner.setRight(self._paint_figure(painter, option.font, inner, entry))
        self._paint_words(painter, option.font, inner, entry)
        painter.restore()

    def _paint_card(
        self, painter: QPainter, option: QStyleOptionViewItem, card: QRectF, chosen: bool
    ) -> None:
        hovered = bool(option.state & QStyle.StateFlag.State_MouseOver)
        has_focus = bool(option.state & QStyle.StateFlag.State_HasFocus)
        edge = Role.ACCENT if hovered or has_focus or chosen else Role.BORDER
        painter.setPen(QPen(colour(edge), 2 if has_focus or chosen else 1))
        painter.setBrush(colour(Role.SURFACE))
        painter.drawRoundedRect(card, 10, 10)

    def _paint_figure(self, painter: QPainter, font: QFont, inner: QRectF, entry: Entry) -> float:
        """Paint the figure on the right; returns the right end of the text area."""
        if not entry.figure:
            return inner.right()
        large, small = _title_font(font), _small_font(font)
        width = max(
            QFontMetricsF(large).horizontalAdvance(entry.figure),
            QFontMetricsF(small).horizontalAdvance(entry.unit),
        )
        box = QRectF(inner.right() - width - 1, inner.top(), width + 1, inner.height())
        right = Qt.AlignmentFlag.AlignRight
        write(painter, box, entry.figure, large, Role.TEXT, right | Qt.AlignmentFlag.AlignTop)
        write(painter, box, entry.unit, small, Role.MUTED, right | Qt.AlignmentFlag.AlignBottom)
        return box.left() - self.PADDING

    def _paint_words(self, painter: QPainter, font: QFont, inner: QRectF, entry: Entry) -> None:
        title_font, small = _title_font(font), _small_font(font)
        mark_width = QFontMetricsF(small).horizontalAdvance(entry.mark) + 3 * SPACE
        top, middle = Qt.AlignmentFlag.AlignTop, Qt.TextElideMode.ElideMiddle
        line = inner.adjusted(0, 0, -(mark_width + self.GAP) if entry.mark else 0, 0)
        title = one_line(entry.title)
        title_width = write(painter, line, title, title_font, Role.TEXT, top, middle)
        if entry.mark:
            left, height = inner.left() + title_width + self.GAP, QFontMetricsF(title_font).height()
            frame = QRectF(left, inner.top(), mark_width, height)
            role = Role.WARN if entry.warns else Role.MUTED
            write(painter, frame, entry.mark, small, role, Qt.AlignmentFlag.AlignCenter)
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(frame, 4, 4)
        facts = one_line(entry.facts)
        write(painter, inner, facts, font, Role.MUTED, Qt.AlignmentFlag.AlignBottom)


def _title_font(font: QFont) -> QFont:
    larger = QFont(font)
    larger.setPointSizeF(font.pointSizeF() * 1.1)
    larger.setWeight(QFont.Weight.DemiBold)
    return larger


def _small_font(font: QFont) -> QFont:
    smaller = QFont(font)
    smaller.setPointSizeF(font.pointSizeF() * 0.88)
    return smaller
