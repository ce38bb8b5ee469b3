"""The runs of one job with several seeds, side by side, and what came of them together."""

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, Qt, Signal
from PySide6.QtWidgets import QHeaderView, QTableView, QVBoxLayout, QWidget

from app import resources
from app.pages.runs.rows import RunRow
from app.pages.runs.state import RunsState
from app.pages.runs.table import Index, finished, group_of, spread_of
from app.theme import SPACE
from app.widgets import numbers, run_words
from app.widgets.tables import dress
from app.widgets.text import Text

NOWHERE = QModelIndex()
COLUMNS = 5


class SeedsTable(QAbstractTableModel):
    """Seed, state, best figure with its step, and time of each run."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.rows: list[RunRow] = []

    def show_rows(self, rows: Sequence[RunRow]) -> None:
        if list(rows) != self.rows:
            self.beginResetModel()
            self.rows = list(rows)
            self.endResetModel()

    def rowCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() else len(self.rows)

    def columnCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() else COLUMNS

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        titles = (
            self.tr("Seed"),
            self.tr("State"),
            self.tr("Best"),
            self.tr("At step"),
            self.tr("Time"),
        )
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return titles[section] if 0 <= section < COLUMNS else None
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        row = self.rows[index.row()]
        if role == Qt.ItemDataRole.DecorationRole and index.column() == 1:
            return resources.icon(*run_words.ICONS[row.state])
        if role != Qt.ItemDataRole.DisplayRole:
            return None
        cells = (
            str(row.job.training.seed) if row.job else "",
            run_words.state_word(row.state),
            ""
            if row.best_metric is None
            else run_words.metric_value(row.best_metric_name, row.best_metric),
            numbers.count(row.best_step) if row.best_step else "",
            numbers.duration(row.seconds) if row.seconds else "",
        )
        return cells[index.column()]


class SeedsTab(QWidget):
    """Signals:
    opened: the id of the run that the user wants to see.
    """

    opened = Signal(str)

    def __init__(self, runs: RunsState) -> None:
        super().__init__()
        self._runs = runs
        self._group = ""
        self.together = Text("", "strong")
        self.model = SeedsTable(self)
        self.table = QTableView()
        self.table.setModel(self.model)
        dress(self.table, self.tr("Runs of this job"))
        self.table.verticalHeader().hide()
        self.table.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        self.table.activated.connect(self._on_activated)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 3 * SPACE, 0, 0)
        column.setSpacing(3 * SPACE)
        column.addWidget(self.together)
        column.addWidget(self.table, 1)
        runs.listed.connect(self._show)
        runs.changed.connect(self._on_changed)
        runs.removed.connect(lambda _: self._show())

    def show_run(self, row: RunRow) -> None:
        """Show the runs that belong to this one."""
        self._group = group_of(row)
        self._show()

    def _on_changed(self, row: RunRow) -> None:
        if group_of(row) == self._group:
            self._show()

    def _show(self) -> None:
        rows = [row for row in self._runs.rows.values() if self._group == group_of(row)]
        rows = [row for row in rows if row.job is not None and row.job.part is not None]
        self.model.show_rows(sorted(rows, key=_seed))
        self.together.setText(self._told(rows))

    def _told(self, rows: list[RunRow]) -> str:
        figures = finished(rows)
        first = rows[0].job if rows else None
        if first is None or first.part is None:
            return ""
        if not figures:
            return self.tr("None of the {0} runs is finished yet.").format(first.part.runs)
        name = next(row.best_metric_name for row in rows if row.best_metric is not None)
        template = self.tr(
            "{0}: {1} (mean and standard deviation of {2} finished runs; {3} were asked for)"
        )
        return template.format(
            run_words.metric_word(name).capitalize(),
            spread_of(rows),
            len(figures),
            first.part.runs,
        )

    def _on_activated(self, index: QModelIndex) -> None:
        self.opened.emit(self.model.rows[index.row()].id)


def _seed(row: RunRow) -> int:
    return row.job.training.seed if row.job else 0
