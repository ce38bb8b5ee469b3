"""Accessibility of a widget: names for screen readers, keyboard access, foreign text shown
literally.

Everything clickable is reached by Tab, or by arrows within a choice, and Tab leaves it again.
"""

from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractScrollArea,
    QAbstractSpinBox,
    QComboBox,
    QHeaderView,
    QLabel,
    QLineEdit,
    QMenu,
    QPlainTextEdit,
    QScrollArea,
    QScrollBar,
    QTabBar,
    QTableView,
    QTextEdit,
    QWidget,
)

from app.palette import Palette
from app.widgets.page import Card
from app.widgets.text.word_effects import WordRow

# controls whose inner widgets Qt creates; screen readers read the control
PARTS = (QAbstractSpinBox, QComboBox, QLineEdit, QTabBar, QTableView)


def assert_accessible(widget: QWidget) -> None:
    """Fail with a list of controls without a name, controls that no key reaches or that trap
    Tab, and labels that render markup.

    Includes hidden controls.
    """
    children = widget.findChildren(QWidget)
    faults = [fault for part in [widget, *children] for fault in _faults(part)]
    assert not faults, "\n".join(faults)


def accessible_name(widget: QWidget) -> str:
    interface = QAccessible.queryAccessibleInterface(widget)
    name = interface.text(QAccessible.Text.Name) if interface is not None else ""
    return str(name or widget.accessibleName())


def _faults(widget: QWidget) -> list[str]:
    position = f"{type(widget).__name__} in {type(widget.parentWidget()).__name__}"
    if isinstance(widget, QLabel):
        plain = widget.textFormat() == Qt.TextFormat.PlainText or not widget.text()
        return [] if plain else [f"{position} would render markup: {widget.text()[:60]!r}"]
    label = f"{position} ({accessible_name(widget) or widget.objectName() or 'no name'})"
    if _is_clickable(widget) and not _is_reachable(widget):
        return [f"{label} can be clicked, but no key reaches it"]
    if _traps_tab(widget):
        return [f"{label} traps Tab"]
    if not _takes_focus(widget) or accessible_name(widget):
        return []
    return [f"{position} has no accessible name ({widget.objectName() or 'no object name'})"]


def _takes_focus(widget: QWidget) -> bool:
    parent = widget.parentWidget()
    if isinstance(parent, PARTS) and isinstance(widget, QLineEdit | QAbstractButton):
        return False
    if parent is not None and isinstance(parent.parentWidget(), QComboBox):
        return False  # the list that a box opens
    if isinstance(widget, QScrollArea | QScrollBar) or widget.isWindow():
        return False
    if isinstance(parent, QAbstractScrollArea) and widget is parent.viewport():
        return False
    controls = QAbstractButton | QComboBox | QAbstractSpinBox | QLineEdit
    return widget.focusPolicy() != Qt.FocusPolicy.NoFocus or isinstance(widget, controls)


def _is_clickable(widget: QWidget) -> bool:
    """True for Qt's controls, and for widgets of ours that handle mouse buttons."""
    is_passive = (
        isinstance(widget, Card | WordRow) and widget.focusPolicy() == Qt.FocusPolicy.NoFocus
    )
    if is_passive or _is_part(widget):  # these two react to clicks only if they take focus
        return False
    if isinstance(widget, QMenu):  # it gets focus when it opens
        return False
    handles_mouse = any(
        "mousePressEvent" in vars(kind) or "mouseReleaseEvent" in vars(kind)
        for kind in type(widget).__mro__
        if kind.__module__.startswith("app.")
    )
    controls = QAbstractButton | QComboBox | QAbstractSpinBox | QLineEdit | QAbstractItemView
    return handles_mouse or isinstance(widget, controls)


def _is_reachable(widget: QWidget) -> bool:
    """True if Tab reaches it, or the arrows of an exclusive choice that Tab reaches."""
    target = widget.focusProxy() or widget
    if target.focusPolicy() & Qt.FocusPolicy.TabFocus:
        return True
    parent = widget.parentWidget()
    if parent is None:
        return False
    siblings = [child for child in parent.children() if type(child) is type(widget)]
    return isinstance(widget, QAbstractButton | Card) and any(
        sibling.focusPolicy() & Qt.FocusPolicy.TabFocus for sibling in siblings
    )


def _traps_tab(widget: QWidget) -> bool:
    if isinstance(widget, QPlainTextEdit | QTextEdit):
        return not widget.tabChangesFocus()
    return isinstance(widget, QTableView) and widget.tabKeyNavigation()


def _is_part(widget: QWidget) -> bool:
    """True for parts that Qt creates inside a control, and those used from a nearby field."""
    parent = widget.parentWidget()
    if widget.objectName().startswith("qt_dockwidget_"):
        return True  # the menu of panels does the same
    if isinstance(parent, Palette) or isinstance(widget.window(), Palette):
        return not isinstance(widget, QLineEdit)  # the arrows of the field move through the list
    while parent is not None:
        if isinstance(parent, (*PARTS, QHeaderView)) or (
            isinstance(parent, QAbstractScrollArea) and widget is parent.viewport()
        ):
            return True
        parent = parent.parentWidget()
    return isinstance(widget, QHeaderView | QScrollBar)
