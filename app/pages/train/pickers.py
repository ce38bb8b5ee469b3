"""A list of cards in which one is chosen; what cannot be chosen stands there with the reason."""

from dataclasses import dataclass

from PySide6.QtCore import (
    QItemSelectionModel,
    QRectF,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QFont, QFontMetricsF, QKeyEvent, QPainter, QPen
from PySide6.QtWidgets import (
    QAbstractItemView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from app import theme
from app.pages.train.card import paint_mark
from app.theme import SPACE, Role
from app.widgets.card_list import ITEM, CardItem, CardList, card_line
from app.widgets.tables import Index
from app.widgets.text.labels import font


@dataclass(frozen=True)
class Pick(CardItem):
    """One entry. `verdict` is a word, `warns` its tone.

    A `doubt` says what must still be settled about an entry that can be chosen.
    """

    verdict: str = ""
    warns: bool = False
    doubt: str = ""

    @property
    def remark(self) -> str:
        """Why it cannot be chosen, or what is doubtful about it."""
        return self.reason or self.doubt

    def sentence(self) -> str:
        """All of it in one line, for a screen reader."""
        parts = (self.title, self.verdict, self.facts, self.remark)
        return ", ".join(part for part in parts if part)


class PickList(CardList):
    """Signals:
    picked: the key of the entry that the user chose.
    """

    picked = Signal(object)

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(name, parent)
        self.setItemDelegate(_Cards(self))
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.selectionModel().selectionChanged.connect(self._on_selected)
        self._showing = False

    def show_picks(self, picks: list[Pick], chosen: object = None) -> None:
        """Show these with the one of the key `chosen` as chosen; `picked` is not emitted."""
        self._showing = True
        if picks != self.cards.items:
            place = self.verticalScrollBar().value()
            self.cards.show(picks)
            self.verticalScrollBar().setValue(place)
        row = next((n for n, p in enumerate(picks) if p.key == chosen and not p.reason), -1)
        if row < 0:
            self.selectionModel().clearSelection()
        elif not self.selectionModel().isRowSelected(row):
            self.selectionModel().setCurrentIndex(
                self.cards.index(row, 0), QItemSelectionModel.SelectionFlag.ClearAndSelect
            )
        self._showing = False

    def chosen(self) -> object:
        """The key that is chosen, or None."""
        rows = self.selectionModel().selectedIndexes()
        return self.cards.items[rows[0].row()].key if rows else None

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Arrows and Space choose the first entry where none is chosen yet."""
        keys = (Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_Space)
        free = [row for row, pick in enumerate(self.cards.items) if not pick.reason]
        if event.key() in keys and self.chosen() is None and free:
            flags = QItemSelectionModel.SelectionFlag.ClearAndSelect
            self.selectionModel().setCurrentIndex(self.cards.index(free[0], 0), flags)
        else:
            super().keyPressEvent(event)

    def _on_selected(self) -> None:
        if not self._showing and (key := self.chosen()) is not None:
            self.picked.emit(key)


class _Cards(QStyledItemDelegate):
    """Paints an entry as a card: the title, a line of facts, and the reason where there is one."""

    GAP = 2 * SPACE
    PADDING = 3 * SPACE

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        lines = QFontMetricsF(font("strong")).height() + QFontMetricsF(font()).height()
        pick: Pick = index.data(ITEM)
        if pick.remark and pick.facts:
            lines += QFontMetricsF(font()).height() + SPACE / 2
        return QSize(60 * SPACE, round(lines) + SPACE + 2 * self.PADDING + self.GAP)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        pick: Pick = index.data(ITEM)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        card = QRectF(option.rect).adjusted(2, 2, -2, -2 - self.GAP)
        chosen = bool(option.state & QStyle.StateFlag.State_Selected)
        self._paint_card(painter, option, card, chosen, bool(pick.reason))
        inner = card.adjusted(4 * SPACE, self.PADDING, -4 * SPACE, -self.PADDING)
        if chosen:
            paint_mark(painter, card)
            inner.setRight(inner.right() - 6 * SPACE)
        self._paint_text(painter, inner, pick)
        painter.restore()

    def _paint_card(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        card: QRectF,
        chosen: bool,
        shut: bool,
    ) -> None:
        hovered = bool(option.state & QStyle.StateFlag.State_MouseOver) and not shut
        has_focus = bool(option.state & QStyle.StateFlag.State_HasFocus)
        edge = theme.colour(Role.ACCENT if chosen else Role.MUTED if hovered else Role.BORDER)
        style = Qt.PenStyle.DashLine if shut else Qt.PenStyle.SolidLine
        painter.setPen(QPen(edge, 2 if chosen else 1, style))
        painter.setBrush(theme.colour(Role.WINDOW if shut else Role.SURFACE))
        painter.drawRoundedRect(card, 10, 10)
        if has_focus:
            painter.setPen(QPen(theme.colour(Role.MUTED), 1, Qt.PenStyle.DashLine))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(card.adjusted(4, 4, -4, -4), 7, 7)

    def _paint_text(self, painter: QPainter, inner: QRectF, pick: Pick) -> None:
        strong, usual = font("strong"), font()
        top = inner.top()
        right = inner.right()
        if pick.verdict:
            right = self._paint_verdict(painter, inner, pick)
        title_role = Role.MUTED if pick.reason else Role.TEXT
        _text(
            painter,
            strong,
            title_role,
            QRectF(inner.left(), top, right - inner.left(), 0),
            pick.title,
        )
        top += QFontMetricsF(strong).height() + SPACE
        if pick.facts:
            place = QRectF(inner.left(), top, inner.width(), 0)
            _text(painter, usual, Role.MUTED, place, pick.facts)
            top += QFontMetricsF(usual).height() + SPACE / 2
        if pick.remark:
            _text(
                painter, usual, Role.WARN, QRectF(inner.left(), top, inner.width(), 0), pick.remark
            )

    def _paint_verdict(self, painter: QPainter, inner: QRectF, pick: Pick) -> float:
        """Paint the verdict in a frame at the right, and say where the title must end."""
        small = font("small")
        metrics = QFontMetricsF(small)
        width = metrics.horizontalAdvance(pick.verdict) + 3 * SPACE
        frame = QRectF(inner.right() - width, inner.top(), width, metrics.height() + 2)
        role = Role.WARN if pick.warns else Role.GOOD
        painter.setPen(QPen(theme.colour(role), 1))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(frame, 4, 4)
        painter.setFont(small)
        painter.drawText(frame, Qt.AlignmentFlag.AlignCenter, pick.verdict)
        return frame.left() - self.GAP


def _text(painter: QPainter, text_font: QFont, role: Role, place: QRectF, text: str) -> None:
    """One line at the top left of `place`, cut where there is no room."""
    metrics = QFontMetricsF(text_font)
    painter.setFont(text_font)
    painter.setPen(theme.colour(role))
    shown = metrics.elidedText(card_line(text), Qt.TextElideMode.ElideMiddle, place.width())
    place.setHeight(metrics.height())
    painter.drawText(place, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, shown)
