"""A combo box in which several columns can be chosen."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from app.widgets.checkable_menu import CheckableMenu
from app.widgets.combo_box import ComboBox
from app.widgets.text import visible

NAME_CHARACTERS = 100  # of a column in the menu
SHOWN_CHARACTERS = 40  # of each that is chosen


class SeveralColumns(ComboBox):
    """Says which columns are chosen; its popup is a menu to tick them in.

    Signals:
        changed: others are chosen, by hand.
    """

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.addItem("")
        self._columns: tuple[str, ...] = ()
        self._chosen: frozenset[str] = frozenset()
        self.menu = CheckableMenu(self)
        self.menu.aboutToShow.connect(self.fill)
        self._say()

    def showPopup(self) -> None:
        self.menu.setMinimumWidth(self.width())
        self.menu.popup(self.mapToGlobal(self.rect().bottomLeft()))

    def show_columns(self, columns: tuple[str, ...], chosen: tuple[str, ...]) -> None:
        """Offer these columns and tick the chosen ones, without a signal."""
        if columns != self._columns:
            self._columns = columns
            self.menu.clear()
        self._chosen = frozenset(chosen)
        for column, action in zip(self._columns, self.menu.actions(), strict=False):
            action.setChecked(column in self._chosen)
        self._say()

    def chosen(self) -> tuple[str, ...]:
        """In the order of the file."""
        return tuple(column for column in self._columns if column in self._chosen)

    def fill(self) -> None:
        """Make the entries of the menu, when it is opened: there may be thousands."""
        if self.menu.actions():
            return
        for column in self._columns:
            action = self.menu.addAction(_named(column, NAME_CHARACTERS).replace("&", "&&"))
            action.setCheckable(True)
            action.setChecked(column in self._chosen)
            action.triggered.connect(lambda on, column=column: self._on_ticked(column, on))

    def _on_ticked(self, column: str, on: bool) -> None:
        self._chosen = self._chosen | {column} if on else self._chosen - {column}
        self._say()
        self.changed.emit()

    def _say(self) -> None:
        names = ", ".join(_named(column, SHOWN_CHARACTERS) for column in self.chosen())
        self.setItemText(0, names or self.tr("none"))


def _named(column: str, characters: int) -> str:
    return visible(column[:characters]).replace("\n", " ")
