"""Item model of the first rows of a file."""

from typing import Any

from PySide6.QtCore import QAbstractTableModel, QObject, Qt

from app.pages.data.cells import heading, one_line
from app.pages.data.importing.roles import Roles
from app.theme import Role, colour
from app.widgets.tables import NOWHERE, Index
from app.widgets.text.labels import tooltip
from engine.data.formats.reading import FirstRows


class PreviewModel(QAbstractTableModel):
    """Rows as read; headers show the roles of columns, row headers the line numbers."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._preview = FirstRows((), [], ())
        self._roles: dict[str, str] = {}

    def show_preview(self, preview: FirstRows) -> None:
        self.beginResetModel()
        self._preview = preview
        self.endResetModel()

    def show_roles(self, roles: Roles) -> None:
        self._roles = roles.columns
        last = self.columnCount() - 1
        if last >= 0:
            self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, last)
            bottom = self.index(self.rowCount() - 1, last)
            self.dataChanged.emit(self.index(0, 0), bottom, [Qt.ItemDataRole.ForegroundRole])

    def rowCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() else len(self._preview.rows)

    def columnCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() else len(self._preview.columns)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return one_line(self._cell(index))
            case Qt.ItemDataRole.EditRole:
                return self._cell(index)
            case Qt.ItemDataRole.ToolTipRole:
                return tooltip(self._cell(index))
            case Qt.ItemDataRole.ForegroundRole if not self._is_used(index.column()):
                return colour(Role.MUTED)
        return None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation == Qt.Orientation.Vertical:
            if role == Qt.ItemDataRole.DisplayRole and section < len(self._preview.rows):
                return str(self._preview.rows[section].line)
            return None
        if section >= len(self._preview.columns):
            return None
        return heading(self._preview.columns[section], self._roles, role)

    def _cell(self, index: Index) -> str:
        cells = self._preview.rows[index.row()].cells
        return cells[index.column()] if index.column() < len(cells) else ""

    def _is_used(self, column: int) -> bool:
        return self._preview.columns[column] in self._roles
