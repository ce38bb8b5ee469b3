"""Which runs the table shows: those that fit the search and the filter, sorted."""

from enum import IntEnum

from PySide6.QtCore import QObject, QSortFilterProxyModel, Qt

from app.pages.runs.columns import COLUMNS, Column
from app.pages.runs.rows import RunRow
from app.pages.runs.table import ROW_ROLE
from app.widgets import run_texts
from app.widgets.tables import Index


class Shown(IntEnum):
    """Which runs are shown."""

    ALL = 0
    ACTIVE = 1
    FINISHED = 2
    STOPPED_OR_FAILED = 3
    STARRED = 4


class RunsFilter(QSortFilterProxyModel):
    """The rows that fit the search and the filter, sorted."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._words: list[str] = []
        self._shown = Shown.ALL
        self.setDynamicSortFilter(True)

    def search(self, text: str) -> None:
        """Show the runs in which every word of `text` occurs."""
        self.beginFilterChange()
        self._words = text.casefold().split()
        self.endFilterChange()

    def show_only(self, shown: Shown) -> None:
        self.beginFilterChange()
        self._shown = shown
        self.endFilterChange()

    def lessThan(self, left: Index, right: Index) -> bool:
        """By the order of the column; runs of which it says nothing come last, whichever way."""
        order = COLUMNS[Column(left.column())].order
        one, other = order(left.data(ROW_ROLE)), order(right.data(ROW_ROLE))
        if one is not None and other is not None:
            return bool(one < other)
        last = one if self.sortOrder() == Qt.SortOrder.DescendingOrder else other
        return (one is None) != (other is None) and last is None

    def filterAcceptsRow(self, number: int, parent: Index) -> bool:
        row = self.sourceModel().index(number, 0, parent).data(ROW_ROLE)
        if not isinstance(row, RunRow) or not self._is_shown(row):
            return False
        task = f"{row.task} {run_texts.task_title(row.task)}"
        state = f"{row.state} {run_texts.state_text(row.state)}"
        text = f"{row.name} {row.notes} {row.data} {row.base_model} {task} {state}".casefold()
        return all(word in text for word in self._words)

    def _is_shown(self, row: RunRow) -> bool:
        match self._shown:
            case Shown.ALL:
                return True
            case Shown.ACTIVE:
                return row.is_active
            case Shown.FINISHED:
                return row.state == "finished"
            case Shown.STOPPED_OR_FAILED:
                return row.can_resume or row.state == "unreadable"
            case Shown.STARRED:
                return row.star
