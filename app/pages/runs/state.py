"""All runs as they stand, and what can be done with each. No widgets."""

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QObject, QTimer, Signal
from sqlalchemy.orm import Session

from app import background
from app.pages.runs.rows import RunRow, read_row, read_rows
from app.studio import Studio
from engine.data.checks.curing import Named, apply_named
from engine.errors import StudioError
from engine.home import free_folder, next_version
from engine.record import runs as table
from engine.runs.advice import Advice
from engine.spec.dataset import StoredData
from engine.spec.job import JobSpec

translate = QCoreApplication.translate
READ_DELAY_MS = 200  # in which changes of runs are read together


class RunsState(QObject):
    """The rows of the table, kept up to date.

    Signals:
        listed: `rows` was read as a whole.
        changed: this RunRow is new or another now.
        removed: the id of a run that is gone.
        copying: another is being copied in, or more of it, or one no more; see `copies`.
        arrived: the id of a run that was copied in and is listed now.
    """

    listed = Signal()
    changed = Signal(object)
    removed = Signal(str)
    copying = Signal()
    arrived = Signal(str)

    def __init__(self, studio: Studio, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._studio = studio
        self.rows: dict[str, RunRow] = {}
        self.copies: dict[Path, tuple[int, int]] = {}  # bytes that are copied, and in all
        self.is_listed = False
        self._stale: set[str] = set()
        self._awaited: set[str] = set()  # copied in, and not listed yet
        self._reading = False
        self._home = studio.home
        self._curing: background.Job | None = None
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.setInterval(READ_DELAY_MS)
        self._pause.timeout.connect(self._read_stale)
        dispatcher = studio.dispatcher
        dispatcher.run_added.connect(self._on_changed)
        dispatcher.run_changed.connect(self._on_changed)
        dispatcher.run_removed.connect(self._on_removed)
        dispatcher.copying.connect(self._on_copying)
        dispatcher.copied.connect(self._on_copied)

    def read(self) -> None:
        """Read all runs, off the window's thread."""
        record = self._studio.record
        background.run(self, lambda: read_rows(record), self._on_rows)

    def _on_rows(self, rows: list[RunRow]) -> None:
        self.rows = {row.id: row for row in rows}
        self.is_listed = True
        self.listed.emit()

    def _on_changed(self, run_id: str) -> None:
        self._stale.add(run_id)
        if not self._pause.isActive() and not self._reading:
            self._pause.start()

    def _read_stale(self) -> None:
        """Read what changed in the meantime, one work at a time."""
        wanted, self._stale = self._stale, set()
        record = self._studio.record
        self._reading = True

        def work() -> list[RunRow]:
            return [row for run in wanted if (row := read_row(record, run)) is not None]

        background.run(self, work, self._on_read, self._on_not_read)

    def _on_read(self, rows: list[RunRow]) -> None:
        self._reading = False
        for row in rows:
            self.rows[row.id] = row
            self.changed.emit(row)
            if row.id in self._awaited:
                self._awaited.discard(row.id)
                self.arrived.emit(row.id)
        if self._stale:
            self._pause.start()

    def _on_not_read(self, error: BaseException) -> None:
        self._reading = False
        self._studio.notices.show(error)

    def _on_removed(self, run_id: str) -> None:
        self._stale.discard(run_id)
        if self.rows.pop(run_id, None) is not None:
            self.removed.emit(run_id)

    # ── what the user says of a run ──────────────────────────────────────────────────────────

    def rename(self, run_id: str, name: str) -> None:
        if name.strip():
            self._write(run_id, lambda s: table.set_name(s, run_id, name.strip()[:200]))

    def set_notes(self, run_id: str, notes: str) -> None:
        self._write(run_id, lambda s: table.set_notes(s, run_id, notes))

    def set_star(self, run_id: str, star: bool) -> None:
        self._write(run_id, lambda s: table.set_star(s, run_id, star))

    def _write(self, run_id: str, work: Callable[[Session], None]) -> None:
        """Change the record off the window's thread, then tell everyone of it."""
        record = self._studio.record

        def change() -> None:
            with record.session() as session:
                work(session)

        background.run(self, change, lambda _: self._studio.dispatcher.run_changed.emit(run_id))

    # ── what the user wants of a run ─────────────────────────────────────────────────────────

    def stop(self, run_id: str) -> None:
        self._studio.dispatcher.stop(run_id)

    def resume(self, run_id: str) -> None:
        self._studio.dispatcher.resume(run_id)

    def hold(self, run_id: str) -> None:
        self._studio.dispatcher.hold(run_id)

    def start_next(self, run_ids: Sequence[str]) -> None:
        self._studio.dispatcher.start_next(*run_ids)

    def force_stop(self, run_id: str) -> None:
        self._studio.dispatcher.force_stop(run_id)

    def remove(self, run_ids: Sequence[str]) -> None:
        self._studio.dispatcher.remove(*run_ids)

    def open_in_explore(self, checkpoint: Path) -> None:
        self._studio.go.emit("explore", checkpoint)

    def fine_tune(self, checkpoint: Path) -> None:
        self._studio.go.emit("train", {"model": checkpoint})

    def start_again(self, row: RunRow, advice: Advice | None = None) -> None:
        """Take the job of a run to the train page, to change one thing, or as an advice has it."""
        if row.job is None:
            return
        if advice is not None and advice.cure is not None:
            self._start_cured(row.job, advice.cure)
            return
        job = row.job if advice is None else advice.applied(row.job)
        self._studio.go.emit("train", {"job": job})

    def can_follow(self, row: RunRow, advice: Advice) -> bool:
        """Whether there is a run that tries it: a cure needs a data set of this home."""
        if advice.cure is None:
            return bool(advice.change)
        data = row.job.data if row.job is not None else None
        return isinstance(data, StoredData) and data.folder.parent.parent == self._home.datasets

    def _start_cured(self, job: JobSpec, cure: Named) -> None:
        """The same with a version of its data set that is cured, made off the window's thread."""
        if self.is_curing or not isinstance(job.data, StoredData):
            return
        folder = job.data.folder

        def made(into: Path) -> None:
            self._curing = None
            self._studio.datasets_changed.emit()
            data = StoredData(folder=into)
            self._studio.go.emit("train", {"job": job.model_copy(update={"data": data})})

        def failed(error: BaseException) -> None:
            self._curing = None
            self._studio.notices.show(error)

        self._curing = background.run(self, lambda: _cured(folder, cure), made, failed)

    @property
    def is_curing(self) -> bool:
        """Whether a version of a data set is being made for a run that follows an advice."""
        return self._curing is not None

    def train_on(self, row: RunRow, data: Path) -> None:
        """Take the job of a run to the train page, with another version of its data set."""
        if row.job is not None:
            job = row.job.model_copy(update={"data": StoredData(folder=data)})
            self._studio.go.emit("train", {"job": job})

    # ── runs from elsewhere ──────────────────────────────────────────────────────────────────

    def adopt(self, folder: Path) -> None:
        """Copy in a run that was trained elsewhere."""
        self._studio.dispatcher.adopt(folder)

    def cancel_copies(self) -> None:
        self._studio.dispatcher.cancel_copies()

    def _on_copying(self, folder: Path, done: int, total: int) -> None:
        self.copies[folder] = done, total
        self.copying.emit()

    def _on_copied(self, folder: Path, run_id: str) -> None:
        del self.copies[folder]
        self.copying.emit()
        if run_id:
            self._awaited.add(run_id)
            self._on_changed(run_id)


def _cured(folder: Path, cure: Named) -> Path:
    """The next version of a data set, without what an advice is about.

    Raises StudioError where nothing in it can be mended so, or it is gone.
    """
    version = next_version(folder.parent)
    into = free_folder(folder.parent, str(version))
    if apply_named([cure], folder, into, version) is None:
        raise StudioError(
            translate("Runs", "The data set has too few rows for that."),
            translate("Runs", "Add rows with the labels that are named."),
        )
    return into
