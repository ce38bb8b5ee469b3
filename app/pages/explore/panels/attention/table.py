"""The strongest links of the chosen heads as rows: to read, to sort by eye, for screen readers."""

from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, Qt
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QWidget

from app.pages.explore.panels.attention.description import link_rows, value_name
from app.pages.explore.panels.attention.state import AttentionState
from app.resources import mono_font
from app.widgets.tables import AT_RIGHT, NOWHERE, Index
from app.widgets.text.numbers import decimal


class LinkTableRows(QAbstractTableModel):
    """Which head, where there are several, from, to, and the number; the strongest first."""

    def __init__(self, state: AttentionState) -> None:
        super().__init__(state)
        self._state = state
        self._take()
        state.links_changed.connect(self._on_links)

    def rowCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() else len(self._links.values)

    def columnCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() else len(self._header)

    def ends(self, row: int) -> tuple[int, int]:
        """The tokens of a link: query, and key."""
        return int(self._links.rows[row]), int(self._links.columns[row])

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self._cells(index.row())[index.column()]
        if role == Qt.ItemDataRole.FontRole:
            return mono_font()
        if role == Qt.ItemDataRole.TextAlignmentRole and self._is_value(index.column()):
            return AT_RIGHT
        return None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        is_across = orientation == Qt.Orientation.Horizontal
        if role == Qt.ItemDataRole.DisplayRole and is_across and section < len(self._header):
            return self._header[section]
        if role == Qt.ItemDataRole.TextAlignmentRole and self._is_value(section):
            return AT_RIGHT
        return super().headerData(section, orientation, role)

    def _is_value(self, column: int) -> bool:
        return column == len(self._header) - 1

    def _cells(self, row: int) -> tuple[str, ...]:
        links = self._links
        ends = tuple(f"{self._numbers[end] + 1:>3}  {self._names[end]}" for end in self.ends(row))
        cells = (*ends, decimal(float(links.values[row])))
        return (self._heads[int(links.heads[row])], *cells) if len(self._heads) > 1 else cells

    def _take(self) -> None:
        state = self._state
        self._links, self._heads = link_rows(state), state.head_names
        self._names, self._numbers = state.names, state.numbers
        head = (self.tr("Head"),) if len(self._heads) > 1 else ()
        self._header = (*head, self.tr("Query token"), self.tr("Key token"), value_name(state))

    def _on_links(self) -> None:
        self.beginResetModel()
        self._take()
        self.endResetModel()


class LinkTable(QTableView):
    """Shows the links; the row that is current is pointed at in the pictures as well."""

    def __init__(self, state: AttentionState, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._state = state
        self.rows = LinkTableRows(state)
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
