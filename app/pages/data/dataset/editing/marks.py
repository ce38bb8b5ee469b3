"""Marks of rows: skipped, unsure, flagged, and a note; shown as buttons, pressed in the table."""

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QIcon, QKeyEvent
from PySide6.QtWidgets import QLineEdit, QPushButton, QWidget

from app.theme import px
from app.widgets import buttons
from app.widgets.forms.label_keys import KeyFilter, KeyIconEngine
from app.widgets.text.labels import tooltip
from engine.data.datasets.coding import RowCoding

NOTE_WIDTH = 180  # px
NOTE_KEY = "#"
MARK_KEYS = {"skipped": " ", "unsure": "?", "flagged": "!"}


class MarkKeys(QObject):
    """Buttons that show and set the marks of the current row, and a field for its note.

    `widgets` are to be laid out.

    Signals:
        toggled: name of a mark, and whether it is now on.
        noted: the text of a note.
    """

    toggled = Signal(str, bool)
    noted = Signal(str)

    def __init__(self, table: QWidget, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._table = table
        self.buttons: dict[str, QPushButton] = {}
        texts = {
            "skipped": (self.tr("Skip"), self.tr("Skip the row (Space)"), "␣"),
            "unsure": (self.tr("Unsure"), self.tr("Unsure of the label (key ?)"), "?"),
            "flagged": (self.tr("Flag"), self.tr("Flag the row (key !)"), "!"),
        }
        for name, (title, hint, character) in texts.items():
            self.buttons[name] = self._button(title, hint, character, partial(self._toggle, name))
            self.buttons[name].setCheckable(True)
        self.field = QLineEdit()
        self.field.setAccessibleName(self.tr("Note on the row"))
        self.field.setPlaceholderText(self.tr("Note ({0}), then Enter").format(NOTE_KEY))
        self.field.setMaxLength(1_000)
        self.field.setFixedWidth(px(NOTE_WIDTH))
        self.field.returnPressed.connect(self._on_note)
        KeyFilter(self.field, self._on_field_key)
        self.widgets: tuple[QWidget, ...] = (*self.buttons.values(), self.field)
        self._note = ""

    def return_to(self, widget: QWidget) -> None:
        """Give the focus to another widget than the table after a note."""
        self._table = widget

    def show_row(self, coding: RowCoding) -> None:
        """Show the marks and the note of a row; a note that is being written stays."""
        for name, button in self.buttons.items():
            button.setChecked(bool(getattr(coding, name)))
        if coding.note != self._note:
            self._end_note()
        self._note = coding.note
        if not self.field.hasFocus():
            self.field.setText(coding.note)

    def press(self, key: str) -> bool:
        """Act on a character pressed in the table; False if it is not the key of a mark."""
        name = next((name for name, own in MARK_KEYS.items() if own == key), None)
        if name is not None:
            self.buttons[name].click()
        elif key == NOTE_KEY:
            self.begin_note()
        return name is not None or key == NOTE_KEY

    def begin_note(self) -> None:
        self.field.setFocus()
        self.field.selectAll()

    def _toggle(self, name: str) -> None:
        self.toggled.emit(name, self.buttons[name].isChecked())

    def _on_note(self) -> None:
        text = self.field.text().strip()
        self._end_note()
        self.noted.emit(text)

    def _on_field_key(self, event: QKeyEvent) -> bool:
        if event.key() != Qt.Key.Key_Escape:
            return False
        self.field.setText(self._note)
        self._end_note()
        return True

    def _end_note(self) -> None:
        if self.field.hasFocus():
            self._table.setFocus()

    def _button(
        self, title: str, hint: str, character: str, act: Callable[[], object]
    ) -> QPushButton:
        button = buttons.plain(title, act)
        button.setIcon(QIcon(KeyIconEngine(character)))
        button.setIconSize(buttons.text_icon_size())
        button.setAccessibleName(hint)
        button.setToolTip(tooltip(hint))
        return button
