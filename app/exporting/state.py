"""One export: what is wanted, how far it is, and how it ended. No widgets."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QObject, QStandardPaths, Signal

from app import background
from app.explorer import OneTimeWorker
from app.studio import Studio
from engine.config.export import PRECISIONS, Form, Precision
from engine.files.atomic_write import clear_leftovers_of
from engine.files.home import folder_name, free_folder
from engine.messages import now
from engine.messages.exporting import Export, Exported
from engine.messages.question import Answer, Refused, Working
from engine.runs.exports import ExportNote, note_export


class ExportState(QObject):
    """Signals:
    changed: what is wanted, or how far it is, or how it ended.
    """

    changed = Signal()

    def __init__(
        self,
        studio: Studio,
        checkpoint: Path,
        name: str,
        stored: str = "float32",
        parent: QObject | None = None,
    ) -> None:
        """`stored`: the precision in which the checkpoint is stored; it is offered first."""
        super().__init__(parent)
        self._studio, self._checkpoint = studio, checkpoint
        self.name = name
        self.form: Form = "hf"
        self.precision: Precision = "float32"
        if stored in PRECISIONS["hf"]:
            self.precision = stored
        documents = QStandardPaths.StandardLocation.DocumentsLocation
        place = Path(QStandardPaths.writableLocation(documents))
        self.place = place if place.is_dir() else Path.home()
        self.texts: Path | None = None
        self.target = self._free()
        self.working: Working | None = None
        self.exported: Exported | None = None
        self.problem: Refused | None = None
        self._worker: OneTimeWorker | None = None
        program = QCoreApplication.instance()
        assert program is not None
        program.aboutToQuit.connect(self.cancel)

    # ── what is wanted ───────────────────────────────────────────────────────────────────────

    def choose(self, form: Form, precision: Precision) -> None:
        """A form, and a precision; the form's usual one where it does not have this one."""
        self.form = form
        possible = PRECISIONS[form]
        self.precision = precision if precision in possible else possible[0]
        self._want()

    def set_place(self, place: Path) -> None:
        """The folder in which the export's own folder appears."""
        self.place = place
        self._want()

    def set_texts(self, texts: Path | None) -> None:
        self.texts = texts
        self._want()

    def _want(self) -> None:
        self.target = self._free()
        self.changed.emit()

    def _free(self) -> Path:
        parts = [self.name, self.form, *([] if self.precision == "float32" else [self.precision])]
        return free_folder(self.place, folder_name("-".join(parts)))

    # ── how far it is ────────────────────────────────────────────────────────────────────────

    @property
    def is_running(self) -> bool:
        return self._worker is not None

    def start(self) -> None:
        """Export in a process of its own."""
        if self.is_running:
            return
        self.target = self._free()
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
        """Stop at once; what was written goes when the process has gone."""
        if self._worker is not None:
            self._worker.cancel(self._clear())
            self._worker, self.working = None, None
            self.changed.emit()

    def back(self) -> None:
        """Forget how the last one ended; what was wanted stays."""
        self.exported, self.problem = None, None
        self._want()

    def _clear(self) -> Callable[[], object]:
        """What removes the leftovers of this target, also when this state is no more."""
        studio, target = self._studio, self.target
        return lambda: background.run(studio, lambda: clear_leftovers_of(target), lambda _: None)

    def _on_working(self, working: Working) -> None:
        self.working = working
        self.changed.emit()

    def _on_exported(self, answer: Answer) -> None:
        self._worker, self.working = None, None
        if isinstance(answer, Exported):
            self.exported = answer
            self._note(answer)
        self.changed.emit()

    def _note(self, exported: Exported) -> None:
        """Let the lineage know of it."""
        home, notices = self._studio.home, self._studio.notices
        note = ExportNote(
            at=now(),
            checkpoint=self._checkpoint,
            folder=exported.folder,
            form=exported.report.form,
            precision=exported.report.precision,
        )
        background.run(self, lambda: note_export(home, note), lambda _: None, notices.show)

    def _on_refused(self, refusal: Refused) -> None:
        self._worker, self.working, self.problem = None, None, refusal
        self._clear()()
        self.changed.emit()
