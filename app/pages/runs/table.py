"""The table of all runs: an item model over the rows."""

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import (
    QAbstractTableModel,
    QObject,
    Qt,
    Signal,
)

from app import resources
from app.pages.runs.columns import COLUMNS, Column
from app.pages.runs.groups import group_of, seeds_key
from app.pages.runs.rows import RunRow
from app.theme import Role
from app.widgets.tables import NOWHERE, Index
from app.widgets.text import tooltip, visible

ROW_ROLE = Qt.ItemDataRole.UserRole
LONGEST_CELL = 300  # characters


class RunsTable(QAbstractTableModel):
    """Rows that are replaced one by one, so that a selection stays where it is.

    Signals:
        renamed: id of a run and the name that the user typed for it.
    """

    renamed = Signal(str, str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: list[RunRow] = []
        self._seeds: dict[tuple[str, str], list[RunRow]] = {}  # runs that differ only in the seed
        self._places: dict[str, int] = {}

    def show_rows(self, rows: Sequence[RunRow]) -> None:
        """Show these instead of all others."""
        self.beginResetModel()
        self._rows = list(rows)
        self._number()
        self.endResetModel()

    def show_row(self, row: RunRow) -> None:
        """Replace the row of this run, or add it at the top."""
        place = self._places.get(row.id)
        if place is None:
            self.beginInsertRows(NOWHERE, 0, 0)
            self._rows.insert(0, row)
            self._number()
            self.endInsertRows()
        elif self._rows[place] != row:
            self._rows[place] = row
            self._number()
            self.dataChanged.emit(self.index(place, 0), self.index(place, len(Column) - 1))
        for other in self._seeds_of(row):  # their mean is another now
            index = self.index(self._places[other.id], Column.SEEDS)
            self.dataChanged.emit(index, index)

    def remove_row(self, run_id: str) -> None:
        place = self._places.get(run_id)
        if place is not None:
            self.beginRemoveRows(NOWHERE, place, place)
            del self._rows[place]
            self._number()
            self.endRemoveRows()

    def place(self, run_id: str) -> int:
        """Which row shows this run; -1 where none does."""
        return self._places.get(run_id, -1)

    def _number(self) -> None:
        self._places = {row.id: number for number, row in enumerate(self._rows)}
        self._seeds = {}
        for row in self._rows:
            if group_of(row):
                self._seeds.setdefault(seeds_key(row), []).append(row)

    def _seeds_of(self, row: RunRow) -> list[RunRow]:
        return self._seeds.get(seeds_key(row), [])

    def has_groups(self) -> bool:
        """Whether some run is one of several seeds."""
        return bool(self._seeds)

    # ── what Qt asks ─────────────────────────────────────────────────────────────────────────

    def rowCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() else len(self._rows)

    def columnCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() else len(Column)

    def flags(self, index: Index) -> Qt.ItemFlag:
        if not index.isValid():
            return Qt.ItemFlag.NoItemFlags
        usual = super().flags(index) | Qt.ItemFlag.ItemNeverHasChildren
        if index.column() == Column.NAME:
            return usual | Qt.ItemFlag.ItemIsEditable
        return usual

    def headerData(
        self,
        section: int,
        orientation: Qt.Orientation,
        role: int = Qt.ItemDataRole.DisplayRole,
    ) -> Any:
        if orientation != Qt.Orientation.Horizontal or not 0 <= section < len(Column):
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return COLUMNS[Column(section)].title()
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        row, column = self._rows[index.row()], Column(index.column())
        facts = COLUMNS[column]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return self._text(row, column).replace("\n", " ")
            case Qt.ItemDataRole.EditRole:
                return row.name if column is Column.NAME else None
            case Qt.ItemDataRole.ToolTipRole:
                seeds = self._seeds_of(row)
                return tooltip(facts.tooltip(row, seeds) or facts.text(row, seeds))
            case Qt.ItemDataRole.AccessibleTextRole:
                return f"{facts.title()}: {self._text(row, column)}"
            case Qt.ItemDataRole.DecorationRole if column is Column.NAME and row.star:
                return resources.icon("star", Role.WARN)
            case _ if role == ROW_ROLE:
                return row
        return None

    def _text(self, row: RunRow, column: Column) -> str:
        return visible(COLUMNS[column].text(row, self._seeds_of(row))[:LONGEST_CELL])

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        name = str(value).strip()
        if role != Qt.ItemDataRole.EditRole or index.column() != Column.NAME or not name:
            return False
        row = self._rows[index.row()]
        if name != row.name:
            self.renamed.emit(row.id, name)
        return True
