"""Export of runs into files, and import of such files. No widgets."""

import shutil
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal

from app import background
from app.pages.runs.rows import RunRow
from app.studio import Studio
from app.translation import tr
from engine.progress import Cancelled
from engine.runs.bundle import Checkpoints, pack, unpack
from engine.runs.curve_files import CurveFiles
from engine.runs.folder import RunFolder
from engine.runs.tensorboard import TensorBoardFiles


class Exchange(QObject):
    """Exports and imports, one job at a time.

    Signals:
        begun: title of the job.
        progressed: bytes done and in total.
        ended: the job has ended.
        unpacked: the run folders to copy in, with the notes and tags of each.
    """

    begun = Signal(str)
    progressed = Signal(int, int)
    ended = Signal()
    unpacked = Signal(object)

    def __init__(self, studio: Studio, parent: QObject) -> None:
        super().__init__(parent)
        self._studio = studio
        self._job: background.Job | None = None

    def is_busy(self) -> bool:
        return self._job is not None and not self._job.is_over()

    def export(self, rows: Sequence[RunRow], path: Path, checkpoints: Checkpoints) -> None:
        """Write these runs into one file."""
        notes = {row.folder.name: _user_texts(row) for row in rows}
        runs = [RunFolder(row.folder) for row in rows]

        def work(progress: background.Progress) -> Path:
            pack(runs, path, checkpoints, notes, progress, progress.cancelled)
            return path

        self._start(tr("Exporting %Ln run(s)", len(rows)), work, self._on_saved)

    def export_curves(
        self, rows: Sequence[RunRow], into: Path, kind: type[CurveFiles] = TensorBoardFiles
    ) -> None:
        """Write the curves for TensorBoard or MLflow, a folder for each run."""
        runs = [RunFolder(row.folder) for row in rows]

        def work(progress: background.Progress) -> Path:
            for run in runs:
                kind(run, into).write_all(progress, progress.cancelled)
            return into

        self._start(tr("Exporting the curves of %Ln run(s)", len(rows)), work, self._on_saved)

    def open(self, path: Path) -> None:
        """Unpack the runs of a file, to be copied in."""
        into = self._studio.home.cache / f"unpacked-{uuid.uuid4().hex[:12]}"

        def work(progress: background.Progress) -> dict[Path, dict[str, Any]]:
            try:
                return unpack(path, into, progress, progress.cancelled)
            except BaseException:
                shutil.rmtree(into, ignore_errors=True)
                raise

        self._start(tr("Opening {0}").format(path.name), work, self._on_unpacked)

    def forget(self, root: Path) -> None:
        """Delete unpacked files after the copy."""
        background.run(self, lambda: shutil.rmtree(root, ignore_errors=True), lambda _: None)

    def cancel(self) -> None:
        if self._job is not None:
            self._job.cancel()
            self.ended.emit()

    def _start(self, text: str, work: Callable[..., Any], done: Callable[[Any], None]) -> None:
        if self.is_busy():
            self._studio.notices.say(tr("Another file of runs is being written or read."))
            return
        self.begun.emit(text)
        report = self.progressed.emit
        self._job = background.run(self, work, done, self._on_failed, progress=report)

    def _on_saved(self, path: Path) -> None:
        self.ended.emit()
        self._studio.notices.say(tr("Saved as {0}.").format(path))

    def _on_unpacked(self, result: dict[Path, dict[str, Any]]) -> None:
        self.ended.emit()
        self.unpacked.emit(result)

    def _on_failed(self, error: BaseException) -> None:
        self.ended.emit()
        if not isinstance(error, Cancelled):
            self._studio.notices.show(error)


def _user_texts(row: RunRow) -> dict[str, Any]:
    """Name, notes, star and tags, which only the record knows."""
    return {"name": row.name, "notes": row.notes, "star": row.star, "tags": list(row.tags)}
