"""One run: row, curves and log, kept up to date. No widgets."""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QElapsedTimer, QObject, Signal

from app import background
from app.pages.runs.rows import RunRow, read_row
from app.pages.runs.state import RunsState
from app.studio import Studio
from app.translation import translated
from engine.config.tasks import TASKS
from engine.errors import StudioError
from engine.messages.events import Measured
from engine.record.metrics import Points, curves, get_values_by_run
from engine.record.opening import Record
from engine.runs.folder import RunFolder

FURTHER = ("validation_f1_macro", "validation_accuracy")
SILENCE_MS = 30_000  # time without an event before a worker may be force-stopped


class RunState(QObject):
    """Follows a run.

    Signals:
        changed: `row` changed.
        removed: the run was removed.
        curves_read: all curves so far, Points by name.
        measured: new Points by name, after those read.
        log_read: the new end of the worker's log.
    """

    changed = Signal()
    removed = Signal()
    curves_read = Signal(object)
    measured = Signal(object)
    log_read = Signal(str)

    def __init__(
        self, studio: Studio, runs: RunsState, run_id: str, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._studio, self.runs, self.run_id = studio, runs, run_id
        self.row: RunRow | None = runs.rows.get(run_id)
        self.further = Further()  # to go with the best score
        self._further_step = -1  # the best step at which it was read
        self._further = background.LatestJob(self)
        self.log = ""
        self._unread: list[Measured] | None = []  # None after the curves were read
        self._silence = QElapsedTimer()
        self._silence.start()
        dispatcher = studio.dispatcher
        dispatcher.measured.connect(self._on_measured)
        runs.changed.connect(self._on_row)
        runs.removed.connect(self._on_removed)

    @property
    def folder(self) -> RunFolder:
        return RunFolder(
            self._studio.home.runs / self.run_id if self.row is None else self.row.folder
        )

    def open(self) -> None:
        """Read row and curves off the GUI thread."""
        record, run_id = self._studio.record, self.run_id
        background.run(self, lambda: read_row(record, run_id), self._on_first_row)
        background.run(self, lambda: read_curves(record, run_id), self._on_curves)

    # ── the row ──────────────────────────────────────────────────────────────────────────────

    def _on_first_row(self, row: RunRow | None) -> None:
        if row is None:
            self.removed.emit()
        else:
            self._set_row(row)
            self.read_log()

    def _on_row(self, row: RunRow) -> None:
        if row.id == self.run_id:
            self._silence.restart()
            self._set_row(row)

    def _set_row(self, row: RunRow) -> None:
        """Show a row; another best step has other metrics, which are read off the GUI thread."""
        self.row = row
        self.changed.emit()
        if row.best_score is not None and row.best_step != self._further_step:
            self._further_step = row.best_step
            record = self._studio.record
            self._further.run(lambda: read_further(record, row), self._on_further)

    def _on_further(self, further: "Further") -> None:
        self.further = further
        self.changed.emit()

    def _on_removed(self, run_id: str) -> None:
        if run_id == self.run_id:
            self.removed.emit()

    def is_silent(self) -> bool:
        """True if a working run has sent no event for a long time."""
        working = self.row is not None and self.row.is_working and self.row.state != "paused"
        return working and self._silence.hasExpired(SILENCE_MS)

    def silent_seconds(self) -> float:
        return self._silence.elapsed() / 1000

    # ── the curves ───────────────────────────────────────────────────────────────────────────

    def _on_curves(self, result: dict[str, Points]) -> None:
        self.curves_read.emit(result)
        unread, self._unread = self._unread or [], None
        if unread:
            self.measured.emit(latest_points(unread))

    def _on_measured(self, run_id: str, points: list[Measured]) -> None:
        if run_id != self.run_id:
            return
        self._silence.restart()
        if self._unread is None:
            self.measured.emit(latest_points(points))
        else:
            self._unread += points

    # ── the log ──────────────────────────────────────────────────────────────────────────────

    def read_log(self) -> None:
        row = self.row
        if row is not None:
            background.run(self, lambda: read_log(row), self._on_log)

    def _on_log(self, text: str) -> None:
        if text != self.log:
            self.log = text
            self.log_read.emit(text)


LOG_CHARACTERS = 60_000
MAX_LINE = 2_000  # characters; longer lines block a text widget for seconds


@dataclass(frozen=True)
class Further:
    """At the best step: one more metric with its value, and what it has to be compared with.

    Args:
        metric: its name and value.
        unigram: the accuracy of the unigram baseline of a pre-training.
        missing: the classes that are not predicted.
        rows: the number of validation rows that were scored; None: unknown, or a pre-training.
    """

    metric: tuple[str, float] | None = None
    unigram: float | None = None
    missing: tuple[str, ...] = ()
    rows: int | None = None


def read_further(record: Record, row: RunRow) -> Further:
    """Read the first of the FURTHER metrics that a run has, and the rest from its predictions."""
    # slow to import, so not when the window opens
    from engine.results.masked_tokens import unigram_scores
    from engine.results.neglected import never_predicted
    from engine.results.predictions import read_predictions
    from engine.results.store import predictions_file

    metric = None
    with record.read() as session:
        for name in FURTHER:
            values = get_values_by_run(session, name, "at best", [row.id])
            if metric is None and name != row.best_metric and row.id in values:
                metric = name, values[row.id]
    try:
        file = predictions_file(RunFolder(row.folder).results, "validation")
        predictions = read_predictions(file)
    except (OSError, StudioError):  # missing, or just being replaced
        return Further(metric)
    if TASKS[predictions.info.task].info.is_pretraining:
        return Further(metric, unigram_scores(predictions).accuracy)
    return Further(metric, missing=never_predicted(predictions), rows=len(predictions))


def read_curves(record: Record, run_id: str) -> dict[str, Points]:
    with record.read() as session:
        return curves(session, run_id)


def latest_points(measured: Sequence[Measured]) -> dict[str, Points]:
    """Group measured points into curves in step order. If a step has several points, as after a
    resume, the last one counts."""
    latest: dict[str, dict[int, Measured]] = {}
    for point in measured:
        latest.setdefault(point.name, {})[point.step] = point
    return {name: _points([points[s] for s in sorted(points)]) for name, points in latest.items()}


def _points(measured: Sequence[Measured]) -> Points:
    import numpy as np  # slow to import, so not when the window opens

    return Points(
        np.array([point.step for point in measured], np.int64),
        np.array([point.value for point in measured], np.float64),  # None becomes NaN
        tuple((point.step, point.status) for point in measured if point.value is None),
    )


def read_log(row: RunRow) -> str:
    text = RunFolder(row.folder).log_end(LOG_CHARACTERS)
    lines = [f"• {translated(remark)}" for remark in row.remarks] + text.splitlines()
    return "\n".join(line if len(line) <= MAX_LINE else f"{line[:MAX_LINE]}…" for line in lines)
