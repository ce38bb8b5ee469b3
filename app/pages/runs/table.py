"""The item model of all runs, which filters, sorts and groups.

A proxy model works row by row, which takes seconds for ten thousand runs; this builds one list.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QMimeData, QModelIndex, QObject, Qt, Signal

from app import resources
from app.pages.runs.arranging import (
    GroupRow,
    Item,
    RunFilter,
    Test,
    best_group,
    group_rows,
    group_text,
    is_shown,
    order_after_drop,
    sort_rows,
    waiting_runs,
)
from app.pages.runs.columns import (
    DEFAULT_COLUMNS,
    Column,
    ColumnInfo,
    column_info,
    known_columns,
    seeds_tooltip,
)
from app.pages.runs.groups import best_setting, mean_and_deviation, seeds_key
from app.pages.runs.rows import RunRow
from app.theme import Role
from app.translation import tr
from app.widgets.tables import AT_LEFT, NOWHERE, Index
from app.widgets.text.labels import tooltip, visible

ROW_ROLE = Qt.ItemDataRole.UserRole
KEY_ROLE = Qt.ItemDataRole.UserRole + 1  # of a header: the key of its column
MIME_TYPE = "application/x-bert-studio-waiting-runs"  # of dragged ids, one per line
MAX_CELL_CHARACTERS = 300


class RunsTable(QAbstractTableModel):
    """The table of runs. Changed rows are replaced individually, so that the selection is kept.

    Waiting runs can be dragged while the table shows the queue: sorted by Started, without groups.

    Signals:
        renamed: id of a run and its new name.
        queue_ordered: ids of all waiting runs in their new order.
    """

    renamed = Signal(str, str)
    queue_ordered = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.keys: tuple[str, ...] = DEFAULT_COLUMNS
        self.sort_key, self.descending = str(Column.STARTED), True
        self.group_keys: tuple[str, ...] = ()
        self._rows: dict[str, RunRow] = {}
        self._items: list[Item] = []
        self._indices: dict[str, int] = {}  # row of each shown run
        self._seeds: dict[tuple[str, str, int], list[RunRow]] = {}  # runs by `seeds_key`
        self._groups: dict[str, list[RunRow]] = {}  # runs of each job
        self._best_values: tuple[object, ...] | None = None  # of the group with the best mean
        self._best: dict[str, int] = {}  # combination with the best mean score of each search
        self._open: set[tuple[object, ...]] = set()  # expanded groups
        self._passing_count = 0  # runs that pass the filter, also in collapsed groups
        self._run_filter = RunFilter.ALL
        self._test: Test = lambda row: True

    # ── rows ─────────────────────────────────────────────────────────────────────────────────

    def show_rows(self, rows: Sequence[RunRow]) -> None:
        """Replace all rows."""
        self._rows = {row.id: row for row in rows}
        self._find_seeds()
        self._rearrange()

    def show_row(self, row: RunRow) -> None:
        """Replace the row of this run, or add it."""
        old = self._rows.get(row.id)
        if old == row:
            return
        self._rows = self._rows | {row.id: row} if old else {row.id: row} | self._rows
        if row.group or (old is not None and old.group):
            self._find_seeds()
        index = self._indices.get(row.id, -1)
        if index >= 0 and old is not None and self._keeps_position(old, row):
            self._items[index] = row
            self._emit_changed(index)
        elif index >= 0 or self._accepts(row):
            self._rearrange()
        is_search = row.group and row.setting >= 0
        others = self._groups[row.group] if is_search else self._seed_runs(row)
        for other in others:  # their mean or the best among them changed
            if other.id != row.id and other.id in self._indices:
                self._emit_changed(self._indices[other.id])

    def remove_row(self, run_id: str) -> None:
        if self._rows.pop(run_id, None) is None:
            return
        self._find_seeds()
        index = self._indices.get(run_id)
        if index is None or self.group_keys:
            self._rearrange()
            return
        self.beginRemoveRows(NOWHERE, index, index)
        del self._items[index]
        self._passing_count -= 1
        self._index_rows()
        self.endRemoveRows()

    def find_row(self, run_id: str) -> int:
        """The index of a run; -1 if it is not shown."""
        return self._indices.get(run_id, -1)

    def count(self) -> tuple[int, int]:
        """Number of runs that pass the filter, and of all runs."""
        return self._passing_count, len(self._rows)

    def has_seeds(self) -> bool:
        """True if any run is one of several seeds."""
        return bool(self._seeds)

    def passing_rows(self) -> list[RunRow]:
        """The runs that pass the filter, including those in collapsed groups."""
        rows = [row for row in self._rows.values() if self._accepts(row)]
        self._passing_count = len(rows)
        return sort_rows(rows, self.sort_key, self.descending)

    def rows(self) -> Iterable[RunRow]:
        """All runs, shown or not."""
        return self._rows.values()

    # ── arrangement ──────────────────────────────────────────────────────────────────────────

    def set_filter(self, test: Test) -> None:
        """Show the runs that pass this test."""
        self._test = test
        self._rearrange()

    def show_only(self, run_filter: RunFilter) -> None:
        self._run_filter = run_filter
        self._rearrange()

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        if 0 <= column < len(self.keys):
            self.sort_key = self.keys[column]
            self.descending = order == Qt.SortOrder.DescendingOrder
            self._rearrange()

    def group_by(self, keys: Sequence[str]) -> None:
        """Group runs by equal values in these columns; empty: no groups."""
        self.group_keys = tuple(keys)
        self._open = set()
        self._rearrange()

    def toggle(self, group: GroupRow) -> None:
        """Expand or collapse a group."""
        self._open ^= {group.values}
        self._rearrange()

    def is_open(self, group: GroupRow) -> bool:
        return group.values in self._open

    def set_columns(self, keys: Sequence[str]) -> None:
        """Show these columns in this order, without unknown ones."""
        self.beginResetModel()
        self.keys = tuple(info.key for info in known_columns(keys)) or DEFAULT_COLUMNS
        self.endResetModel()

    def column(self, key: str) -> int:
        """The position of a column; -1 if it is not shown."""
        return self.keys.index(key) if key in self.keys else -1

    def rearrange(self) -> None:
        """Update after reading values that cells, order or filter depend on."""
        self._rearrange()
        if self._items:
            last = self.index(len(self._items) - 1, len(self.keys) - 1)
            self.dataChanged.emit(self.index(0, 0), last)

    def _rearrange(self) -> None:
        passing = self.passing_rows()
        rows: list[Item] = list(passing)
        if self.group_keys:
            rows, groups = [], group_rows(passing, self.group_keys)
            best = best_group(groups)
            self._best_values = best.values if best is not None else None
            for group in groups:
                rows += [group, *(group.rows if self.is_open(group) else ())]
        if rows == self._items:
            return
        self.beginResetModel()
        self._items = rows
        self._index_rows()
        self.endResetModel()

    def _keeps_position(self, old: RunRow, row: RunRow) -> bool:
        info = column_info(self.sort_key)
        has_same_key = info is None or info.sort_key(old) == info.sort_key(row)
        return has_same_key and self._accepts(row) and not self.group_keys

    def _accepts(self, row: RunRow) -> bool:
        return is_shown(row, self._run_filter) and self._test(row)

    def _index_rows(self) -> None:
        self._indices = {
            item.id: index for index, item in enumerate(self._items) if isinstance(item, RunRow)
        }

    def _find_seeds(self) -> None:
        self._seeds, self._groups, self._best = {}, {}, {}
        for row in self._rows.values():
            if row.group:
                self._seeds.setdefault(seeds_key(row), []).append(row)
                self._groups.setdefault(row.group, []).append(row)

    def is_best_group(self, group: GroupRow) -> bool:
        """True for the shown group with the best mean score."""
        return group.values == self._best_values

    def is_best(self, row: RunRow) -> bool:
        """True if a run has the best combination of its search so far."""
        group = row.group
        if not group or row.setting < 0:
            return False
        if group not in self._best:
            self._best[group] = best_setting(self._groups.get(group, ()))
        return self._best[group] == row.setting

    def _seed_runs(self, row: RunRow) -> list[RunRow]:
        return self._seeds.get(seeds_key(row), []) if row.group else []

    def _emit_changed(self, row: int) -> None:
        self.dataChanged.emit(self.index(row, 0), self.index(row, len(self.keys) - 1))

    # ── Qt interface ─────────────────────────────────────────────────────────────────────────

    def rowCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() else len(self._items)

    def columnCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() else len(self.keys)

    def flags(self, index: Index) -> Qt.ItemFlag:
        if not index.isValid():  # a drop between two rows
            droppable = Qt.ItemFlag.ItemIsDropEnabled
            return droppable if self.shows_queue() else Qt.ItemFlag.NoItemFlags
        flags = super().flags(index) | Qt.ItemFlag.ItemNeverHasChildren
        item = self._items[index.row()]
        if isinstance(item, RunRow) and item.is_waiting and self.shows_queue():
            flags |= Qt.ItemFlag.ItemIsDragEnabled
        is_name = self.keys[index.column()] == Column.NAME
        if is_name and isinstance(self._items[index.row()], RunRow):
            return flags | Qt.ItemFlag.ItemIsEditable
        return flags

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation != Qt.Orientation.Horizontal or not 0 <= section < len(self.keys):
            return None
        if role in (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole):
            return self._info(section).title()
        if role == KEY_ROLE:
            return self.keys[section]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return AT_LEFT
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        item, key = self._items[index.row()], self.keys[index.column()]
        info = self._info(index.column())
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return self._text(item, index.column()).replace("\n", " ")
            case Qt.ItemDataRole.EditRole:
                return item.name if key == Column.NAME and isinstance(item, RunRow) else None
            case Qt.ItemDataRole.ToolTipRole:
                return self._tooltip(item, index.column())
            case Qt.ItemDataRole.AccessibleTextRole:
                text = f"{info.title()}: {self._text(item, index.column())}"
                best = (
                    key == Column.BEST and self.is_best_group(item)
                    if isinstance(item, GroupRow)
                    else key == Column.SEEDS and self.is_best(item)
                )
                return tr("{0} (best)").format(text) if best else text
            case Qt.ItemDataRole.DecorationRole if (
                isinstance(item, RunRow) and key == Column.NAME and item.star
            ):
                return resources.icon("star", Role.WARN)
            case _ if role == ROW_ROLE:
                return item
        return None

    def _info(self, column: int) -> ColumnInfo:
        info = column_info(self.keys[column])
        assert info is not None  # `set_columns` removes unknown keys
        return info

    def _text(self, item: Item, column: int) -> str:
        if isinstance(item, GroupRow):
            return visible(group_text(item, self.keys[column])[:MAX_CELL_CHARACTERS])
        if self.keys[column] == Column.SEEDS:
            return visible(mean_and_deviation(self._seed_runs(item)))
        return visible(self._info(column).text(item)[:MAX_CELL_CHARACTERS])

    def _tooltip(self, item: Item, column: int) -> str:
        if isinstance(item, GroupRow):
            return tooltip(group_text(item, self.keys[column]))
        if self.keys[column] != Column.SEEDS:
            info = self._info(column)
            return tooltip(info.tooltip(item) or info.text(item))
        text = seeds_tooltip(item, self._seed_runs(item))
        if self.is_best(item):
            text = f"{text}\n{tr('The best combination of its search so far.')}"
        return tooltip(text)

    # ── the queue ────────────────────────────────────────────────────────────────────────────

    def shows_queue(self) -> bool:
        """True if waiting runs appear in queue order."""
        return self.sort_key == Column.STARTED and not self.group_keys

    def supportedDropActions(self) -> Qt.DropAction:
        return Qt.DropAction.MoveAction

    def mimeTypes(self) -> list[str]:
        return [MIME_TYPE]

    def mimeData(self, indexes: Sequence[QModelIndex]) -> QMimeData:
        rows = sorted({index.row() for index in indexes})
        items = (self._items[row] for row in rows)
        ids = [item.id for item in items if isinstance(item, RunRow) and item.is_waiting]
        data = QMimeData()
        data.setData(MIME_TYPE, "\n".join(ids).encode("utf-8"))
        return data

    def canDropMimeData(
        self, data: QMimeData, action: Qt.DropAction, row: int, column: int, parent: Index
    ) -> bool:
        return self._order_after(data, row, parent) is not None

    def dropMimeData(
        self, data: QMimeData, action: Qt.DropAction, row: int, column: int, parent: Index
    ) -> bool:
        order = self._order_after(data, row, parent)
        if order is not None:
            self.queue_ordered.emit(order)
        return False  # the rows move once the queue has changed

    def _order_after(self, data: QMimeData, row: int, parent: Index) -> list[str] | None:
        """The order of the queue after a drop above `row`; None if not possible."""
        if parent.isValid() or not data.hasFormat(MIME_TYPE):
            return None
        row = row if 0 <= row <= len(self._items) else len(self._items)  # below all rows
        run_ids = bytes(data.data(MIME_TYPE).data()).decode("utf-8").split("\n")
        queue = [item.id for item in waiting_runs(self._rows.values())]
        above = self._items[row - 1] if row else None
        below = self._items[row] if row < len(self._items) else None
        return order_after_drop(queue, run_ids, above, below)

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        name = str(value).strip()
        is_name = self.keys[index.column()] == Column.NAME
        item = self._items[index.row()]
        if role != Qt.ItemDataRole.EditRole or not is_name or not name:
            return False
        if isinstance(item, RunRow) and name != item.name:
            self.renamed.emit(item.id, name)
        return True
