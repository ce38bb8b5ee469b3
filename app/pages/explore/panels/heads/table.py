"""Table model with a row per head, sorted by a column."""

from typing import Any

import numpy as np
from PySide6.QtCore import QAbstractTableModel, Qt

from app.pages.explore.panels.heads.state import SHARE, HeadsState
from app.resources import mono_font
from app.widgets.tables import AT_LEFT, AT_RIGHT, NOWHERE, Index
from app.widgets.text.labels import tooltip

HEAD, PATTERN, FIRST = 0, 1, 2  # columns


class HeadRows(QAbstractTableModel):
    """`order` holds layer and head of each row."""

    def __init__(self, state: HeadsState) -> None:
        super().__init__(state)
        self._state = state
        self._keys: tuple[str, ...] = ()
        self._sorted: tuple[str, Qt.SortOrder] = (SHARE, Qt.SortOrder.DescendingOrder)
        self.order: list[tuple[int, int]] = []

    def take(self) -> None:
        """Update from the state."""
        new = self._state.keys
        if new != self._keys:
            self.beginResetModel()
            self._keys = new
            self._order()
            self.endResetModel()
            return
        self.layoutAboutToBeChanged.emit()
        self._order()
        self.layoutChanged.emit()

    def section_of(self, key: str) -> int:
        return FIRST + self._keys.index(key) if key in self._keys else -1

    def key_of(self, section: int) -> str:
        """Key of a column of numbers; “” for the others."""
        return self._keys[section - FIRST] if FIRST <= section < self.columnCount() else ""

    def row_of(self, layer: int, head: int) -> int:
        """Row of a head, or -1."""
        return self.order.index((layer, head)) if (layer, head) in self.order else -1

    def rowCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() else len(self.order)

    def columnCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() or not self._keys else FIRST + len(self._keys)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        layer, head = self.order[index.row()]
        key = self.key_of(index.column())
        if role == Qt.ItemDataRole.DisplayRole:
            if index.column() == HEAD:
                return f"{layer + 1}.{head + 1}"
            if index.column() == PATTERN:
                return self._state.pattern(layer, head)
            return self._state.cell(key, layer, head)
        if role == Qt.ItemDataRole.ToolTipRole and key:
            return tooltip(self._state.told(key, layer, head))
        if role == Qt.ItemDataRole.FontRole:
            return mono_font()
        if role == Qt.ItemDataRole.TextAlignmentRole and key:
            return AT_RIGHT
        return None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation != Qt.Orientation.Horizontal or section >= self.columnCount():
            return None
        key = self.key_of(section)
        if role == Qt.ItemDataRole.DisplayRole:
            if section == HEAD:
                return self.tr("Head")
            return self._state.name(key) if key else self.tr("Pattern")
        if role == Qt.ItemDataRole.InitialSortOrderRole:
            first = Qt.SortOrder.AscendingOrder if section == HEAD else Qt.SortOrder.DescendingOrder
            return first.value
        if role == Qt.ItemDataRole.ToolTipRole and key:
            return tooltip(self._state.meaning(key))
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return AT_RIGHT if key else AT_LEFT
        return None

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        key = SHARE if column == PATTERN else self.key_of(column)
        self._sorted = key, order
        self.layoutAboutToBeChanged.emit()
        self._order()
        self.layoutChanged.emit()
        if key:
            self._state.show_column(key)

    def _order(self) -> None:
        """Heads without a number come last, equal ones by layer."""
        layers, heads = self._state.size if self._keys else (0, 0)
        every = list(np.ndindex(layers, heads))
        key, order = self._sorted
        falls = order == Qt.SortOrder.DescendingOrder
        if key in self._keys:
            values = self._state.ends(key)[0]
            signed = np.where(np.isfinite(values), -values if falls else values, np.inf)
            every.sort(key=lambda one: (signed[one], one))
        elif falls:
            every.reverse()
        self.order = [(layer, head) for layer, head in every]
