"""Item model of the first rows with their predictions."""

from typing import Any

from PySide6.QtCore import QAbstractTableModel, QObject, Qt
from PySide6.QtGui import QFont

from app.theme import Role, colour
from app.widgets.tables import NOWHERE, Index
from app.widgets.text.labels import tooltip, visible
from engine.messages.applying import FirstPredicted

SHOWN_CHARACTERS = 200  # of a cell


class FirstTable(QAbstractTableModel):
    """All columns of the file, then the predicted ones, whose headings are bold."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._first: FirstPredicted | None = None

    def show_first(self, first: FirstPredicted | None) -> None:
        self.beginResetModel()
        self._first = first
        self.endResetModel()

    def rowCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() or self._first is None else len(self._first.rows)

    def columnCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() or self._first is None else len(self._first.columns)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or self._first is None:
            return None
        cell = self._first.rows[index.row()][index.column()]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return visible(cell[:SHOWN_CHARACTERS]).replace("\n", " ")
            case Qt.ItemDataRole.EditRole:
                return cell
            case Qt.ItemDataRole.ToolTipRole:
                return tooltip(cell)
            case Qt.ItemDataRole.ForegroundRole if not self._is_predicted(index.column()):
                return colour(Role.MUTED)
        return None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if self._first is None:
            return None
        if orientation == Qt.Orientation.Vertical:
            return str(section + 1) if role == Qt.ItemDataRole.DisplayRole else None
        if section >= len(self._first.columns):
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return visible(self._first.columns[section][:SHOWN_CHARACTERS]).replace("\n", " ")
        if role == Qt.ItemDataRole.FontRole and self._is_predicted(section):
            font = QFont()
            font.setBold(True)
            return font
        return None

    def _is_predicted(self, column: int) -> bool:
        assert self._first is not None
        return column >= len(self._first.columns) - self._first.predicted
