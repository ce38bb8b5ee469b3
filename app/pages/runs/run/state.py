"""One run: its row, its curves, its log and its checkpoints, kept up to date. No widgets."""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from pydantic import ValidationError
from PySide6.QtCore import QElapsedTimer, QObject, QTimer, Signal

from app import background, trash
from app.explorer import Explorer
from app.exporting.state import ExportState
from app.pages.runs.rows import RunRow, read_row
from app.pages.runs.state import RunsState
from app.studio import Studio
from engine.messages.events import Measured
from engine.record.checkpoints import checkpoints_of, match_folders
from engine.record.metrics import Point, curves
from engine.record.opening import Record
from engine.record.runs import Run
from engine.record.runs import run as find
from engine.runs.folder import RunFolder
from engine.runs.reproducibility import Certificate, certificate, damages
from engine.runs.retention import check_removal, kept, size
from engine.spec.job import JobSpec
from engine.spec.training import TrainingSpec

LAST = 50  # steps from whose times the time left is told
FEW = 5  # steps before which nothing is told
LOG_PAUSE = 1000  # ms between two looks at the log
LOG_CHARACTERS = 60_000
LONGEST_LINE = 2_000  # characters; longer lines stop a text widget for seconds
SILENCE = 30_000  # ms without a word after which a worker may be ended at once


@dataclass(frozen=True)
class Points:
    """A stretch of one curve; None where a value was not finite, and there the status says how."""

    steps: list[float]
    values: list[float | None]
    not_finite: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True)
class Saved:
    """One checkpoint of a run, and why it is kept: “best”, “last”, “every n”."""

    step: int
    folder: Path
    best: bool
    at: datetime
    bytes: int
    reasons: tuple[str, ...] = ()


@dataclass
class _Pace:
    """When the last steps were taken, as their worker wrote down."""

    steps: deque[tuple[int, float]] = field(default_factory=lambda: deque(maxlen=LAST))

    def add(self, step: int, at: float) -> None:
        if self.steps and step <= self.steps[-1][0]:
            self.steps.clear()  # a resume
        self.steps.append((step, at))

    def seconds_per_step(self) -> float | None:
        if len(self.steps) < FEW:
            return None
        (first, began), (last, ended) = self.steps[0], self.steps[-1]
        return max(0.0, ended - began) / (last - first)


class RunState(QObject):
    """Signals:
    changed: `row` is another now.
    gone: the run was removed.
    curves_read: all curves so far, Points by name.
    measured: new Points by name, after what was read.
    staged: what the worker does before and between steps; stage, done, total.
    log_read: the end of the worker's log is another now.
    checkpoints_read: the checkpoints are others now, a list of Saved.
    deletion_asked: a checkpoint, and what would be lost with it, in a sentence.
    certificate_read: the Certificate of the run as it is now.
    checking: checkpoints whose files were read, and how many there are; both 0 when it is over.
    files_checked: a sentence for each checkpoint that is damaged.
    """

    changed = Signal()
    gone = Signal()
    curves_read = Signal(object)
    measured = Signal(object)
    staged = Signal(str, int, int)
    log_read = Signal(str)
    checkpoints_read = Signal(object)
    deletion_asked = Signal(object, str)
    certificate_read = Signal(object)
    checking = Signal(int, int)
    files_checked = Signal(list)

    def __init__(
        self, studio: Studio, runs: RunsState, run_id: str, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._studio, self.runs, self.run_id = studio, runs, run_id
        self.row: RunRow | None = runs.rows.get(run_id)
        self.log = ""
        self._pace = _Pace()
        self._waiting: list[Measured] | None = []  # None once the curves were read
        self._checking: background.Job | None = None
        self._certifying: background.Job | None = None
        self._heard = QElapsedTimer()
        self._heard.start()
        self._log_timer = QTimer(self, interval=LOG_PAUSE)
        self._log_timer.timeout.connect(self._read_log)
        dispatcher = studio.dispatcher
        dispatcher.measured.connect(self._on_measured)
        dispatcher.progressed.connect(self._on_progressed)
        runs.changed.connect(self._on_row)
        runs.removed.connect(self._on_removed)

    @property
    def explorer(self) -> Explorer:
        """Who makes a batch of the run again."""
        return self._studio.explorer

    def open(self) -> None:
        """Read what there is, off the window's thread."""
        record, run_id = self._studio.record, self.run_id
        background.run(self, lambda: read_row(record, run_id), self._on_first_row)
        background.run(self, lambda: read_curves(record, run_id), self._on_curves)
        self._read_checkpoints()

    # ── the row ──────────────────────────────────────────────────────────────────────────────

    def _on_first_row(self, row: RunRow | None) -> None:
        if row is None:
            self.gone.emit()
        else:
            self.row = row
            self.changed.emit()
            self._read_log()

    def _on_row(self, row: RunRow) -> None:
        if row.id != self.run_id:
            return
        before, self.row = self.row, row
        self._heard.restart()
        self.changed.emit()
        if before is None or (before.checkpoint_step, before.checkpoint, before.state) != (
            row.checkpoint_step,
            row.checkpoint,
            row.state,
        ):
            self._read_checkpoints()

    def _on_removed(self, run_id: str) -> None:
        if run_id == self.run_id:
            self.gone.emit()

    def seconds_left(self) -> float | None:
        """How long it still takes at the pace of the last steps; None: not known yet."""
        row, pace = self.row, self._pace.seconds_per_step()
        if row is None or row.state != "running" or not row.steps:
            return None
        return row.seconds_left if pace is None else pace * max(0, row.steps - row.step)

    def is_silent(self) -> bool:
        """Whether a run that should work has said nothing for long."""
        working = self.row is not None and self.row.is_working and self.row.state != "paused"
        return working and self._heard.hasExpired(SILENCE)

    def silent_seconds(self) -> float:
        return self._heard.elapsed() / 1000

    # ── the curves ───────────────────────────────────────────────────────────────────────────

    def _on_curves(self, found: dict[str, Points]) -> None:
        self.curves_read.emit(found)
        waiting, self._waiting = self._waiting or [], None
        if waiting:
            self.measured.emit(points_of(waiting))

    def _on_measured(self, run_id: str, points: list[Measured]) -> None:
        if run_id != self.run_id:
            return
        self._heard.restart()
        for point in points:
            if point.name == "loss":
                self._pace.add(point.step, point.at.timestamp())
        if self._waiting is None:
            self.measured.emit(points_of(points))
        else:
            self._waiting += points

    def _on_progressed(self, run_id: str, stage: str, done: int, total: int) -> None:
        if run_id == self.run_id:
            self._heard.restart()
            self.staged.emit(stage, done, total)

    # ── the log ──────────────────────────────────────────────────────────────────────────────

    def follow_log(self, follow: bool) -> None:
        """Look at the log again and again while it is on the screen."""
        if follow:
            self._log_timer.start()
            self._read_log()
        else:
            self._log_timer.stop()

    def _read_log(self) -> None:
        if self.row is None:
            return
        row = self.row
        background.run(self, lambda: log_of(row), self._on_log)

    def _on_log(self, text: str) -> None:
        if text != self.log:
            self.log = text
            self.log_read.emit(text)

    # ── the checkpoints ──────────────────────────────────────────────────────────────────────

    def _read_checkpoints(self) -> None:
        record, run_id = self._studio.record, self.run_id
        background.run(self, lambda: read_checkpoints(record, run_id), self.checkpoints_read.emit)

    def export_of(self, checkpoint: Path) -> ExportState:
        """An export of a checkpoint, for the dialog that asks what is wanted."""
        run = self.row.name if self.row else self.run_id
        return ExportState(self._studio, checkpoint, f"{run}-{checkpoint.name}", parent=self)

    def want_deleted(self, saved: Saved) -> None:
        """Delete a checkpoint, at once where nothing is lost with it; else ask first."""
        if self.row is None:
            return
        run = RunFolder(self.row.folder)

        def weighed(lost: str) -> None:
            if lost:
                self.deletion_asked.emit(saved, lost)
            else:
                self.delete(saved)

        background.run(
            self, lambda: check_removal(run, saved.step), weighed, self._studio.notices.show
        )

    def delete(self, saved: Saved) -> None:
        """Move a checkpoint to the trash; a notice offers to bring it back."""

        def removed(place: Path) -> None:
            self._match_folders()
            self._studio.notices.say(
                self.tr("The checkpoint of step {0} is in the trash.").format(saved.step),
                self.tr("Bring back"),
                lambda: self._bring_back(place, saved.folder),
            )

        background.run(
            self, lambda: trash.move_to_trash(saved.folder), removed, self._studio.notices.show
        )

    def _bring_back(self, place: Path, folder: Path) -> None:
        background.run(
            self,
            lambda: trash.bring_back(place, folder),
            lambda _: self._match_folders(),
            self._studio.notices.show,
        )

    def _match_folders(self) -> None:
        """Let the record say what stands on the disk, then everyone who shows it."""
        if self.row is None:
            return
        record, run_id, folder = self._studio.record, self.run_id, RunFolder(self.row.folder)

        def match() -> None:
            with record.session() as session:
                match_folders(session, run_id, folder)

        def matched(_: None) -> None:
            self._studio.dispatcher.run_changed.emit(run_id)
            self._read_checkpoints()

        background.run(self, match, matched, self._studio.notices.show)

    def branch(self, step: int, job: JobSpec) -> None:
        """Start a new run from a checkpoint of this one."""

        def made(run_id: str) -> None:
            self._studio.notices.say(
                self.tr("“{0}” goes on from step {1}.").format(job.name, step),
                self.tr("Open"),
                lambda: self._studio.go.emit("runs", {"run": run_id}),
            )

        self._studio.dispatcher.branch(self.run_id, step, job, made)

    # ── the certificate ──────────────────────────────────────────────────────────────────────

    def read_certificate(self) -> None:
        """Read it anew, unless that is being done."""
        if self.row is None or self._certifying is not None:
            return
        run = RunFolder(self.row.folder)

        def read(found: Certificate) -> None:
            self._certifying = None
            self.certificate_read.emit(found)

        def not_read(error: BaseException) -> None:
            self._certifying = None
            self._studio.notices.show(error)

        self._certifying = background.run(self, lambda: certificate(run), read, not_read)

    def check_files(self) -> None:
        """Compare every byte of every checkpoint with what was saved."""
        if self.row is None or self._checking is not None:
            return
        run = RunFolder(self.row.folder)

        def checked(found: list[str]) -> None:
            self.cancel_check()
            self.files_checked.emit(found)

        def not_checked(error: BaseException) -> None:
            self.cancel_check()
            self._studio.notices.show(error)

        self._checking = background.run(
            self,
            lambda progress: damages(run, progress),
            checked,
            not_checked,
            progress=self.checking.emit,
        )
        self.checking.emit(0, 1)

    def cancel_check(self) -> None:
        if self._checking is not None:
            self._checking.cancel()
            self._checking = None
            self.checking.emit(0, 0)


# ── reading, off the window's thread ─────────────────────────────────────────────────────────


def read_curves(record: Record, run_id: str) -> dict[str, Points]:
    with record.read() as session:
        found = curves(session, run_id)
    return {name: _points(points) for name, points in found.items()}


def points_of(measured: Sequence[Measured]) -> dict[str, Points]:
    """What was measured, curve by curve, in the order of steps."""
    by_name: dict[str, list[Point]] = {}
    for point in measured:
        by_name.setdefault(point.name, []).append((point.step, point.value, point.status))
    return {name: _points(_rising(points)) for name, points in by_name.items()}


def _rising(points: list[Point]) -> list[Point]:
    """The points in the order of steps; of those with the same step the last, as after a resume."""
    latest: Mapping[int, Point] = {point[0]: point for point in points}
    return [latest[step] for step in sorted(latest)]


def _points(points: Sequence[Point]) -> Points:
    return Points(
        [float(step) for step, _, _ in points],
        [value for _, value, _ in points],
        tuple((step, status) for step, value, status in points if value is None),
    )


def read_checkpoints(record: Record, run_id: str) -> list[Saved]:
    """The checkpoints of a run, the newest first, with their sizes on the disk."""
    with record.read() as session:
        found = list(checkpoints_of(session, run_id))
        run = find(session, run_id)
        plan = _plan(run)
    best = next((c.step for c in found if c.best), -1)
    reasons = kept((c.step for c in found), best, plan) if plan else {}
    return [
        Saved(c.step, c.folder, c.best, c.saved, size(c.folder), reasons.get(c.step, ()))
        for c in reversed(found)
    ]


def _plan(run: Run | None) -> TrainingSpec | None:
    """How a run is trained; None where another version made its job."""
    try:
        return run.asked().training if run is not None else None
    except ValidationError:
        return None


def log_of(row: RunRow) -> str:
    """What the worker noted and the end of what it printed; long lines are cut."""
    text = RunFolder(row.folder).log_end(LOG_CHARACTERS)
    lines = [f"• {remark}" for remark in row.remarks] + text.splitlines()
    return "\n".join(
        line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}…" for line in lines
    )
