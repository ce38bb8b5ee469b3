"""Whether a widget can be used by ear and by keyboard, and shows foreign text as text."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractScrollArea,
    QAbstractSpinBox,
    QComboBox,
    QLabel,
    QLineEdit,
    QScrollArea,
    QScrollBar,
    QTabBar,
    QTableView,
    QWidget,
)

# parts that Qt makes for itself and that speak through their owner
PARTS = (QAbstractSpinBox, QComboBox, QLineEdit, QTabBar, QTableView)


def assert_accessible(widget: QWidget) -> None:
    """Fail with a list of every control without a name and every label that reads markup.

    Hidden controls count as well: they are shown sooner or later.
    """
    faults = [fault for each in [widget, *widget.findChildren(QWidget)] for fault in _faults(each)]
    assert not faults, "\n".join(faults)


def name_of(widget: QWidget) -> str:
    """What a screen reader says of `widget`."""
    interface = QAccessible.queryAccessibleInterface(widget)
    told = interface.text(QAccessible.Text.Name) if interface is not None else ""
    return str(told or widget.accessibleName())


def _faults(widget: QWidget) -> list[str]:
    where = f"{type(widget).__name__} in {type(widget.parentWidget()).__name__}"
    if isinstance(widget, QLabel):
        plain = widget.textFormat() == Qt.TextFormat.PlainText or not widget.text()
        return [] if plain else [f"{where} would read markup: {widget.text()[:60]!r}"]
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
