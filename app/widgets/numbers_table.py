"""A small table of texts and numbers."""

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, Qt, Signal
from PySide6.QtWidgets import QHeaderView, QTableView, QWidget

from app.resources import mono_font
from app.widgets.tables import AT_LEFT, AT_RIGHT, NOWHERE, Index, apply_style


class Rows(QAbstractTableModel):
    """Texts in columns; `numeric` columns are right-aligned."""

    def __init__(self, numeric: Sequence[int], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.header: tuple[str, ...] = ()
        self.rows: tuple[tuple[str, ...], ...] = ()
        self.first_numeric = min(numeric, default=99)

    def show_rows(self, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        new = tuple(header), tuple(tuple(row) for row in rows)
        if new != (self.header, self.rows):
            self.beginResetModel()
            self.header, self.rows = new
            self.endResetModel()

    def rowCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() else len(self.rows)

    def columnCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() else len(self.header)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self.rows[index.row()][index.column()]
        if role == Qt.ItemDataRole.FontRole:
            return mono_font()
        return self._side(index.column()) if role == Qt.ItemDataRole.TextAlignmentRole else None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation != Qt.Orientation.Horizontal or section >= len(self.header):
            return super().headerData(section, orientation, role)
        if role == Qt.ItemDataRole.DisplayRole:
            return self.header[section]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return self._side(section)
        return super().headerData(section, orientation, role)

    def _side(self, column: int) -> int:
        return AT_RIGHT if column >= self.first_numeric else AT_LEFT


class NumbersTable(QTableView):
    """A small table of texts and numbers.

    Signals:
        row_picked: index of the row that became current by mouse or keyboard.
    """

    row_picked = Signal(int)

    def __init__(self, name: str, numeric_from: int) -> None:
        super().__init__()
        self.rows = Rows((numeric_from,), self)
        self.setModel(self.rows)
        apply_style(self, name)
        self.verticalHeader().hide()
        self.selectionModel().currentRowChanged.connect(self._on_current)

    def show_rows(
        self,
        header: Sequence[str],
        rows: Sequence[Sequence[str]],
        numeric_from: int | None = None,
    ) -> None:
        """Show rows; the current row stays. `numeric_from`: first right-aligned column."""
        current = self.currentIndex().row()
        if numeric_from is not None:
            self.rows.first_numeric = numeric_from
        self.rows.show_rows(header, rows)
        line = self.horizontalHeader()
        line.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        if header:
            line.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        if 0 <= current < len(rows):
            self.selectionModel().blockSignals(True)
            self.selectRow(current)
            self.selectionModel().blockSignals(False)

    def _on_current(self, now: QModelIndex) -> None:
        if now.isValid():
            self.row_picked.emit(now.row())
