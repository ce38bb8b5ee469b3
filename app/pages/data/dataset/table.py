"""The rows of a data set as an item model that reads them when they come into sight."""

from collections import OrderedDict
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QObject, Qt

from app.pages.data.cells import heading, one_line, roles_in
from app.pages.data.dataset.state import PAGE_ROWS, DatasetState
from app.resources import mono_font
from app.theme import Role, colour
from app.widgets.data_texts import split_title
from app.widgets.tables import NOWHERE, Index
from app.widgets.text import tooltip, visible
from engine.spec.dataset import SPLITS

CACHED_PAGES = 30
OWN_COLUMNS = 2  # before those of the source: line and split
SPLIT_COLUMN = 1


class RowsModel(QAbstractTableModel):
    """Line, split, then the columns of the source. A row that is not read yet shows “…”."""

    def __init__(self, state: DatasetState, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._state = state
        self._rows = 0
        self._roles = roles_in(state.spec.mapping)
        self._pages: OrderedDict[int, list[tuple[str, ...]]] = OrderedDict()
        state.found.connect(self._on_found)
        state.page_read.connect(self._on_page_read)
        self._on_found()

    def rowCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() else self._rows

    def columnCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() else OWN_COLUMNS + len(self._state.columns)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        match role:
            case Qt.ItemDataRole.DisplayRole if index.column() == SPLIT_COLUMN:
                return self._split(self._cell(index))
            case Qt.ItemDataRole.DisplayRole:
                return one_line(self._cell(index))
            case Qt.ItemDataRole.EditRole:
                return self._cell(index)
            case Qt.ItemDataRole.ToolTipRole:
                return tooltip(self._cell(index))
            case Qt.ItemDataRole.ForegroundRole if self._is_aside(index.column()):
                return colour(Role.MUTED)
            case Qt.ItemDataRole.FontRole if index.column() == 0:
                return mono_font()
            case Qt.ItemDataRole.TextAlignmentRole if index.column() == 0:
                return int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        return None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation != Qt.Orientation.Horizontal:
            return None
        if section >= OWN_COLUMNS:
            columns = self._state.columns
            inside = section - OWN_COLUMNS < len(columns)
            return heading(columns[section - OWN_COLUMNS], self._roles, role) if inside else None
        if role == Qt.ItemDataRole.DisplayRole:
            return (self.tr("Line"), self.tr("Split"))[section]
        if role == Qt.ItemDataRole.TextAlignmentRole and section == 0:
            return int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        return None

    def whole_row(self, row: int) -> list[tuple[str, str]]:
        """Names and cells of a row, each cell cut as the table keeps it; empty while it is read."""
        page = self._pages.get(row // PAGE_ROWS)
        if page is None or row % PAGE_ROWS >= len(page):
            return []
        cells = page[row % PAGE_ROWS][OWN_COLUMNS:]
        names = (visible(column[:100]) for column in self._state.columns)
        return list(zip(names, (visible(cell) for cell in cells), strict=True))

    def _cell(self, index: Index) -> str:
        number = index.row() // PAGE_ROWS
        page = self._pages.get(number)
        if page is None:
            self._state.read_page(number)
            return "…"
        self._pages.move_to_end(number)
        row = index.row() % PAGE_ROWS
        cell = page[row][index.column()] if row < len(page) else ""
        split = next((split for split in SPLITS if split == cell), None)
        return split_title(split) if split and index.column() == 1 else cell

    def _split(self, cell: str) -> str:
        """A split by its title; a cell that is not read yet stays as it is."""
        return next((split_title(name) for name in SPLITS if name == cell), cell)

    def _is_aside(self, column: int) -> bool:
        return column < OWN_COLUMNS or self._state.columns[column - OWN_COLUMNS] not in self._roles

    def _on_found(self) -> None:
        if self._state.is_seeking:
            return  # the rows before stay until the new ones are there
        self.beginResetModel()
        self._pages.clear()
        self._rows = len(self._state.numbers)
        self.endResetModel()

    def _on_page_read(self, number: int, rows: list[tuple[str, ...]]) -> None:
        self._pages[number] = rows
        while len(self._pages) > CACHED_PAGES:
            self._pages.popitem(last=False)
        first, last = number * PAGE_ROWS, min((number + 1) * PAGE_ROWS, self._rows) - 1
        if first <= last:
            self.dataChanged.emit(self.index(first, 0), self.index(last, self.columnCount() - 1))
