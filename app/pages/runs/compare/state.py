"""The compared runs, their curves and their paces. No widgets."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, Signal

from app import background
from app.pages.runs.columns import all_columns, all_measures, known_columns
from app.pages.runs.job_fields import is_number
from app.pages.runs.rows import RunRow
from app.pages.runs.state import RunsState
from app.studio import Studio
from engine.config.tasks import TASKS
from engine.record.metrics import list_names, read_points
from engine.record.opening import Record
from engine.results.several import ComparedRun
from engine.runs.folder import RunFolder
from engine.runs.pace import Pace, read_pace

Floats = NDArray[np.float64]
MAX_RUNS = 50
AXES = ("step", "epoch", "tokens", "time")
SEPARATOR = " · "  # between the parts of a search run's name


def distinct_names(rows: Sequence[RunRow]) -> list[str]:
    """The name of each run without the leading and trailing parts that all share."""
    parts = [row.name.split(SEPARATOR) for row in rows]
    shortest = min(map(len, parts), default=0)
    if len(rows) < 2 or len({row.name for row in rows}) < 2:
        return [row.name for row in rows]

    def count_shared(reserved: int, *, from_end: bool) -> int:
        items = [list(reversed(item)) if from_end else item for item in parts]
        indices = range(shortest - reserved)
        return next((n for n in indices if len({item[n] for item in items}) > 1), len(indices))

    front = count_shared(1, from_end=False)
    back = count_shared(front + 1, from_end=True)
    return [SEPARATOR.join(item[front : len(item) - back]) for item in parts]


@dataclass(frozen=True)
class Curves:
    """One metric of several runs by id: steps, int64 [N], and values, float64 [N]."""

    name: str
    points: dict[str, tuple[NDArray[np.int64], Floats]]


class CompareState(QObject):
    """Reads curves and paces of the compared runs off the GUI thread.

    Signals:
        names_read: number of runs that recorded each metric, by metric name.
        curves_read: the Curves of the requested metric.
        paces_read: `paces` has the time and the tokens of each run.
        changed: a run changed or was removed.
        flips_requested: the RunScores of a run and of the first run, to compare their rows.
    """

    names_read = Signal(object)
    curves_read = Signal(object)
    paces_read = Signal()
    changed = Signal()
    flips_requested = Signal(object, object)

    def __init__(self, studio: Studio, runs: RunsState, rows: Sequence[RunRow]) -> None:
        super().__init__(runs)
        self.studio, self.runs = studio, runs
        self.ids = tuple(row.id for row in rows[:MAX_RUNS])
        self.paces: dict[str, Pace] | None = None
        self._is_reading_paces = False
        self._requested = ""
        runs.changed.connect(lambda row: self._on_changed(row.id))
        runs.removed.connect(self._on_changed)

    @property
    def rows(self) -> list[RunRow]:
        """The runs that still exist, in the chosen order."""
        return [self.runs.rows[run] for run in self.ids if run in self.runs.rows]

    def compared_runs(self) -> list[ComparedRun]:
        """The runs with their folders, for scoring."""
        return [ComparedRun(row.id, row.name, row.folder) for row in self.rows]

    def read_names(self) -> None:
        record, ids = self.studio.record, self.ids

        def work() -> dict[str, int]:
            with record.read() as session:
                counts = Counter(name for run in ids for name in list_names(session, run))
            return dict(sorted(counts.items()))

        background.run(self, work, self.names_read.emit)

    def read_curves(self, name: str) -> None:
        """Request a metric of all runs; only the last request is answered."""
        record, ids = self.studio.record, self.ids
        self._requested = name

        def done(result: Curves) -> None:
            if result.name == self._requested:
                self.curves_read.emit(result)

        background.run(self, lambda: read_curve(record, ids, name), done)

    def read_paces(self) -> None:
        """Request time and tokens of each run, from its folder."""
        if self._is_reading_paces or self.paces is not None:
            return
        self._is_reading_paces = True
        folders = {row.id: row.folder for row in self.rows}

        def work() -> dict[str, Pace]:
            return {run: read_pace(RunFolder(folder)) for run, folder in folders.items()}

        def done(result: dict[str, Pace]) -> None:
            self.paces, self._is_reading_paces = result, False
            self.paces_read.emit()

        background.run(self, work, done, self.studio.notices.show)

    def _on_changed(self, run_id: str) -> None:
        if run_id in self.ids:
            self.changed.emit()


def read_curve(record: Record, run_ids: Sequence[str], name: str) -> Curves:
    """Read one metric of these runs; runs without it are left out."""
    with record.read() as session:
        result = {run: read_points(session, run, name) for run in run_ids}
    return Curves(name, {run: (p.steps, p.values) for run, p in result.items() if len(p)})


def x_values(axis: str, row: RunRow, steps: NDArray[np.int64], pace: Pace | None) -> Floats | None:
    """The steps of a curve converted to another axis; None if that is unknown."""
    match axis:
        case "epoch":
            batch = row.fields.get("training.batch_size")
            if not row.examples or not isinstance(batch, int | float):
                return None
            return np.asarray(steps * (batch / row.examples), dtype=np.float64)
        case "tokens":
            if pace is None or not len(pace.tokens):
                return None
            token_steps, counts = np.append(0, pace.token_steps), np.append(0.0, pace.tokens)
            return np.asarray(np.interp(steps, token_steps, counts), dtype=np.float64)
        case "time":
            if pace is None or not len(pace.steps):
                return None
            return np.asarray(np.interp(steps, pace.steps, pace.seconds), dtype=np.float64)
        case _:
            return steps.astype(np.float64)


def differing_paths(rows: Sequence[RunRow]) -> list[str]:
    """Paths of the settings that differ among these runs, in job order."""
    paths = dict.fromkeys(path for row in rows for path in row.fields.paths())
    settings = [path for path in paths if not path.startswith("group.")]
    return [path for path in settings if len({repr(row.fields.get(path)) for row in rows}) > 1]


def differing_columns(rows: Sequence[RunRow]) -> list[str]:
    """Columns in which these runs differ, to colour them by."""
    return [
        info.key
        for info in known_columns(all_columns())
        if info.measure is None and len({repr(info.row_value(row)) for row in rows}) > 1
    ]


def numeric_columns(rows: Sequence[RunRow]) -> list[str]:
    """Columns with different numbers for at least two of these runs."""
    return [
        info.key
        for info in known_columns(all_columns())
        if len(set(filter(is_number, map(info.row_value, rows)))) > 1
    ]


def task_measures(rows: Sequence[RunRow]) -> list[str]:
    """Columns of the metrics at the best checkpoint for the tasks of these runs."""
    names = {
        f"validation_{metric.name}"
        for row in rows
        if row.task in TASKS
        for metric in TASKS[row.task].info.metrics
    }
    return [item.key for item in all_measures() if item.when == "at best" and item.name in names]
