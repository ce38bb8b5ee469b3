"""All runs, kept up to date, and requests about them. No widgets."""

import shutil
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal
from sqlalchemy.orm import Session

from app import background
from app.pages.runs.columns import known_columns
from app.pages.runs.rows import Measure, RunRow, read_measures, read_row, read_rows, read_sparks
from app.studio import Studio
from app.timers import debounced
from app.translation import tr
from app.widgets.opening import notify_saved
from engine.config.dataset import StoredData, moved
from engine.config.job import JobSpec
from engine.data.checks.fixing import FixName, apply_fixes_by_name
from engine.errors import StudioError
from engine.files.home import free_folder, next_version
from engine.progress import Cancelled
from engine.record import runs
from engine.runs.advice import Advice
from engine.runs.bundle import Checkpoints, pack, unpack
from engine.runs.curve_files import CurveFiles
from engine.runs.folder import RunFolder
from engine.runs.tensorboard import TensorBoardFiles

READ_DELAY_MS = 200  # changes within this time are read together
SPARK_DELAY_MS = 30  # sparklines requested within this time are read together
MAX_SPARKS = 60  # rows on a screen
BATCH_ROWS = 50  # jobs parsed before the GUI thread can run
PAUSE_SECONDS = 0.002


class Exchange(QObject):
    """Exports and imports runs, one job at a time.

    Signals:
        started: title of the job.
        progressed: bytes done and in total.
        ended: the job has ended.
        unpacked: the run folders to copy in, with the notes and tags of each.
    """

    started = Signal(str)
    progressed = Signal(int, int)
    ended = Signal()
    unpacked = Signal(object)

    def __init__(self, studio: Studio, parent: QObject) -> None:
        super().__init__(parent)
        self._studio = studio
        self._job: background.Job | None = None

    def is_busy(self) -> bool:
        return self._job is not None and not self._job.is_finished()

    def export(self, rows: Sequence[RunRow], path: Path, checkpoints: Checkpoints) -> None:
        annotations = {row.folder.name: _annotations(row) for row in rows}
        folders = [RunFolder(row.folder) for row in rows]

        def work(progress: background.Progress) -> Path:
            pack(folders, path, checkpoints, annotations, progress, progress.cancelled)
            return path

        self._start(tr("Exporting %Ln run(s)", len(rows)), work, self._on_saved)

    def export_curves(
        self, rows: Sequence[RunRow], target: Path, kind: type[CurveFiles] = TensorBoardFiles
    ) -> None:
        """Write the curves for TensorBoard or MLflow, one folder per run."""
        folders = [RunFolder(row.folder) for row in rows]

        def work(progress: background.Progress) -> Path:
            for folder in folders:
                kind(folder, target).write_all(progress, progress.cancelled)
            return target

        self._start(tr("Exporting the curves of %Ln run(s)", len(rows)), work, self._on_saved)

    def open(self, path: Path) -> None:
        """Unpack the runs of a file, to be copied in."""
        target = self._studio.home.cache / f"unpacked-{uuid.uuid4().hex[:12]}"

        def work(progress: background.Progress) -> dict[Path, dict[str, Any]]:
            try:
                return unpack(path, target, progress, progress.cancelled)
            except BaseException:
                shutil.rmtree(target, ignore_errors=True)
                raise

        self._start(tr("Opening {0}").format(path.name), work, self._on_unpacked)

    def delete(self, root: Path) -> None:
        background.run(self, lambda: shutil.rmtree(root, ignore_errors=True), lambda _: None)

    def cancel(self) -> None:
        if self._job is not None:
            self._job.cancel()
            self.ended.emit()

    def _start(self, text: str, work: Callable[..., Any], done: Callable[[Any], None]) -> None:
        if self.is_busy():
            self._studio.notices.info(tr("Another file of runs is being written or read."))
            return
        self.started.emit(text)
        report = self.progressed.emit
        self._job = background.run(self, work, done, self._on_failed, progress=report)

    def _on_saved(self, path: Path) -> None:
        self.ended.emit()
        notify_saved(self._studio.notices, path)

    def _on_unpacked(self, result: dict[Path, dict[str, Any]]) -> None:
        self.ended.emit()
        self.unpacked.emit(result)

    def _on_failed(self, error: BaseException) -> None:
        self.ended.emit()
        if not isinstance(error, Cancelled):
            self._studio.notices.show(error)


def _annotations(row: RunRow) -> dict[str, Any]:
    """Name, notes, star and tags, which only the record knows."""
    return {"name": row.name, "notes": row.notes, "star": row.star, "tags": list(row.tags)}


class RunsState(QObject):
    """The rows of the table, kept up to date.

    Signals:
        listed: all `rows` were read.
        changed: a RunRow that is new or changed.
        removed: the id of a removed run.
        copying: `copies` changed.
        arrived: the id of a run that was copied in and is now listed.
        measured: requested metrics are in `measured` of the rows.
        sparks_read: requested sparklines were read; see `sparkline`.
        open_requested: the id of a run whose page is to be shown.
        compare_requested: at least two runs to compare.
        lineage_requested: the id of a run whose lineage is to be shown.
    """

    listed = Signal()
    changed = Signal(object)
    removed = Signal(str)
    copying = Signal()
    arrived = Signal(str)
    measured = Signal()
    sparks_read = Signal()
    open_requested = Signal(str)
    compare_requested = Signal(object)
    lineage_requested = Signal(str)

    def __init__(self, studio: Studio, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.studio = studio
        self.rows: dict[str, RunRow] = {}
        self.copies: dict[Path, tuple[int, int]] = {}  # bytes copied and in total
        self.is_listed = False
        self._stale: set[str] = set()  # ids of changed runs, to be read again
        self._awaited: set[str] = set()  # copied in, not listed yet
        self.exchange = Exchange(studio, self)
        self.exchange.unpacked.connect(self._on_unpacked)
        self._annotations: dict[str, dict[str, Any]] = {}  # of runs that are not listed yet
        self._unpacked: dict[Path, dict[str, Any]] = {}  # annotations by folder to copy in
        self._is_reading = False
        self._measures: set[Measure] = set()
        self._sparks: dict[str, tuple[int, tuple[float, ...]]] = {}  # with the step of the run
        self._sparks_requested: dict[str, int] = {}
        self._spark_pause = debounced(self, SPARK_DELAY_MS, self._read_sparks)
        self._is_closing = False
        studio.closing.connect(self._on_closing)
        self._home = studio.home
        self._fixing: background.Job | None = None
        self._pause = debounced(self, READ_DELAY_MS, self._read_stale)
        self.dispatcher = dispatcher = studio.dispatcher
        dispatcher.run_added.connect(self._on_changed)
        dispatcher.run_changed.connect(self._on_changed)
        dispatcher.run_removed.connect(self._on_removed)
        dispatcher.copying.connect(self._on_copying)
        dispatcher.copied.connect(self._on_copied)

    def _on_closing(self) -> None:
        self._is_closing = True
        self._pause.stop()
        self._spark_pause.stop()

    def read(self) -> None:
        record, measures = self.studio.record, tuple(self._measures)

        def work() -> list[RunRow]:
            rows = read_rows(record)
            for measure in measures:
                values = read_measures(record, measure)
                for row in rows:
                    if row.id in values:
                        row.measured[measure.key] = values[row.id]
            return rows

        background.run(self, work, self._on_rows)

    def _on_rows(self, rows: list[RunRow]) -> None:
        self.rows = {row.id: row for row in rows}
        self.is_listed = True
        self.listed.emit()
        background.run(self, lambda: _parse_jobs(rows), lambda _: None)

    # ── requested values ─────────────────────────────────────────────────────────────────────

    def request(self, measures: Iterable[Measure]) -> None:
        """Read these metrics of all runs, and of each run that changes from now on."""
        record = self.studio.record
        new = [measure for measure in measures if measure not in self._measures]
        if not new:
            return
        self._measures.update(new)

        def work() -> list[tuple[str, dict[str, float]]]:
            return [(measure.key, read_measures(record, measure)) for measure in new]

        if self.is_listed:
            background.run(self, work, self._on_measures)

    def request_columns(self, keys: Iterable[str]) -> None:
        """Read the metrics that are shown in these columns."""
        self.request(info.measure for info in known_columns(keys) if info.measure is not None)

    def _on_measures(self, result: list[tuple[str, dict[str, float]]]) -> None:
        for key, values in result:
            for run_id, value in values.items():
                if run_id in self.rows:
                    self.rows[run_id].measured[key] = value
        self.measured.emit()

    def sparkline(self, row: RunRow) -> tuple[float, ...]:
        """The last known downsampled training loss; requests a newer one."""
        step, values = self._sparks.get(row.id, (-1, ()))
        if step != row.step:
            self._sparks_requested[row.id] = row.step
            if not self._spark_pause.isActive() and not self._is_closing:
                self._spark_pause.start()
        return values

    def _read_sparks(self) -> None:
        record = self.studio.record
        requested = dict(list(self._sparks_requested.items())[-MAX_SPARKS:])
        self._sparks_requested = {}

        def done(result: dict[str, tuple[float, ...]]) -> None:
            self._sparks.update((run, (requested[run], values)) for run, values in result.items())
            self.sparks_read.emit()

        background.run(self, lambda: read_sparks(record, requested), done)

    def _on_changed(self, run_id: str) -> None:
        self._stale.add(run_id)
        if not self._pause.isActive() and not self._is_reading and not self._is_closing:
            self._pause.start()

    def _read_stale(self) -> None:
        run_ids, self._stale = self._stale, set()
        record, measures = self.studio.record, tuple(self._measures)
        self._is_reading = True

        def work() -> list[RunRow]:
            rows = (read_row(record, run, measures) for run in run_ids)
            return [row for row in rows if row is not None]

        background.run(self, work, self._on_read, self._on_failed)

    def _on_read(self, rows: list[RunRow]) -> None:
        self._is_reading = False
        for row in rows:
            self.rows[row.id] = row
            self.changed.emit(row)
            if row.id in self._awaited:
                self._awaited.discard(row.id)
                if row.id in self._annotations:
                    self._annotate(row.id, self._annotations.pop(row.id))
                self.arrived.emit(row.id)
        if self._stale and not self._is_closing:
            self._pause.start()

    def _on_failed(self, error: BaseException) -> None:
        self._is_reading = False
        self.studio.notices.show(error)

    def _on_removed(self, run_id: str) -> None:
        self._stale.discard(run_id)
        if self.rows.pop(run_id, None) is not None:
            self.removed.emit(run_id)

    # ── annotations ──────────────────────────────────────────────────────────────────────────

    def rename(self, run_id: str, name: str) -> None:
        if name.strip():
            self._write(run_id, lambda s: runs.annotate(s, run_id, name=name.strip()[:200]))

    def set_notes(self, run_id: str, notes: str) -> None:
        self._write(run_id, lambda s: runs.annotate(s, run_id, notes=notes))

    def set_star(self, run_id: str, star: bool) -> None:
        self._write(run_id, lambda s: runs.annotate(s, run_id, star=star))

    def set_tags(self, run_id: str, tags: Sequence[str]) -> None:
        self._write(run_id, lambda s: runs.annotate(s, run_id, tags=tags))

    def set_archived(self, run_ids: Sequence[str], archived: bool) -> None:
        for run_id in run_ids:
            self._write(run_id, partial(runs.annotate, run_id=run_id, archived=archived))

    def all_tags(self) -> list[str]:
        """All tags in use, in alphabetical order."""
        return sorted({tag for row in self.rows.values() for tag in row.tags}, key=str.casefold)

    def _write(self, run_id: str, work: Callable[[Session], None]) -> None:
        """Change the record off the GUI thread, then announce it."""
        record = self.studio.record

        def change() -> None:
            with record.session() as session:
                work(session)

        background.run(self, change, lambda _: self.dispatcher.run_changed.emit(run_id))

    # ── actions ──────────────────────────────────────────────────────────────────────────────

    def open_in_explore(self, checkpoint: Path) -> None:
        self.studio.navigate.emit("explore", checkpoint)

    def fine_tune(self, checkpoint: Path) -> None:
        self.studio.navigate.emit("train", {"model": checkpoint})

    def open_wizard(self, row: RunRow, advice: Advice | None = None) -> None:
        """Open the wizard with the job of a run, changed as advised."""
        if row.job is None:
            return
        if advice is not None and advice.fix is not None:
            self._open_wizard_after_fix(row.job, advice.fix)
            return
        job = row.job if advice is None else advice.apply_to(row.job)
        self.studio.navigate.emit("train", {"job": job})

    def run_again(self, rows: Iterable[RunRow]) -> None:
        """Queue the same jobs again, each as a single run."""
        jobs = [row.job for row in rows if row.job is not None]
        try:
            for job in jobs:
                self.dispatcher.start(job.model_copy(update={"group": None}))
        except StudioError as error:
            self.studio.notices.show(error)

    def can_follow(self, row: RunRow, advice: Advice) -> bool:
        """True if advice can be applied to a run: a fix needs a data set of this home."""
        if advice.fix is None:
            return bool(advice.change)
        data = row.job.data if row.job is not None else None
        return isinstance(data, StoredData) and data.folder.parent.parent == self._home.datasets

    def _open_wizard_after_fix(self, job: JobSpec, fix: FixName) -> None:
        """Create a fixed version of the data set, then open the wizard with it."""
        if self._fixing is not None or not isinstance(job.data, StoredData):
            return
        folder, label = job.data.folder, job.data.target

        def done(fixed: Path) -> None:
            self._fixing = None
            self.studio.datasets_changed.emit()
            data = moved(job.data, fixed)
            self.studio.navigate.emit("train", {"job": job.model_copy(update={"data": data})})

        def failed(error: BaseException) -> None:
            self._fixing = None
            self.studio.notices.show(error)

        self._fixing = background.run(self, lambda: _apply_fix(folder, fix, label), done, failed)

    def train_on(self, row: RunRow, data: Path) -> None:
        """Open the wizard with the job of a run and another version of its data set."""
        if row.job is not None:
            job = row.job.model_copy(update={"data": moved(row.job.data, data)})
            self.studio.navigate.emit("train", {"job": job})

    # ── imported runs ────────────────────────────────────────────────────────────────────────

    def _on_copying(self, folder: Path, done: int, total: int) -> None:
        self.copies[folder] = done, total
        self.copying.emit()

    def _on_unpacked(self, result: dict[Path, dict[str, Any]]) -> None:
        self._unpacked |= result
        for folder in result:
            self.dispatcher.adopt(folder)

    def _keep_annotations(self, folder: Path, run_id: str) -> None:
        """Keep name, notes, star and tags until the run is listed; delete its unpacked folder."""
        annotations = self._unpacked.pop(folder)
        if not any(other.parent == folder.parent for other in self._unpacked):
            self.exchange.delete(folder.parent.parent)
        if run_id:
            self._annotations[run_id] = annotations

    def _annotate(self, run_id: str, annotations: dict[str, Any]) -> None:
        self._write(run_id, lambda s: runs.apply_annotations(s, run_id, annotations))

    def _on_copied(self, folder: Path, run_id: str) -> None:
        del self.copies[folder]
        self.copying.emit()
        if folder in self._unpacked:
            self._keep_annotations(folder, run_id)
        if run_id:
            self._awaited.add(run_id)
            self._on_changed(run_id)


def _apply_fix(folder: Path, fix: FixName, label: str | None) -> Path:
    """Create the next version of a data set with a fix applied.

    Raises StudioError if the data set no longer exists or the fix leaves too few rows.
    """
    version = next_version(folder.parent)
    target = free_folder(folder.parent, str(version))
    if apply_fixes_by_name([fix], folder, target, version, label=label) is None:
        raise StudioError(
            tr("The data set has too few rows for this fix."),
            tr("Add rows with the labels named in the advice."),
        )
    return target


def _parse_jobs(rows: Sequence[RunRow]) -> None:
    """Parse the settings of all jobs ahead of the first filter.

    Pauses between batches: a thread gives up the interpreter lock only every 5 ms, and painting the
    table takes it hundreds of times.
    """
    for start in range(0, len(rows), BATCH_ROWS):
        for row in rows[start : start + BATCH_ROWS]:
            _ = row.fields
        time.sleep(PAUSE_SECONDS)
