"""Accessibility of a widget: names for screen readers, keyboard access, foreign text shown
literally.

Tab reaches everything that can be clicked, or arrows do within a choice, and Tab leaves it again.
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
from app.widgets.text.word_effects import Words

# parts that Qt makes for itself and that speak through their owner
PARTS = (QAbstractSpinBox, QComboBox, QLineEdit, QTabBar, QTableView)


def assert_accessible(widget: QWidget) -> None:
    """Fail with a list of controls without a name, controls that no key reaches or that Tab never
    leaves, and labels that read markup.

    Hidden controls count as well.
    """
    faults = [fault for each in [widget, *widget.findChildren(QWidget)] for fault in _faults(each)]
    assert not faults, "\n".join(faults)


def name_of(widget: QWidget) -> str:
    """Accessible name of `widget`."""
    interface = QAccessible.queryAccessibleInterface(widget)
    name = interface.text(QAccessible.Text.Name) if interface is not None else ""
    return str(name or widget.accessibleName())


def _faults(widget: QWidget) -> list[str]:
    where = f"{type(widget).__name__} in {type(widget.parentWidget()).__name__}"
    if isinstance(widget, QLabel):
        plain = widget.textFormat() == Qt.TextFormat.PlainText or not widget.text()
        return [] if plain else [f"{where} would read markup: {widget.text()[:60]!r}"]
    named = f"{where} ({name_of(widget) or widget.objectName() or 'no name'})"
    if _is_clicked(widget) and not _is_reached(widget):
        return [f"{named} can be clicked, and no key reaches it"]
    if _keeps_tab(widget):
        return [f"{named} keeps Tab for itself"]
    if not _takes_focus(widget) or name_of(widget):
        return []
    return [f"{where} has no accessible name ({widget.objectName() or 'no object name'})"]


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


def _is_clicked(widget: QWidget) -> bool:
    """True if a click does something: for Qt's widgets, and ours that say so."""
    is_idle = isinstance(widget, Card | Words) and widget.focusPolicy() == Qt.FocusPolicy.NoFocus
    if is_idle or _is_part(widget):  # these two take clicks only if they take the focus
        return False
    if isinstance(widget, QMenu):  # it gets the focus when it opens
        return False
    ours = any(
        "mousePressEvent" in vars(kind) or "mouseReleaseEvent" in vars(kind)
        for kind in type(widget).__mro__
        if kind.__module__.startswith("app.")
    )
    controls = QAbstractButton | QComboBox | QAbstractSpinBox | QLineEdit | QAbstractItemView
    return ours or isinstance(widget, controls)


def _is_reached(widget: QWidget) -> bool:
    """True if Tab reaches it, or the arrows of an exclusive choice that Tab reaches."""
    target = widget.focusProxy() or widget
    if target.focusPolicy() & Qt.FocusPolicy.TabFocus:
        return True
    parent = widget.parentWidget()
    if parent is None:
        return False
    alike = [child for child in parent.children() if type(child) is type(widget)]
    return isinstance(widget, QAbstractButton | Card) and any(
        child.focusPolicy() & Qt.FocusPolicy.TabFocus for child in alike
    )


def _keeps_tab(widget: QWidget) -> bool:
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
