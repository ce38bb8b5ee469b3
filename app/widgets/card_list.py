"""Lists of painted cards: a model of items and a list view without frames.

A list view is as fast with a thousand items as with ten. Arrow keys move through it, and a screen
reader reads each item as one sentence. Texts are painted as plain text.
"""

from dataclasses import dataclass, field

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtWidgets import QAbstractItemView, QListView

from app.widgets.tables import Column, ColumnsModel, Index
from app.widgets.text.labels import one_line

ITEM = Qt.ItemDataRole.UserRole


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


class CardModel(ColumnsModel[CardItem]):
    """One column of cards; those with a reason cannot be selected."""

    def __init__(self, parent: QObject) -> None:
        column = Column[CardItem](
            "",
            lambda item: one_line(item.title),
            tooltip=lambda item: item.remark or item.title,
            roles={
                Qt.ItemDataRole.AccessibleTextRole: lambda item: one_line(item.sentence()),
                ITEM: lambda item: item,
            },
        )
        super().__init__([column], parent)

    def find_row(self, key: object) -> int:
        """Row of a key; -1 if it has none."""
        return next((row for row, item in enumerate(self.rows) if item.key == key), -1)

    def flags(self, index: Index) -> Qt.ItemFlag:
        is_usable = index.isValid() and not self.rows[index.row()].reason
        flags = super().flags(index)
        return flags if is_usable else flags & ~Qt.ItemFlag.ItemIsSelectable


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
