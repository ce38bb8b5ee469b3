"""A combo box of keys with titles."""

from collections.abc import Iterable

from PySide6.QtCore import QSignalBlocker, Signal
from PySide6.QtWidgets import QComboBox

from app.widgets.forms.controls import ComboBox


class ChoiceBox(ComboBox):
    """A combo box as wide as its entries; the keys are of any type.

    Signals:
        chosen: the key of an entry that the user picked.
    """

    chosen = Signal(object)

    def __init__(self, name: str, entries: Iterable[tuple[object, str]] = ()) -> None:
        super().__init__()
        self.setAccessibleName(name)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.activated.connect(lambda _: self.chosen.emit(self.currentData()))
        self.show_entries(entries)

    def show_entries(self, entries: Iterable[tuple[object, str]]) -> None:
        """Replace the entries if they differ, without a signal."""
        new = list(entries)
        if new != [(self.itemData(n), self.itemText(n)) for n in range(self.count())]:
            with QSignalBlocker(self):
                self.clear()
                for key, title in new:
                    self.addItem(title, key)

    def choose(self, key: object) -> None:
        """Show the entry of a key, or the first, without a signal."""
        keys = [self.itemData(n) for n in range(self.count())]
        with QSignalBlocker(self):
            self.setCurrentIndex(keys.index(key) if key in keys else 0)
