"""The runs of one job, side by side: its seeds, or the rows of a layer sweep; and their scores."""

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, Qt, Signal
from PySide6.QtWidgets import QHeaderView, QTableView, QVBoxLayout, QWidget

from app import resources
from app.pages.runs.groups import (
    best_scores,
    group_of,
    mean_and_deviation,
    seeds_key,
    sweep_row_of,
)
from app.pages.runs.rows import RunRow
from app.pages.runs.state import RunsState
from app.theme import SPACE
from app.widgets import numbers, run_texts
from app.widgets.spec_texts import value_text
from app.widgets.tables import NOWHERE, Index, dress
from app.widgets.text import Text

COLUMNS = 7
FEATURES, SEED, STATE, BEST, MEAN = range(5)


class SeedsTable(QAbstractTableModel):
    """Features and seed, state, best score with its step, mean, and time of each run."""

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
            self.tr("Features"),
            self.tr("Seed"),
            self.tr("State"),
            self.tr("Best score"),
            self.tr("Mean ± SD (seeds)"),
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
            return resources.icon(*run_texts.ICONS[row.state])
        if role != Qt.ItemDataRole.DisplayRole:
            return None
        best = row.best_score
        cells = (
            value_text(sweep_row_of(row)),
            str(row.job.training.seed) if row.job else "",
            run_texts.state_text(row.state),
            "" if best is None else run_texts.score(row.best_metric, best),
            mean_and_deviation([r for r in self.rows if seeds_key(r) == seeds_key(row)]),
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
        dress(self.table, self.tr("Related runs"))
        self.table.verticalHeader().hide()
        header = self.table.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(FEATURES, QHeaderView.ResizeMode.ResizeToContents)
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
        group = rows[0].job.group if rows and rows[0].job else None
        is_sweep = group is not None and bool(group.vectors)
        has_seeds = group is not None and group.runs > max(1, len(group.vectors))
        self.table.setColumnHidden(FEATURES, not is_sweep)
        for column in (SEED, MEAN):
            self.table.setColumnHidden(column, not has_seeds)
        runs = group.runs if group is not None else 0
        self.together.setText(self._sweep(rows, runs) if is_sweep else self._seeds(rows, runs))

    def _seeds(self, rows: Sequence[RunRow], runs: int) -> str:
        """The mean over the seeds, in a sentence."""
        scores = best_scores(rows)
        if not rows:
            return ""
        if not scores:
            return self.tr("None of the {0} runs has finished yet.").format(runs)
        template = self.tr("{0}: {1} (mean ± SD of {2} finished runs, {3} in total)")
        heading = run_texts.metric_heading(_metric(rows))
        return template.format(heading, mean_and_deviation(rows), len(scores), runs)

    def _sweep(self, rows: Sequence[RunRow], runs: int) -> str:
        """How far the layer sweep is, in a sentence."""
        ended = sum(row.state == "finished" for row in rows)
        if not _metric(rows):
            return self.tr("Layer probing sweep: {0} of {1} runs finished.").format(ended, runs)
        template = self.tr("Layer probing sweep: {0} of {1} runs finished. Compared by {2}.")
        return template.format(ended, runs, run_texts.metric_title(_metric(rows)))

    def _on_activated(self, index: QModelIndex) -> None:
        self.opened.emit(self.model.rows[index.row()].id)


def _metric(rows: Sequence[RunRow]) -> str:
    """The metric by which these runs are compared; empty before the first score."""
    return next((row.best_metric for row in rows if row.best_score is not None), "")


def _place(row: RunRow) -> tuple[int, int]:
    """As the job has them: by features, then by seed."""
    if row.job is None or row.job.group is None:
        return 0, 0
    vectors = row.job.group.vectors
    known = row.job.features.vectors in vectors
    return vectors.index(row.job.features.vectors) if known else 0, row.job.training.seed
