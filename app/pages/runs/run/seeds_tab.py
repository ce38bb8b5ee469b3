"""The runs of one job, side by side: its seeds, or the rows of a layer sweep; what came of them."""

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, Qt, Signal
from PySide6.QtWidgets import QHeaderView, QTableView, QVBoxLayout, QWidget

from app import resources
from app.pages.runs.rows import RunRow
from app.pages.runs.state import RunsState
from app.pages.runs.table import Index, finished, group_of, row_of, spread_of
from app.theme import SPACE
from app.widgets import numbers
from app.widgets import run_texts as run_words
from app.widgets.tables import dress
from app.widgets.text import Text

NOWHERE = QModelIndex()
COLUMNS = 7
VECTORS, SEED, STATE, BEST, SPREAD = range(5)


class SeedsTable(QAbstractTableModel):
    """Vectors and seed, state, best figure with its step, spread, and time of each run."""

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
            self.tr("Vectors"),
            self.tr("Seed"),
            self.tr("State"),
            self.tr("Best"),
            self.tr("Over seeds"),
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
        if role == Qt.ItemDataRole.DecorationRole and index.column() == STATE:
            return resources.icon(*run_words.ICONS[row.state])
        if role != Qt.ItemDataRole.DisplayRole:
            return None
        cells = (
            row_of(row)[1],
            str(row.job.training.seed) if row.job else "",
            run_words.state_word(row.state),
            ""
            if row.best_metric is None
            else run_words.metric_value(row.best_metric_name, row.best_metric),
            spread_of([other for other in self.rows if row_of(other) == row_of(row)]),
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
        rows = [row for row in rows if row.job is not None and row.job.group is not None]
        self.model.show_rows(sorted(rows, key=_place))
        part = rows[0].job.group if rows and rows[0].job else None
        is_bench = part is not None and bool(part.vectors)
        has_seeds = part is not None and part.runs > max(1, len(part.vectors))
        self.table.setColumnHidden(VECTORS, not is_bench)
        for column in (SEED, SPREAD):
            self.table.setColumnHidden(column, not has_seeds)
        self.together.setText(self._told_of_bench(rows) if is_bench else self._told(rows))

    def _told(self, rows: list[RunRow]) -> str:
        figures = finished(rows)
        first = rows[0].job if rows else None
        if first is None or first.group is None:
            return ""
        if not figures:
            return self.tr("None of the {0} runs is finished yet.").format(first.group.runs)
        name = next(row.best_metric_name for row in rows if row.best_metric is not None)
        template = self.tr(
            "{0}: {1} (mean and standard deviation of {2} finished runs; {3} were asked for)"
        )
        return template.format(
            run_words.metric_word(name).capitalize(),
            spread_of(rows),
            len(figures),
            first.group.runs,
        )

    def _told_of_bench(self, rows: list[RunRow]) -> str:
        first = rows[0].job
        assert first is not None and first.group is not None
        ended = sum(row.state == "finished" for row in rows)
        template = self.tr("Layer bench: {0} of {1} runs are finished. {2} is what is compared.")
        names = [row.best_metric_name for row in rows if row.best_metric is not None]
        if not names:
            template = self.tr("Layer bench: {0} of {1} runs are finished.")
            return template.format(ended, first.group.runs)
        name = run_words.metric_word(names[0]).capitalize()
        return template.format(ended, first.group.runs, name)

    def _on_activated(self, index: QModelIndex) -> None:
        self.opened.emit(self.model.rows[index.row()].id)


def _place(row: RunRow) -> tuple[int, int]:
    """As the job has them: by vectors, then by seed."""
    if row.job is None or row.job.group is None:
        return 0, 0
    vectors = row.job.group.vectors
    known = row.job.features.vectors in vectors
    return vectors.index(row.job.features.vectors) if known else 0, row.job.training.seed
