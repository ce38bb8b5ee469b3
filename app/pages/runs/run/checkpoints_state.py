"""The checkpoints of a run, kept up to date, and requests about them. No widgets."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pydantic import ValidationError
from PySide6.QtCore import QObject, Signal

from app import background, trash
from app.exporting.state import ExportState
from app.pages.runs.rows import RunRow
from app.pages.runs.run.state import RunState
from app.studio import Studio
from app.widgets.text import numbers
from engine.config.job import JobSpec
from engine.config.training import TrainingSpec
from engine.record.checkpoints import checkpoints_of, match_folders
from engine.record.metrics import TIE_BREAKER, values_of
from engine.record.opening import Record
from engine.record.runs import Run
from engine.record.runs import run as find
from engine.runs.folder import RunFolder
from engine.runs.retention import check_removal, reasons_to_keep, size


@dataclass(frozen=True)
class Saved:
    """A checkpoint, and why it is kept: “best”, “last”, “every n”.

    `score` is the run's best metric at its step and `loss` the validation loss; None if it was not
    evaluated.
    """

    step: int
    folder: Path
    best: bool
    at: datetime
    bytes: int
    reasons: tuple[str, ...] = ()
    score: float | None = None
    loss: float | None = None


class CheckpointsState(QObject):
    """Reads the checkpoints off the GUI thread.

    Signals:
        checkpoints_read: list of Saved, newest first.
        deletion_asked: a checkpoint, and a sentence about what would be lost with it.
    """

    checkpoints_read = Signal(object)
    deletion_asked = Signal(object, object)

    def __init__(self, studio: Studio, run: RunState) -> None:
        super().__init__(run)
        self._studio, self.run = studio, run
        self._read_for: tuple[object, ...] | None = None
        run.changed.connect(self._on_run)
        self._on_run()

    @property
    def row(self) -> RunRow | None:
        return self.run.row

    # ── which there are ──────────────────────────────────────────────────────────────────────

    def _on_run(self) -> None:
        row = self.row
        if row is None:
            return
        seen = (row.checkpoint_step, row.checkpoint, row.state)
        if seen != self._read_for:
            self._read_for = seen
            self._read()

    def _read(self) -> None:
        record, run_id = self._studio.record, self.run.run_id
        background.run(self, lambda: read_checkpoints(record, run_id), self.checkpoints_read.emit)

    def _match_folders(self) -> None:
        """Update the record from the disk, then announce it."""
        if self.row is None:
            return
        record, run_id, folder = self._studio.record, self.run.run_id, RunFolder(self.row.folder)

        def match() -> None:
            with record.session() as session:
                match_folders(session, run_id, folder)

        def matched(_: None) -> None:
            self._studio.dispatcher.run_changed.emit(run_id)
            self._read()

        background.run(self, match, matched, self._studio.notices.show)

    # ── what is done with one ────────────────────────────────────────────────────────────────

    def export_of(self, checkpoint: Path) -> ExportState:
        """An export of a checkpoint, for its dialog."""
        run = self.row.name if self.row else self.run.run_id
        return ExportState(self._studio, checkpoint, f"{run}-{checkpoint.name}", parent=self)

    def want_deleted(self, saved: Saved) -> None:
        """Delete a checkpoint, after a question if something is lost with it."""
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
        """Move a checkpoint to the trash; a notice offers Undo."""

        def removed(place: Path) -> None:
            self._match_folders()
            self._studio.notices.say(
                self.tr("The checkpoint at step {0} was moved to the trash.").format(
                    numbers.count(saved.step)
                ),
                self.tr("Undo"),
                lambda: self._restore(place, saved.folder),
            )

        background.run(
            self, lambda: trash.move_to_trash(saved.folder), removed, self._studio.notices.show
        )

    def _restore(self, place: Path, folder: Path) -> None:
        background.run(
            self,
            lambda: trash.bring_back(place, folder),
            lambda _: self._match_folders(),
            self._studio.notices.show,
        )

    def branch(self, step: int, job: JobSpec) -> None:
        """Start a new run from a checkpoint of this one."""

        def made(run_id: str) -> None:
            self._studio.notices.say(
                self.tr("“{0}” continues from step {1}.").format(job.name, step),
                self.tr("Open"),
                lambda: self._studio.go.emit("runs", {"run": run_id}),
            )

        self._studio.dispatcher.branch(self.run.run_id, step, job, made)


def read_checkpoints(record: Record, run_id: str) -> list[Saved]:
    """The checkpoints of a run with their sizes on disk, newest first."""
    with record.read() as session:
        result = list(checkpoints_of(session, run_id))
        run = find(session, run_id)
        plan = _plan(run)
        steps = [c.step for c in result]
        scores = values_of(session, run_id, run.best_metric if run else "", steps)
        losses = values_of(session, run_id, TIE_BREAKER, steps)
    best = next((c.step for c in result if c.best), -1)
    reasons = reasons_to_keep((c.step for c in result), best, plan) if plan else {}
    return [
        Saved(
            c.step,
            c.folder,
            c.best,
            c.saved,
            size(c.folder),
            reasons.get(c.step, ()),
            scores.get(c.step),
            losses.get(c.step),
        )
        for c in reversed(result)
    ]


def _plan(run: Run | None) -> TrainingSpec | None:
    """The training settings; None if an incompatible version wrote the job."""
    try:
        return run.asked().training if run is not None else None
    except ValidationError:
        return None
