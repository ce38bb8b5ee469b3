"""List, import and deletion of models and word vectors. No widgets."""

from collections.abc import Callable, Sequence
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app import background, trash
from app.drops import MODEL_FILES, holds_model
from app.explorer import OneTimeWorker
from app.exporting.state import ExportState
from app.library import ModelEntry, VectorsEntry, word_vectors
from app.studio import Studio
from app.uses import Uses, read_uses, reads_model
from engine.checkpoints.archives import find_model_folder, model_name
from engine.checkpoints.other_forms import folder_form
from engine.data.word_vectors.reading import (
    Layout,
    examine,
    vectors_name,
)
from engine.files.home import free_folder
from engine.messages.importing import Import, Imported
from engine.messages.question import Answer, Question, Refused, Working
from engine.messages.word_vectors import ImportVectors, VectorsImported


def model_folder(paths: Sequence[Path]) -> Path | None:
    """Find a model folder: one of the dropped paths, one inside, or the folder of a dropped file.

    An archive that contains a model counts as a model folder.
    """
    for path in paths:
        if holds_model(path):
            return path
        if path.is_dir() and any((path / name).is_file() for name in MODEL_FILES):
            return path
        if path.name in MODEL_FILES and path.is_file():
            return path.parent
        if path.is_dir() and (folder := find_model_folder(path)) is not None:
            return folder
        if folder_form(path) is not None:  # the import names it
            return path
    return None


class ModelsState(QObject):
    """The models and word vectors, and the import of one.

    Signals:
        listed: `models` changed.
        importing_changed: progress or outcome of the import.
    """

    listed = Signal()
    importing_changed = Signal()

    def __init__(self, studio: Studio, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._studio = studio
        self.models: list[ModelEntry] | None = None  # None: not read yet
        self.vectors: list[VectorsEntry] = []
        self.source: Path | None = None  # of the last import
        self.is_of_vectors = False  # the last import
        self.working: Working | None = None
        self.imported: Imported | VectorsImported | None = None
        self.problem: Refused | None = None
        self._reading = background.LatestJob(self)
        self._worker: OneTimeWorker | None = None
        studio.models_changed.connect(self.read_list)

    # ── list ─────────────────────────────────────────────────────────────────────────────────

    def read_list(self) -> None:
        """Read the list again outside the GUI thread."""
        studio = self._studio
        self._reading.run(lambda: (studio.models(), word_vectors(studio.home)), self._on_list)

    def _on_list(self, lists: tuple[list[ModelEntry], list[VectorsEntry]]) -> None:
        self.models, self.vectors = lists
        self.listed.emit()

    def model_at(self, path: Path) -> ModelEntry | None:
        return next((model for model in self.models or [] if model.path == path), None)

    def vectors_at(self, path: Path) -> VectorsEntry | None:
        return next((vectors for vectors in self.vectors if vectors.path == path), None)

    # ── importing ────────────────────────────────────────────────────────────────────────────

    @property
    def is_importing(self) -> bool:
        return self._worker is not None

    def import_model(self, source: Path, name: str = "") -> None:
        """Import the checkpoint in `source` in a separate process.

        Its name defaults to the folder's name.
        """
        target = free_folder(self._studio.home.models, name or model_name(source))
        self._start(source, Import(folder=source, into=target), self.tr("Reading the folder"))

    def examine_vectors(self, source: Path, done: Callable[[Layout], None]) -> None:
        """Recognise a file of word vectors outside the GUI thread; a notice says what is wrong."""
        background.run(self, lambda: examine(source), done, self._studio.notices.show)

    def import_vectors(self, source: Path) -> None:
        """Convert a file of word vectors in a separate process."""
        target = free_folder(self._studio.home.vectors, vectors_name(source))
        question = ImportVectors(file=source, into=target)
        self._start(source, question, self.tr("Reading the file"))

    def _start(self, source: Path, question: Question, stage: str) -> None:
        if self.is_importing:
            return
        self.source, self.imported, self.problem = source, None, None
        self.working, self.is_of_vectors = Working(stage=stage), isinstance(question, ImportVectors)
        self._worker = self._studio.one_time_worker(
            question, self._on_imported, self._on_refused, self._on_working, self
        )
        self.importing_changed.emit()

    def cancel_import(self) -> None:
        """Cancel the import; it leaves no folder."""
        if self._worker is not None:
            self._worker.cancel()
            self._worker, self.working, self.source = None, None, None
            self.importing_changed.emit()

    def _on_working(self, working: Working) -> None:
        self.working = working
        self.importing_changed.emit()

    def _on_imported(self, answer: Answer) -> None:
        self._worker, self.working = None, None
        if isinstance(answer, Imported | VectorsImported):
            self.imported = answer
        self.importing_changed.emit()
        self._studio.models_changed.emit()

    def _on_refused(self, refusal: Refused) -> None:
        self._worker, self.working, self.problem = None, None, refusal
        self.importing_changed.emit()

    def export_state(self, model: ModelEntry) -> ExportState:
        """Export of a model, for the dialog."""
        dtype = model.info.dtype if model.info else "float32"
        return ExportState(self._studio, model.path, model.name, dtype, self)

    # ── deleting ─────────────────────────────────────────────────────────────────────────────

    def why_not_delete(self, model: ModelEntry) -> str:
        """Reason why this model cannot be deleted; “” if it can."""
        if model.origin == "included":
            return self.tr("This model is part of BERT Studio and cannot be deleted.")
        if model.origin == "elsewhere":
            return self.tr("This model is used in place; delete it in its own folder or program.")
        if model.origin == "run":
            return self.tr(
                "This checkpoint belongs to a run. Delete the run on the Runs page to remove it."
            )
        return ""

    def find_uses(self, folder: Path, done: Callable[[Uses], None]) -> None:
        """Find the runs based on the model in a folder."""
        record = self._studio.record
        background.run(self, lambda: read_uses(record, lambda job: reads_model(job, folder)), done)

    def delete(self, model: ModelEntry | VectorsEntry) -> None:
        """Move an imported model or word vectors to the trash; a notice offers undo."""
        sentence = self.tr("“{0}” was moved to the trash.").format(model.name)
        changed = self._studio.models_changed.emit
        trash.delete(self, self._studio.notices, model.path, sentence, changed)
