"""What all tables and models of rows have in common."""

from PySide6.QtCore import QCoreApplication, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtWidgets import QAbstractButton, QAbstractItemView, QTableView

Index = QModelIndex | QPersistentModelIndex
NOWHERE = QModelIndex()  # the parent of all rows of a flat model


def dress(table: QTableView, name: str) -> None:
    """Name a table and give it our habits: whole rows, one line each, Tab leads out of it."""
    table.setAccessibleName(name)
    table.setTabKeyNavigation(False)
    table.setWordWrap(False)
    table.setShowGrid(False)
    table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
    table.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
    table.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
    left = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
    table.horizontalHeader().setDefaultAlignment(left)
    table.setCornerButtonEnabled(False)
    corner = table.findChild(QAbstractButton)
    if isinstance(corner, QAbstractButton):
        corner.setAccessibleName(QCoreApplication.translate("tables", "Corner of the table"))
