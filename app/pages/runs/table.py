"""The table of all runs: an item model over the rows, and what is shown of them."""

from collections.abc import Sequence
from enum import IntEnum
from typing import Any

from PySide6.QtCore import (
    QAbstractTableModel,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QSortFilterProxyModel,
    Qt,
    Signal,
)

from app import resources
from app.pages.runs import texts as words
from app.pages.runs.rows import RunRow
from app.theme import Role
from app.widgets import numbers
from app.widgets import run_texts as run_words
from app.widgets.text import tooltip, visible
from engine.runs.groups import spread

Index = QModelIndex | QPersistentModelIndex
ROW = Qt.ItemDataRole.UserRole
SORT = Qt.ItemDataRole.UserRole + 1
NOWHERE = QModelIndex()
LONGEST = 300  # characters of a cell


class Column(IntEnum):
    """The columns in their first order."""

    STATE = 0
    NAME = 1
    TASK = 2
    DATA = 3
    START = 4
    BEST = 5
    LOSS = 6
    PROGRESS = 7
    TIME = 8
    STARTED = 9
    SPREAD = 10  # shown right of BEST, where there are runs of several seeds


class RunsTable(QAbstractTableModel):
    """Rows that are replaced one by one, so that a selection stays where it is.

    Signals:
        renamed: id of a run and the name that the user typed for it.
    """

    renamed = Signal(str, str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: list[RunRow] = []
        self._groups: dict[tuple[str, str], list[RunRow]] = {}
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
        for other in self._groups.get(row_of(row), []):  # their spread is another now
            index = self.index(self._places[other.id], Column.SPREAD)
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
        self._groups = {}
        for row in self._rows:
            if group_of(row):
                self._groups.setdefault(row_of(row), []).append(row)

    def has_groups(self) -> bool:
        """Whether some run is one of several seeds."""
        return bool(self._groups)

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
            return self._title(Column(section))
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        row, column = self._rows[index.row()], Column(index.column())
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return visible(self._text(row, column)[:LONGEST]).replace("\n", " ")
            case Qt.ItemDataRole.EditRole:
                return row.name if column is Column.NAME else None
            case Qt.ItemDataRole.ToolTipRole:
                return tooltip(self._more(row, column))
            case Qt.ItemDataRole.AccessibleTextRole:
                text = visible(self._text(row, column)[:LONGEST])
                return f"{self._title(column)}: {text}"
            case Qt.ItemDataRole.DecorationRole if column is Column.NAME and row.star:
                return resources.icon("star", Role.WARN)
            case _ if role == ROW:
                return row
            case _ if role == SORT:
                return _sorted_by(row, column)
        return None

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        name = str(value).strip()
        if role != Qt.ItemDataRole.EditRole or index.column() != Column.NAME or not name:
            return False
        row = self._rows[index.row()]
        if name != row.name:
            self.renamed.emit(row.id, name)
        return True

    # ── words ────────────────────────────────────────────────────────────────────────────────

    def _title(self, column: Column) -> str:
        titles = {
            Column.STATE: self.tr("State"),
            Column.NAME: self.tr("Name"),
            Column.TASK: self.tr("Task"),
            Column.DATA: self.tr("Data"),
            Column.START: self.tr("Start"),
            Column.BEST: self.tr("Best"),
            Column.LOSS: self.tr("Loss"),
            Column.PROGRESS: self.tr("Progress"),
            Column.TIME: self.tr("Time"),
            Column.STARTED: self.tr("Started"),
            Column.SPREAD: self.tr("Over seeds"),
        }
        return titles[column]

    def _text(self, row: RunRow, column: Column) -> str:
        match column:
            case Column.STATE:
                return run_words.state_word(row.state)
            case Column.NAME:
                return row.name
            case Column.TASK:
                return run_words.task_word(row.task)
            case Column.DATA:
                return row.data
            case Column.START:
                return row.start
            case Column.BEST:
                if row.best_metric is None:
                    return ""
                return run_words.metric_value(row.best_metric_name, row.best_metric)
            case Column.LOSS:
                return numbers.decimal(row.losses[-1], 3) if row.losses else ""
            case Column.PROGRESS:
                return numbers.percent(row.share, 0) if row.steps else ""
            case Column.TIME:
                if row.seconds_left is not None:
                    return self.tr("{0} left").format(numbers.duration(row.seconds_left))
                return numbers.duration(row.seconds) if row.seconds else ""
            case Column.STARTED:
                return words.day(row.started or row.created)
            case Column.SPREAD:
                return spread_of(self._groups.get(row_of(row), []))

    def _more(self, row: RunRow, column: Column) -> str:
        """What a tooltip adds to a cell."""
        match column:
            case Column.STATE if row.problem:
                return f"{row.problem} {row.advice}".strip()
            case Column.NAME if row.notes:
                return f"{row.name}\n{row.notes}"
            case Column.BEST if row.best_metric is not None:
                template = self.tr("{0} at step {1}")
                name = run_words.metric_word(row.best_metric_name)
                return template.format(name, numbers.count(row.best_step))
            case Column.PROGRESS if row.steps:
                template = self.tr("step {0} of {1}")
                return template.format(numbers.count(row.step), numbers.count(row.steps))
            case Column.STARTED:
                return words.moment(row.started or row.created)
            case Column.SPREAD if row.job is not None and row.job.group is not None:
                template = self.tr(
                    "Mean and standard deviation of the best figure; {0} of {1} runs are finished"
                )
                part, runs = row.job.group, self._groups.get(row_of(row), [])
                asked = part.runs // max(1, len(part.vectors))
                return template.format(len(finished(runs)), asked)
        return self._text(row, column)


def group_of(row: RunRow) -> str:
    """What the runs of one job have in common; empty for a run that is alone."""
    return row.job.group.id if row.job is not None and row.job.group is not None else ""


def row_of(row: RunRow) -> tuple[str, str]:
    """The group of a run, and in a layer sweep which vectors it reads."""
    is_bench = row.job is not None and row.job.group is not None and row.job.group.vectors
    return group_of(row), row.job.features.vectors if row.job and is_bench else ""


def finished(rows: Sequence[RunRow]) -> list[float]:
    """The best figures of the runs that are finished."""
    ended = [row.best_metric for row in rows if row.state == "finished"]
    return [figure for figure in ended if figure is not None]


def spread_of(rows: Sequence[RunRow]) -> str:
    """Mean ± standard deviation of the best figures of a group; empty where none is finished."""
    found = spread(finished(rows))
    if found is None:
        return ""
    name = next(row.best_metric_name for row in rows if row.best_metric is not None)
    mean = run_words.metric_value(name, found.mean)
    if found.deviation is None:
        return mean
    return f"{mean} ± {run_words.metric_value(name, found.deviation)}"


def _sorted_by(row: RunRow, column: Column) -> Any:
    """What a column is sorted by; numbers by their size, runs without one last."""
    match column:
        case Column.STATE:
            return list(run_words.ICONS).index(row.state) if row.state in run_words.ICONS else 99
        case Column.NAME:
            return row.name.casefold()
        case Column.TASK:
            return row.task
        case Column.DATA:
            return row.data.casefold()
        case Column.START:
            return row.start.casefold()
        case Column.BEST:
            return -1.0 if row.best_metric is None else row.best_metric
        case Column.LOSS:
            return row.losses[-1] if row.losses else float("inf")
        case Column.PROGRESS:
            return row.share
        case Column.TIME:
            return row.seconds
        case Column.STARTED:
            return (row.started or row.created).timestamp()
        case Column.SPREAD:
            return group_of(row)


class Shown(IntEnum):
    """Which runs are shown."""

    ALL = 0
    ACTIVE = 1
    FINISHED = 2
    ENDED_EARLY = 3
    STARRED = 4


class RunsFilter(QSortFilterProxyModel):
    """The rows that fit the search and the filter, sorted."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._words: list[str] = []
        self._shown = Shown.ALL
        self.setSortRole(SORT)
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

    def filterAcceptsRow(self, number: int, parent: Index) -> bool:
        row = self.sourceModel().index(number, 0, parent).data(ROW)
        if not isinstance(row, RunRow) or not self._is_shown(row):
            return False
        task = f"{row.task} {run_words.task_word(row.task)}"
        state = f"{row.state} {run_words.state_word(row.state)}"
        text = f"{row.name} {row.notes} {row.data} {row.start} {task} {state}".casefold()
        return all(word in text for word in self._words)

    def _is_shown(self, row: RunRow) -> bool:
        match self._shown:
            case Shown.ALL:
                return True
            case Shown.ACTIVE:
                return row.is_active
            case Shown.FINISHED:
                return row.state == "finished"
            case Shown.ENDED_EARLY:
                return row.can_resume
            case Shown.STARRED:
                return row.star
