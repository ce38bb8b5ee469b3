"""Keys for labels and marks: shown as buttons, pressed in the table, applied to selected rows."""

from collections.abc import Callable, Mapping, Sequence

from PySide6.QtCore import QEvent, QObject, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFont, QIcon, QIconEngine, QKeyEvent, QPainter, QPen
from PySide6.QtWidgets import (
    QApplication,
    QFrame,
    QLineEdit,
    QMenu,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QWidget,
)

from app import theme
from app.resources import DrawnIcon
from app.theme import CHART, SPACE, Role, px
from app.widgets import buttons, layouts
from app.widgets.forms.controls import Completer
from app.widgets.page import clear
from app.widgets.text.labels import one_line, plain_menu_text, tooltip
from app.widgets.text.wrapping import WrapArea
from engine.config.codebook import Code
from engine.config.levels import Levels, Node
from engine.data.datasets.codebooks import free_keys

KEYS = "123456789qwertyuiop"  # of the first labels
MAX_KEYS = len(KEYS)
DIGITS = "0123456789"
MINUS, FIND, BY_LEVEL = "-", "/", ">"
FIND_WIDTH = 140  # px
MAX_SHOWN, MAX_HEIGHT = 12, 68  # labels without scrolling, and px of more
FIRST_SPECIAL_KEY = Qt.Key.Key_Escape  # keys before it are characters
MAX_LABEL_CHARACTERS = 18  # on a button


class LabelKeys(QWidget):
    """Buttons for the labels that have a key, and a field to find the others by typing.

    Key 0 removes the label; if 0 is a label, minus does. The slash begins to find a label. Labels
    that are paths of a hierarchy are chosen level by level, too, in a menu that > opens.

    Signals:
        pressed: the chosen label, "" for none.
        hovered: the label under the mouse or with the focus, "" when it is left.
    """

    pressed = Signal(str)
    hovered = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.labels: tuple[str, ...] = ()
        self.extras: tuple[QWidget, ...] = ()  # shown after the labels
        self._keys: dict[str, str] = {}  # label of each key, "" for none
        self._rows = layouts.column(parent=self)
        self.finder = QLineEdit()
        self.finder.setPlaceholderText(self.tr("Find a label ({0})").format(FIND))
        self.finder.setAccessibleName(self.tr("Find a label by typing"))
        self.finder.setFixedWidth(px(FIND_WIDTH))
        self.finder.returnPressed.connect(self._on_found)
        KeyFilter(self.finder, self._on_find_key)
        self._find_part: QWidget = self.finder
        self.by_level = buttons.plain(self.tr("By level ({0})").format(BY_LEVEL))
        self.tree = QMenu(self.by_level)
        self.by_level.setMenu(self.tree)
        self._table: QWidget | None = None
        self.hide()

    def show_labels(self, keys: Mapping[str, Code], labels: Sequence[str], none: str) -> None:
        """Show labels with their keys; `none` is the text for no label, "" if each row needs one.

        All `labels`, also those without a key, are found by typing.
        """
        self.labels = tuple(labels)
        self._keys = {key: code.label for key, code in keys.items()}
        no_label = MINUS if "0" in self._keys or not self._keys else "0"
        for widget in (self.finder, self.by_level, *self.extras):
            widget.setParent(None)
        clear(self._rows)
        row, is_long = WrapArea(gap=2 * SPACE), len(keys) > MAX_SHOWN
        self._rows.addWidget(_LimitedArea(row) if is_long else row)
        for key, code in keys.items():
            place = self.labels.index(code.label) if code.label in self.labels else 0
            row.add(self._button(key, code.label, code.label, code_role(code, place)))
        if none:
            row.add(self._button(no_label, none, ""))
        if is_long:
            row = WrapArea(gap=2 * SPACE)
            self._rows.addWidget(row)
        self._keys[no_label] = ""
        self._find_part = row.add(self.finder)
        hierarchy = Levels(labels)
        if hierarchy.depth > 1:
            self.tree.clear()
            self._fill(self.tree, dict(zip(hierarchy.paths, labels, strict=True)), ())
            row.add(self.by_level)
            self.by_level.show()
        for widget in self.extras:
            row.add(widget)
            widget.show()
        completer = Completer([*self.labels], self.finder)
        completer.setFilterMode(Qt.MatchFlag.MatchContains)
        completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        self.finder.setCompleter(completer)
        self._find_part.setVisible(len(self.labels) > len(keys))
        self.setVisible(bool(self.labels))

    def _fill(self, menu: QMenu, labels: Mapping[Node, str], parent: Node) -> None:
        """Add the children of a node to its menu, and the label of the node itself above them."""
        level = len(parent) + 1
        if parent in labels:
            self._add(menu, labels[parent], labels[parent])
        for node in dict.fromkeys(path[:level] for path in labels if len(path) >= level):
            below = {path: label for path, label in labels.items() if path[:level] == node}
            if below.keys() == {node}:
                self._add(menu, node[-1], below[node])
            else:
                self._fill(menu.addMenu(plain_menu_text(one_line(node[-1]))), below, node)

    def _add(self, menu: QMenu, title: str, label: str) -> None:
        action = menu.addAction(plain_menu_text(one_line(title)))
        action.triggered.connect(lambda _=False: self.pressed.emit(label))

    def watch(self, table: QWidget) -> None:
        """Enable the keys while `table` has the focus, which returns to it."""
        self.return_to(table)
        KeyFilter(table, self._on_key)

    def return_to(self, table: QWidget) -> None:
        """Give the focus to this widget after a label was found by typing."""
        self._table = table

    def find_label(self, key: int) -> str | None:
        """Label of a key, "" for none; None if the key has no function."""
        return self._keys.get(chr(key).lower()) if key < FIRST_SPECIAL_KEY else None

    def _on_key(self, event: QKeyEvent) -> bool:
        if event.text() == BY_LEVEL and not self.by_level.isHidden():
            self.tree.popup(self.by_level.mapToGlobal(self.by_level.rect().bottomLeft()))
            return True
        modifiers = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        if event.text() == FIND and self.labels:
            self.begin_finding("")
            return True
        if modifiers != Qt.KeyboardModifier.NoModifier or not self.labels:
            return False
        label = self.find_label(event.key())
        if label is None and self._begins_number(event.text()):
            self.begin_finding(event.text())
            return True
        if label is None:
            return False
        self.pressed.emit(label)
        return True

    def _begins_number(self, text: str) -> bool:
        """True for a digit of a scale with more numbers than keys."""
        return text.isdecimal() and all(label.lstrip("-").isdecimal() for label in self.labels)

    def begin_finding(self, text: str) -> None:
        """Show the field with the first characters of a label."""
        self.finder.setText(text)
        self._find_part.show()
        self.finder.setFocus()

    def _on_found(self) -> None:
        """Choose the label typed or completed, or the only one that has the text in it."""
        completer = self.finder.completer()
        popup = completer.popup() if completer is not None else None
        typed = self.finder.text().strip().casefold()
        if popup is not None and popup.isVisible() and popup.currentIndex().isValid():
            typed = str(popup.currentIndex().data()).casefold()
        exact = [label for label in self.labels if label.casefold() == typed]
        found = exact or [label for label in self.labels if typed in label.casefold()]
        if typed and (exact or len(found) == 1):
            self._end_finding()
            self.pressed.emit(found[0])

    def _on_find_key(self, event: QKeyEvent) -> bool:
        if event.key() != Qt.Key.Key_Escape:
            return False
        self._end_finding()
        return True

    def _end_finding(self) -> None:
        self.finder.clear()
        self._find_part.setVisible(len(self.labels) > len(self._keys) - 1)
        if self._table is not None:
            self._table.setFocus()

    def _button(self, key: str, title: str, label: str, role: Role = Role.MUTED) -> QPushButton:
        is_long = len(title) > MAX_LABEL_CHARACTERS
        text = f"{title[:MAX_LABEL_CHARACTERS]}…" if is_long else title
        button = buttons.plain(plain_menu_text(text))
        if key != label:
            button.setIcon(QIcon(KeyIconEngine(key, role)))
            button.setIconSize(buttons.text_icon_size())
        button.setAccessibleName(
            self.tr("Label selected rows “{0}” (key {1})").format(title[:100], key)
        )
        button.setToolTip(tooltip(button.accessibleName()))
        button.clicked.connect(lambda _=False: self.pressed.emit(label))
        HoverFilter(button, lambda on: self.hovered.emit(label if on else ""))
        return button


def assign_keys(codes: Sequence[Code], are_numbers: bool = False) -> dict[str, Code]:
    """The labels that have a key, by key: digits are their own; long scales are typed."""
    if {code.label for code in codes} <= {*DIGITS} and not any(code.key for code in codes):
        return {code.label: code for code in codes}
    return free_keys(codes, "" if are_numbers and len(codes) > len(DIGITS) else KEYS)


def code_role(code: Code, place: int) -> Role:
    """The colour of a label: its own, or by its place among all."""
    return CHART[(place if code.colour is None else code.colour - 1) % len(CHART)]


class _LimitedArea(QScrollArea):
    """Scrolls buttons that take more than `MAX_HEIGHT`."""

    def __init__(self, row: WrapArea) -> None:
        super().__init__()
        self._row = row
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setWidgetResizable(True)
        self.setWidget(row)
        self.setMaximumHeight(px(MAX_HEIGHT))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        return QSize(0, min(self._row.height(), px(MAX_HEIGHT)))


class HoverFilter(QObject):
    """Calls `handle` with True when the mouse or the focus enters a widget, with False after."""

    ENTERS = (QEvent.Type.Enter, QEvent.Type.FocusIn)
    LEAVES = (QEvent.Type.Leave, QEvent.Type.FocusOut)

    def __init__(self, widget: QWidget, handle: Callable[[bool], None]) -> None:
        super().__init__(widget)
        self._handle = handle
        widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in self.ENTERS + self.LEAVES:
            self._handle(event.type() in self.ENTERS)
        return False


class KeyFilter(QObject):
    """Calls `handle` for keys pressed in a widget; it returns True if it handled the key."""

    def __init__(self, widget: QWidget, handle: Callable[[QKeyEvent], bool]) -> None:
        super().__init__(widget)
        self._handle = handle
        widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        is_key = isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress
        return is_key and self._handle(event)  # type: ignore[arg-type]


class KeyIconEngine(DrawnIcon):
    """Draws the key at any size, left-aligned in a wider rectangle."""

    def __init__(self, character: str, role: Role = Role.MUTED) -> None:
        super().__init__()
        self._character, self._role = character, role

    def paint(self, painter: QPainter, rect: QRect, mode: QIcon.Mode, _: QIcon.State) -> None:
        is_off = mode == QIcon.Mode.Disabled
        side = min(rect.width(), rect.height())
        top = rect.top() + (rect.height() - side) / 2
        key = QRectF(rect.left(), top, side, side).adjusted(0.5, 0.5, -0.5, -0.5)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        has_colour = self._role != Role.MUTED and not is_off
        edge = self._role if has_colour else Role.DISABLED if is_off else Role.EDGE
        painter.setPen(QPen(theme.colour(edge), 2 if has_colour else 1))
        painter.drawRoundedRect(key, side / 5, side / 5)
        font = QFont(QApplication.font())
        font.setPixelSize(max(round(side * 0.7), 1))
        painter.setFont(font)
        painter.setPen(theme.colour(Role.DISABLED if is_off else Role.MUTED))
        painter.drawText(key, Qt.AlignmentFlag.AlignCenter, self._character)
        painter.restore()

    def clone(self) -> QIconEngine:
        return KeyIconEngine(self._character, self._role)
