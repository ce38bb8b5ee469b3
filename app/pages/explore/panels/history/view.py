"""Searchable list of inputs with actions on the selected one."""

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QGridLayout, QLineEdit, QListView, QWidget

from app.pages.explore.panel import Panel
from app.pages.explore.panels.history.state import Entry, History
from app.pages.explore.panels.history.table import ENTRY, Entries, Rows
from app.pages.explore.side import Input
from app.theme import SPACE
from app.widgets import buttons, layouts
from app.widgets.text.labels import Text

MANY = 8  # number of entries from which the search field is shown


class HistoryView(Panel):
    def __init__(self, history: History, parent: QWidget | None = None) -> None:
        super().__init__((), parent)
        self.history = history
        self._last: Input | None = None  # selected input, kept while the rows change
        self.search = QLineEdit()
        self.search.setPlaceholderText(self.tr("Search inputs"))
        self.search.setClearButtonEnabled(True)
        self.search.setAccessibleName(self.tr("Search inputs"))
        self.entries = Entries(history, self)
        self.list = _List(self._on_open, self._on_remove)
        self.list.setModel(self.entries)
        self.list.setItemDelegate(Rows(self.entries, self.list))
        self.list.setAccessibleName(self.tr("Inputs"))
        self.nothing = Text("", "muted")
        self.look = buttons.plain(self.tr("&Open"), self._on_open)
        self.pin = buttons.plain(self.tr("&Pin"), self._on_pin, "pin")
        self.beside = buttons.plain(self.tr("&Compare with this"), self._on_compare, "columns-2")
        self.remove = buttons.plain(self.tr("R&emove"), self._on_remove, "trash-2")
        grid = QGridLayout()
        grid.setSpacing(SPACE)
        for number, button in enumerate((self.look, self.pin, self.beside, self.remove)):
            button.setMinimumWidth(0)
            grid.addWidget(button, number // 2, number % 2)
        layouts.column(
            self.search,
            (self.list, 1),
            self.nothing,
            grid,
            parent=self,
            spacing=2 * SPACE,
            margins=(2 * SPACE, 2 * SPACE, 0, 0),
        )
        self.search.textChanged.connect(self.entries.search)
        self.entries.modelReset.connect(self._on_entries)
        self.list.selectionModel().currentChanged.connect(self._on_chosen)
        self.list.doubleClicked.connect(lambda _: self._on_open())
        self._on_entries()

    def chosen(self) -> Entry | None:
        """The selected entry."""
        entry = self.list.currentIndex().data(ENTRY)
        return entry if isinstance(entry, Entry) else None

    def choose(self, row: int) -> None:
        self.list.setCurrentIndex(self.entries.index(row))

    def _on_entries(self) -> None:
        count = len(self.history.entries)
        self.search.setVisible(count > MANY or bool(self.search.text()))
        found = bool(self.entries.rows)
        self.list.setVisible(found)
        self.nothing.setVisible(not found)
        self.nothing.setText(
            self.tr("No matching inputs.")
            if count
            else self.tr("Inputs you view for two seconds are saved here.")
        )
        if self._last is not None:
            self._choose_input(self._last)
        self._on_chosen()

    def _on_chosen(self) -> None:
        entry = self.chosen()
        self._last = entry.input if entry is not None else self._last
        for button in (self.look, self.pin, self.beside, self.remove):
            button.setEnabled(entry is not None)
        self.pin.setText(self.tr("Un&pin") if entry and entry.pinned else self.tr("&Pin"))
        self.pin.setAccessibleName(self.pin.text().replace("&", ""))

    def _on_open(self) -> None:
        entry = self.chosen()
        if entry is not None:
            self.history.open(entry)

    def _on_pin(self) -> None:
        entry = self.chosen()
        if entry is not None:
            self.history.pin(entry, not entry.pinned)

    def _on_compare(self) -> None:
        entry = self.chosen()
        if entry is not None:
            self.history.compare(entry)

    def _on_remove(self) -> None:
        entry, row = self.chosen(), self.list.currentIndex().row()
        if entry is not None:
            self.history.remove(entry)
            self.choose(min(row, len(self.entries.rows) - 1))

    def _choose_input(self, wanted: Input) -> None:
        """Select the row of an input again."""
        for row, each in enumerate(self.entries.rows):
            if each.input == wanted:
                self.choose(row)


class _List(QListView):
    """Enter opens, Delete removes."""

    def __init__(self, opens: Callable[[], None], removes: Callable[[], None]) -> None:
        super().__init__()
        self._acts = {
            Qt.Key.Key_Return: opens,
            Qt.Key.Key_Enter: opens,
            Qt.Key.Key_Delete: removes,
            Qt.Key.Key_Backspace: removes,
        }
        self.setMouseTracking(True)
        self.setUniformItemSizes(True)
        self.setVerticalScrollMode(QListView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        act = self._acts.get(Qt.Key(event.key()))
        if act is not None:
            act()
        else:
            super().keyPressEvent(event)
