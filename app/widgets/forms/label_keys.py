"""Keys for labels: shown as buttons, pressed in the table, applied to all selected rows."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QObject, QRect, QRectF, Qt, Signal
from PySide6.QtGui import QFont, QIcon, QIconEngine, QKeyEvent, QPainter
from PySide6.QtWidgets import QApplication, QPushButton, QWidget

from app import theme
from app.resources import DrawnIcon
from app.theme import SPACE, Role
from app.widgets import buttons, layouts
from app.widgets.page import clear
from app.widgets.text.labels import plain_menu_text, tooltip
from app.widgets.text.wrapping import WrapArea

KEYS = "123456789qwertyuiop"  # of the most frequent labels
MAX_KEYS = len(KEYS)
DIGITS, MINUS = "0123456789", "-"
FIRST_SPECIAL_KEY = Qt.Key.Key_Escape  # keys before it are characters
MAX_LABEL_CHARACTERS = 18  # on a button


class LabelKeys(QWidget):
    """Buttons for the first labels with their keys: 1 to 9, then q to p, or the label itself.

    Key 0 removes the label; if 0 is a label, minus does.

    Signals:
        pressed: the chosen label, "" for none.
    """

    pressed = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.labels: tuple[str, ...] = ()
        self._keys: dict[str, str] = {}  # label of each key, "" for none
        self._rows = layouts.column(parent=self)
        self.hide()

    def show_labels(self, labels: Sequence[str], none: str) -> None:
        """Show labels; `none` is the text for no label, "" if each row needs one."""
        self.labels = tuple(labels[:MAX_KEYS])
        are_keys = set(self.labels) <= set(DIGITS)
        self._keys = dict(zip(self.labels if are_keys else KEYS, self.labels, strict=False))
        no_label = MINUS if "0" in self._keys else "0"
        clear(self._rows)
        row = WrapArea(gap=2 * SPACE)
        self._rows.addWidget(row)
        for key, label in self._keys.items():
            row.add(self._button(key, label, label))
        if none:
            row.add(self._button(no_label, none, ""))
        self._keys[no_label] = ""
        self.setVisible(bool(self.labels))

    def watch(self, table: QWidget) -> None:
        """Enable the keys while `table` has the focus."""
        KeyFilter(table, self._on_key)

    def find_label(self, key: int) -> str | None:
        """Label of a key, "" for none; None if the key has no function."""
        return self._keys.get(chr(key).lower()) if key < FIRST_SPECIAL_KEY else None

    def _on_key(self, event: QKeyEvent) -> bool:
        modifiers = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        if modifiers != Qt.KeyboardModifier.NoModifier or not self.labels:
            return False
        label = self.find_label(event.key())
        if label is None:
            return False
        self.pressed.emit(label)
        return True

    def _button(self, key: str, title: str, label: str) -> QPushButton:
        is_long = len(title) > MAX_LABEL_CHARACTERS
        text = f"{title[:MAX_LABEL_CHARACTERS]}…" if is_long else title
        button = buttons.plain(plain_menu_text(text))
        if key != label:
            button.setIcon(QIcon(_KeyIconEngine(key)))
            button.setIconSize(buttons.text_icon_size())
        button.setAccessibleName(
            self.tr("Label selected rows “{0}” (key {1})").format(title[:100], key)
        )
        button.setToolTip(tooltip(button.accessibleName()))
        button.clicked.connect(lambda _=False: self.pressed.emit(label))
        return button


class KeyFilter(QObject):
    """Calls `handle` for keys pressed in a widget; it returns True if it handled the key."""

    def __init__(self, widget: QWidget, handle: Callable[[QKeyEvent], bool]) -> None:
        super().__init__(widget)
        self._handle = handle
        widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        is_key = isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress
        return is_key and self._handle(event)  # type: ignore[arg-type]


class _KeyIconEngine(DrawnIcon):
    """Draws the key at any size, left-aligned in a wider rectangle."""

    def __init__(self, character: str) -> None:
        super().__init__()
        self._character = character

    def paint(self, painter: QPainter, rect: QRect, mode: QIcon.Mode, _: QIcon.State) -> None:
        is_off = mode == QIcon.Mode.Disabled
        side = min(rect.width(), rect.height())
        top = rect.top() + (rect.height() - side) / 2
        key = QRectF(rect.left(), top, side, side).adjusted(0.5, 0.5, -0.5, -0.5)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(theme.colour(Role.DISABLED if is_off else Role.EDGE))
        painter.drawRoundedRect(key, side / 5, side / 5)
        font = QFont(QApplication.font())
        font.setPixelSize(max(round(side * 0.7), 1))
        painter.setFont(font)
        painter.setPen(theme.colour(Role.DISABLED if is_off else Role.MUTED))
        painter.drawText(key, Qt.AlignmentFlag.AlignCenter, self._character)
        painter.restore()

    def clone(self) -> QIconEngine:
        return _KeyIconEngine(self._character)
