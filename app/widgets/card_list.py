"""Lists of painted cards: a model of items and a list view without frames.

As a list view it is as quick with a thousand items as with ten, is moved through by arrow keys, and
a screen reader reads each item as one sentence. Texts are painted as plain text.
"""

from dataclasses import dataclass, field
from typing import Any

from PySide6.QtCore import QAbstractListModel, QEvent, QObject, Qt
from PySide6.QtWidgets import QAbstractItemView, QListView

from app.translation import translated
from app.widgets.tables import NOWHERE, Index
from app.widgets.text.labels import tooltip, visible

ITEM = Qt.ItemDataRole.UserRole
CARD_CHARACTERS = 300  # of a text, painted


@dataclass(frozen=True)
class CardItem:
    """One card. An item with a `reason` cannot be chosen."""

    key: object
    title: str
    facts: str
    reason: str = field(default="", kw_only=True)

    @property
    def remark(self) -> str:
        """The badge or the reason, shown with the facts."""
        return self.reason

    def sentence(self) -> str:
        """One line for a screen reader."""
        raise NotImplementedError


class CardModel(QAbstractListModel):
    """Model of the cards."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.items: list[CardItem] = []

    def show(self, items: list[Any]) -> None:
        if items != self.items:
            self.beginResetModel()
            self.items = list(items)
            self.endResetModel()

    def row_of(self, key: object) -> int:
        """Row of a key; -1 if it has none."""
        return next((row for row, item in enumerate(self.items) if item.key == key), -1)

    def rowCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() else len(self.items)

    def flags(self, index: Index) -> Qt.ItemFlag:
        enabled = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemNeverHasChildren
        if not index.isValid():
            return Qt.ItemFlag.NoItemFlags
        if self.items[index.row()].reason:
            return enabled
        return enabled | Qt.ItemFlag.ItemIsSelectable

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        item = self.items[index.row()]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return card_line(item.title)
            case Qt.ItemDataRole.AccessibleTextRole:
                return card_line(item.sentence())
            case Qt.ItemDataRole.ToolTipRole:
                return tooltip(item.remark or item.title)
            case _ if role == ITEM:
                return item
        return None


class CardList(QListView):
    """A list of cards; subclasses set the delegate that paints them."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.cards = CardModel(self)
        self.setModel(self.cards)
        self.setAccessibleName(name)
        self.setMouseTracking(True)
        self.setFrameShape(QListView.Shape.NoFrame)
        self.setStyleSheet("QListView { background: transparent; border: none; }")
        self.viewport().setAutoFillBackground(False)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() in (QEvent.Type.FontChange, QEvent.Type.PaletteChange):
            self.scheduleDelayedItemsLayout()


def card_line(text: str) -> str:
    """The beginning of a text as one line of visible characters."""
    return visible(translated(text)[:CARD_CHARACTERS]).replace("\n", " ")
