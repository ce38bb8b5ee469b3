"""The dialog that chooses and orders the columns of the table of runs."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QAbstractItemView,
    QListWidget,
    QListWidgetItem,
    QWidget,
)

from app.pages.runs.columns import DEFAULT, all_columns, column_info
from app.theme import SPACE
from app.translation import tr
from app.widgets import buttons, layouts
from app.widgets.dialogs import Choice, Question, ask
from app.widgets.forms.controls import SearchField
from app.widgets.text.labels import Text

KEY = Qt.ItemDataRole.UserRole
HIGH = 280  # px, height of the lists


class ColumnChoice(QWidget):
    """All columns on the left, with a search; the chosen ones in order on the right."""

    def __init__(self, chosen: Sequence[str]) -> None:
        super().__init__()
        self.search = SearchField(tr("Search settings and metrics"), tr("Search the columns"))
        self.search.textChanged.connect(self._narrow)
        self.all = QListWidget()
        self.all.setAccessibleName(tr("All columns"))
        self.shown = QListWidget()
        self.shown.setAccessibleName(tr("Shown columns"))
        self.shown.setDragDropMode(QAbstractItemView.DragDropMode.InternalMove)
        for lists in (self.all, self.shown):
            lists.setMinimumHeight(HIGH)
        for key in all_columns():
            item = _item(key)
            item.setFlags(item.flags() | Qt.ItemFlag.ItemIsUserCheckable)
            item.setCheckState(_state(key in chosen))
            self.all.addItem(item)
        for key in chosen:
            self.shown.addItem(_item(key))
        self.all.itemChanged.connect(self._on_checked)
        self.up = buttons.plain(tr("Move &up"), lambda: self._move(-1))
        self.down = buttons.plain(tr("Move &down"), lambda: self._move(1))
        self.remove = buttons.plain(tr("&Remove"), self._remove)
        grid = layouts.grid(parent=self, across=2 * SPACE, down=2 * SPACE)
        left = layouts.column(self.search, (self.all, 1))
        right = layouts.column(Text(tr("Shown, from left to right"), "muted"), (self.shown, 1))
        for button in (self.up, self.down, self.remove):
            right.addWidget(button)
        grid.addLayout(left, 0, 0)
        grid.addLayout(right, 0, 1)

    def keys(self) -> list[str]:
        """The chosen columns in order."""
        return [str(self.shown.item(row).data(KEY)) for row in range(self.shown.count())]

    def _narrow(self, text: str) -> None:
        words = text.casefold().split()
        for row in range(self.all.count()):
            item = self.all.item(row)
            sentence = f"{item.text()} {item.data(KEY)}".casefold()
            item.setHidden(not all(word in sentence for word in words))

    def _on_checked(self, item: QListWidgetItem) -> None:
        key = str(item.data(KEY))
        is_there = key in self.keys()
        if item.checkState() == Qt.CheckState.Checked and not is_there:
            self.shown.addItem(_item(key))
        elif item.checkState() != Qt.CheckState.Checked and is_there:
            self.shown.takeItem(self.keys().index(key))

    def _move(self, by: int) -> None:
        row = self.shown.currentRow()
        if row >= 0 and 0 <= row + by < self.shown.count():
            self.shown.insertItem(row + by, self.shown.takeItem(row))
            self.shown.setCurrentRow(row + by)

    def _remove(self) -> None:
        item = self.shown.currentItem()
        if item is not None:
            rows = [self.all.item(row) for row in range(self.all.count())]
            next(entry for entry in rows if entry.data(KEY) == item.data(KEY)).setCheckState(
                Qt.CheckState.Unchecked
            )


def ask_for_columns(
    owner: QWidget, chosen: Sequence[str], on_chosen: Callable[[Sequence[str]], object]
) -> Question:
    """Open the dialog; `on_chosen` gets the keys of at least one column."""
    choice = ColumnChoice(chosen)

    def answered(key: str) -> None:
        if key == "default":
            on_chosen(DEFAULT)
        elif key == "show" and choice.keys():
            on_chosen(choice.keys())

    return ask(
        owner,
        tr("Columns"),
        tr("Any setting of a run and any metric can be a column."),
        (
            Choice("show", tr("&Show these"), "primary"),
            Choice("default", tr("Reset to de&faults")),
            Choice("cancel", tr("&Cancel")),
        ),
        answered,
        [choice],
    )


def _item(key: str) -> QListWidgetItem:
    facts = column_info(key)
    item = QListWidgetItem(facts.title() if facts is not None else key)
    item.setData(KEY, key)
    if "." in key:
        item.setToolTip(key)
    return item


def _state(checked: bool) -> Qt.CheckState:
    return Qt.CheckState.Checked if checked else Qt.CheckState.Unchecked
