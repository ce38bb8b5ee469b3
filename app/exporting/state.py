"""One export: options, progress and result. No widgets."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QObject, QStandardPaths, Signal

from app import background
from app.explorer import OneTimeWorker
from app.studio import Studio
from engine.config.export import PRECISIONS, Form, Precision
from engine.files.atomic_write import clear_file_leftovers
from engine.files.home import folder_name, free_folder
from engine.messages import now
from engine.messages.exporting import Export, Exported
from engine.messages.question import Answer, Refused, Working
from engine.runs.exports import ExportNote, log_export


class ExportState(QObject):
    """The state of one export.

    Signals:
        changed: the options, the progress or the result changed.
    """

    changed = Signal()

    def __init__(
        self,
        studio: Studio,
        checkpoint: Path,
        name: str,
        stored_precision: str = "float32",
        parent: QObject | None = None,
    ) -> None:
        """Create the state; the checkpoint's `stored_precision` is offered first."""
        super().__init__(parent)
        self._studio, self._checkpoint = studio, checkpoint
        self.name = name
        self.form: Form = "hf"
        self.precision: Precision = "float32"
        if stored_precision in PRECISIONS["hf"]:
            self.precision = stored_precision
        documents = QStandardPaths.StandardLocation.DocumentsLocation
        folder = Path(QStandardPaths.writableLocation(documents))
        self.folder = folder if folder.is_dir() else Path.home()
        self.texts: Path | None = None
        self.target = self._free_target()
        self.working: Working | None = None
        self.exported: Exported | None = None
        self.problem: Refused | None = None
        self._worker: OneTimeWorker | None = None
        program = QCoreApplication.instance()
        assert program is not None
        program.aboutToQuit.connect(self.cancel)

    # ── options ──────────────────────────────────────────────────────────────────────────────

    def choose(self, form: Form, precision: Precision) -> None:
        """Choose a format, and a precision if the format has it; else its default."""
        self.form = form
        possible = PRECISIONS[form]
        self.precision = precision if precision in possible else possible[0]
        self._update_target()

    def set_folder(self, folder: Path) -> None:
        """Set the parent folder of the export."""
        self.folder = folder
        self._update_target()

    def set_texts(self, texts: Path | None) -> None:
        self.texts = texts
        self._update_target()

    def _update_target(self) -> None:
        self.target = self._free_target()
        self.changed.emit()

    def _free_target(self) -> Path:
        parts = [self.name, self.form, *([] if self.precision == "float32" else [self.precision])]
        return free_folder(self.folder, folder_name("-".join(parts)))

    # ── progress ─────────────────────────────────────────────────────────────────────────────

    @property
    def is_running(self) -> bool:
        return self._worker is not None

    def start(self) -> None:
        """Export in a separate process."""
        if self.is_running:
            return
        self.target = self._free_target()
        self.exported, self.problem = None, None
        self.working = Working(stage=self.tr("Starting"))
        question = Export(
            checkpoint=self._checkpoint,
            into=self.target,
            form=self.form,
            precision=self.precision,
            texts=self.texts,
        )
        self._worker = self._studio.one_time_worker(
            question, self._on_exported, self._on_refused, self._on_working, self
        )
        self.changed.emit()

    def cancel(self) -> None:
        """Stop immediately; partial files are removed once the process has ended."""
        if self._worker is not None:
            self._worker.cancel(self._make_cleanup())
            self._worker, self.working = None, None
            self.changed.emit()

    def discard_result(self) -> None:
        """Discard the result and keep the options."""
        self.exported, self.problem = None, None
        self._update_target()

    def _make_cleanup(self) -> Callable[[], object]:
        """Return a function that removes partial files, even after this state is deleted."""
        studio, target = self._studio, self.target
        return lambda: background.run(studio, lambda: clear_file_leftovers(target), lambda _: None)

    def _on_working(self, working: Working) -> None:
        self.working = working
        self.changed.emit()

    def _on_exported(self, answer: Answer) -> None:
        self._worker, self.working = None, None
        if isinstance(answer, Exported):
            self.exported = answer
            self._log(answer)
        self.changed.emit()

    def _log(self, exported: Exported) -> None:
        home, notices = self._studio.home, self._studio.notices
        note = ExportNote(
            at=now(),
            checkpoint=self._checkpoint,
            folder=exported.folder,
            form=exported.report.form,
            precision=exported.report.precision,
        )
        background.run(self, lambda: log_export(home, note), lambda _: None, notices.show)

    def _on_refused(self, refusal: Refused) -> None:
        self._worker, self.working, self.problem = None, None, refusal
        self._make_cleanup()()
        self.changed.emit()
