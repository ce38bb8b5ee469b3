"""The strongest links of a head as rows: for reading, sorting by the eye, and screen readers."""

from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, Qt
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QWidget

from app.pages.explore.panels.attention.state import AttentionState
from app.resources import mono_font
from app.widgets.chips import painted
from app.widgets.numbers import decimal
from app.widgets.tables import NOWHERE, Index


class LinkRows(QAbstractTableModel):
    """From, to, weight; the strongest first."""

    def __init__(self, state: AttentionState) -> None:
        super().__init__(state)
        self._state = state
        self._links, self._tokens, self._numbers = state.links, state.tokens, state.numbers
        state.links_changed.connect(self._on_links)

    def rowCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() else len(self._links.weights)

    def columnCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() else 3

    def ends(self, row: int) -> tuple[int, int]:
        """The tokens of a link: query, and key."""
        return int(self._links.rows[row]), int(self._links.columns[row])

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self._cell(index.row(), index.column())
        if role == Qt.ItemDataRole.FontRole:
            return mono_font()
        if role == Qt.ItemDataRole.TextAlignmentRole and index.column() == 2:
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        return None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if role == Qt.ItemDataRole.DisplayRole and orientation == Qt.Orientation.Horizontal:
            return (self.tr("Query token"), self.tr("Key token"), self.tr("Weight"))[section]
        if role == Qt.ItemDataRole.TextAlignmentRole and section == 2:
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        return super().headerData(section, orientation, role)

    def _cell(self, row: int, column: int) -> str:
        if column == 2:
            return decimal(float(self._links.weights[row]))
        end = self.ends(row)[column]
        return f"{self._numbers[end] + 1:>3}  {painted(self._tokens[end].text)}"

    def _on_links(self) -> None:
        self.beginResetModel()
        state = self._state
        self._links, self._tokens, self._numbers = state.links, state.tokens, state.numbers
        self.endResetModel()


class LinkTable(QTableView):
    """Shows the links; the row that is current is pointed at in the pictures as well."""

    def __init__(self, state: AttentionState, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._state = state
        self.rows = LinkRows(state)
        self.setModel(self.rows)
        self.setAccessibleName(self.tr("Strongest links"))
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.setShowGrid(False)
        self.setTabKeyNavigation(False)
        self.verticalHeader().hide()
        header = self.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        header.setDefaultAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        self.selectionModel().currentRowChanged.connect(self._on_current)

    def _on_current(self, now: QModelIndex) -> None:
        if now.isValid():
            self._state.point(*self.rows.ends(now.row()))
