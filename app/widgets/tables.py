"""What all tables and models of rows have in common."""

from PySide6.QtCore import (
    QCoreApplication,
    QEvent,
    QItemSelectionModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    Qt,
)
from PySide6.QtGui import QGuiApplication, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QAbstractButton, QAbstractItemView, QTableView

Index = QModelIndex | QPersistentModelIndex
NOWHERE = QModelIndex()  # the parent of all rows of a flat model
# How a model says where its cells stand: as numbers, for a flag takes Qt five times as long.
AT_LEFT = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
AT_RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
MEASURED_ROWS = 30  # beside those in sight, for the width of a column; Qt's 1,000 hold the window


def dress(table: QTableView, name: str) -> None:
    """Name a table and give it our habits: whole rows, one line each, Tab leads out of it."""
    table.setAccessibleName(name)
    table.installEventFilter(_Copier(table))
    select_by_first_key(table)
    table.setTabKeyNavigation(False)
    table.setWordWrap(False)
    table.setShowGrid(False)
    table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
    table.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
    left = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
    table.horizontalHeader().setDefaultAlignment(left)
    table.horizontalHeader().setResizeContentsPrecision(MEASURED_ROWS)
    table.setCornerButtonEnabled(False)
    corner = table.findChild(QAbstractButton)
    if isinstance(corner, QAbstractButton):
        corner.setAccessibleName(QCoreApplication.translate("tables", "Corner of the table"))


def select_by_first_key(table: QTableView) -> None:
    """Let the first press of Up or Down select the row that is current, where none is selected.

    A table that gets the focus makes its first row current and selects nothing; Qt would go on from
    there to the second, and with a single row nowhere.
    """
    table.installEventFilter(_FirstKey(table))


class _FirstKey(QObject):
    def eventFilter(self, table: QObject, event: QEvent) -> bool:
        if not isinstance(event, QKeyEvent) or event.type() != QEvent.Type.KeyPress:
            return False
        assert isinstance(table, QTableView)
        current, selection = table.currentIndex(), table.selectionModel()
        moves = event.key() in (Qt.Key.Key_Up, Qt.Key.Key_Down)
        plain = not event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier  # a Mac's arrows
        selects = table.selectionMode() != QTableView.SelectionMode.NoSelection
        if not (moves and plain and selects and current.isValid()) or selection.hasSelection():
            return False
        flags = QItemSelectionModel.SelectionFlag
        selection.select(current, flags.Select | flags.Rows)
        return True


class _Copier(QObject):
    """Copies a cell as it is, where its model has that as EditRole: with its line breaks."""

    def eventFilter(self, table: QObject, event: QEvent) -> bool:
        is_copy = isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress
        if not is_copy or not event.matches(QKeySequence.StandardKey.Copy):  # type: ignore[attr-defined]
            return False
        assert isinstance(table, QTableView)
        cell = table.currentIndex().data(Qt.ItemDataRole.EditRole)
        if cell is None:
            return False
        QGuiApplication.clipboard().setText(str(cell))
        return True
