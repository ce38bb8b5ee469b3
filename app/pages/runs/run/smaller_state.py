"""State of a search for smaller models of a run."""

from pathlib import Path
from typing import NamedTuple

from PySide6.QtCore import QCoreApplication, QObject, Signal

from app import background
from app.explorer import OneTimeWorker
from app.studio import Studio
from app.translation import translated
from engine.checkpoints.info import checkpoint_info
from engine.messages.question import Answer, Refused, Working
from engine.messages.shrinking import Shrink, Shrunk
from engine.results.students import read_points, students_folder
from engine.runs.folder import RunFolder

TRIALS = 8


class OtherModel(NamedTuple):
    """A model that is smaller than the run and can learn from it."""

    name: str
    path: Path
    parameters: int
    fraction: float  # of the parameters of the run


class SmallerState(QObject):
    """The search of one run: its options, progress and points. No widgets.

    Signals:
        changed: any of them changed.
    """

    changed = Signal()

    def __init__(self, studio: Studio, run: Path, name: str) -> None:
        super().__init__()
        self._studio, self.run, self.name = studio, run, name
        self.trials = TRIALS
        self.others: list[OtherModel] = []  # the smallest first
        self.students: tuple[Path, ...] = ()  # the chosen ones
        self.texts: Path | None = None
        self.shrunk: Shrunk | None = None
        self.working: Working | None = None
        self.problem = ""
        self._worker: OneTimeWorker | None = None
        program = QCoreApplication.instance()
        assert program is not None
        program.aboutToQuit.connect(self.stop)

    def open(self) -> None:
        """Read the points of an earlier search, and other models, outside the GUI thread."""
        folder = students_folder(self.run)
        background.run(self, lambda: read_points(folder), self._on_answer, self._on_failed)
        background.run(self, self._read_models, self._on_models, self._on_failed)

    def choose(self, model: Path, is_student: bool) -> None:
        """Include another model in the search, or leave it out."""
        others = [path for path in self.students if path != model]
        self.students = (*others, model) if is_student else tuple(others)
        self.changed.emit()

    @property
    def is_running(self) -> bool:
        return self._worker is not None

    @property
    def done(self) -> int:
        """Number of students so far."""
        return 0 if self.shrunk is None else self.shrunk.done

    def start(self) -> None:
        """Search in a separate process; it continues with what an earlier search has done."""
        if self.is_running:
            return
        self.problem, self.working = "", Working(stage=self.tr("Starting"))
        self._worker = self._studio.one_time_worker(
            Shrink(
                run=self.run,
                into=students_folder(self.run),
                trials=self.trials,
                students=self.students,
                texts=self.texts,
            ),
            self._on_done,
            self._on_refused,
            self._on_working,
            self,
            self._on_answer,
        )
        self.changed.emit()

    def stop(self) -> None:
        """End the process; finished students are kept."""
        if self._worker is not None:
            self._worker.cancel()
            self._worker, self.working = None, None
            self.changed.emit()

    def _on_working(self, working: Working) -> None:
        self.working = working
        self.changed.emit()

    def _on_done(self, answer: Answer) -> None:
        self._worker, self.working = None, None
        self._on_answer(answer)

    def _on_answer(self, answer: Answer | None) -> None:
        if isinstance(answer, Shrunk):
            self.shrunk = answer
        self.changed.emit()

    def _on_refused(self, refusal: Refused) -> None:
        self._worker, self.working = None, None
        self.problem = translated(refusal.phrase)
        self.changed.emit()

    def _on_failed(self, error: BaseException) -> None:
        self.problem = translated(background.as_studio_error(error).phrase)
        self.changed.emit()

    def _read_models(self) -> list[OtherModel]:
        """The models of the home and elsewhere that are smaller than the run."""
        run = RunFolder(self.run)
        if (step := run.best_step()) is None:
            return []
        size = checkpoint_info(run.checkpoint(step)).parameters
        others = [
            OtherModel(entry.name, entry.path, entry.info.parameters, entry.info.parameters / size)
            for entry in self._studio.models()
            if entry.info is not None and entry.origin != "run"
        ]
        smaller = [model for model in others if model.fraction < 1]
        return sorted(smaller, key=lambda model: model.parameters)

    def _on_models(self, models: list[OtherModel]) -> None:
        self.others = models
        self.changed.emit()
