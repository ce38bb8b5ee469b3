"""Evaluation of further rows by a worker: another part of the data, or a file."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app import background
from app.explorer import OneTimeWorker
from app.studio import Studio
from engine.config.dataset import FileData, SplitName
from engine.errors import StudioError
from engine.messages.evaluating import BaselinesFitted, Evaluate, Evaluated, FitBaselines
from engine.messages.question import Answer, Question, Refused, Working
from engine.phrases import join
from engine.results.predictions import PredictionInfo
from engine.results.store import baselines_question, evaluation_question
from engine.runs.folder import RunFolder


@dataclass(frozen=True)
class ResultsSource:
    """The model whose results are shown.

    Args:
        folder: the folder of its results.
        find_checkpoint: returns the checkpoint of some predictions; None if it was deleted.
        make_evaluation: makes the job that scores a part of its data; reads files, and raises
            StudioError without a checkpoint. For rows of a file, the data are replaced.
        has_data: True if it has a data set with parts; else there are only files.
        make_baselines: makes the job that fits simple models for the rows of some predictions.
        run: the run that trained the model; None for other models.
    """

    folder: Path
    find_checkpoint: Callable[[PredictionInfo], Path | None]
    make_evaluation: Callable[[SplitName], Evaluate]
    has_data: bool = True
    make_baselines: Callable[[PredictionInfo], FitBaselines] | None = None
    run: RunFolder | None = None


class Evaluator(QObject):
    """Runs one evaluation at a time in a separate process.

    Signals:
        started: a description of the rows that are scored.
        progressed: done, total, stage.
        ended: the file of the predictions; None without predictions.
        fitted: the baselines are ready.
    """

    started = Signal(str)
    progressed = Signal(int, int, str)
    ended = Signal(object)
    fitted = Signal()

    def __init__(self, studio: Studio, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._studio = studio
        self._worker: OneTimeWorker | None = None
        self.is_busy = False

    def score_part(self, source: ResultsSource, part: SplitName) -> None:
        self._ask(lambda: source.make_evaluation(part), self.tr("Scoring the rows"))

    def score_file(self, source: ResultsSource, path: Path) -> None:
        """Predict all rows of a file; its columns are recognised."""

        def make_question() -> Evaluate:
            data = FileData(path=path)
            change = {"data": data, "part": "file", "source": path.name, "into": source.folder}
            return source.make_evaluation("validation").model_copy(update=change)

        self._ask(make_question, self.tr("Scoring the rows of {0}").format(path.name))

    def fit_baselines(self, source: ResultsSource, info: PredictionInfo) -> None:
        """Fit simple models on the training rows and predict the same rows with them."""
        make = source.make_baselines
        if make is not None:
            self._ask(lambda: make(info), self.tr("Fitting baselines"))

    def cancel(self) -> None:
        if self._worker is not None:
            self._worker.cancel()
            self._worker = None
        self._end(None)

    def _ask(self, make: Callable[[], Question], description: str) -> None:
        if self.is_busy:
            return
        self.is_busy = True
        self.started.emit(description)
        background.run(self, make, self._start, self._on_problem)

    def _start(self, question: Question) -> None:
        if self.is_busy:
            self._worker = self._studio.one_time_worker(
                question, self._on_done, self._on_refused, self._on_working, self
            )

    def _on_working(self, working: Working) -> None:
        self.progressed.emit(working.done, working.total, working.stage)

    def _on_done(self, answer: Answer) -> None:
        self._end(answer.file if isinstance(answer, Evaluated) else None)
        if isinstance(answer, Evaluated) and answer.notes:
            self._studio.notices.info(join(" ", answer.notes))
        if isinstance(answer, BaselinesFitted):
            self.fitted.emit()

    def _on_refused(self, refused: Refused) -> None:
        self._on_problem(StudioError(refused.problem, refused.advice))

    def _on_problem(self, error: BaseException) -> None:
        self._studio.notices.show(error)
        self._end(None)

    def _end(self, file: Path | None) -> None:
        self._worker = None
        if self.is_busy:
            self.is_busy = False
            self.ended.emit(file)


def results_of_run(run: RunFolder, step: int | None = None) -> ResultsSource:
    """Results of the best checkpoint of a run, or of the one at `step`."""

    def find_checkpoint(info: PredictionInfo) -> Path | None:
        folder = None if info.step is None else run.checkpoint(info.step)
        return folder if folder is not None and folder.is_dir() else None

    def make_baselines(info: PredictionInfo) -> FitBaselines:
        assert info.part != "file"  # only parts of the data set have baselines
        return baselines_question(run, info.part, info.labels)

    return ResultsSource(
        run.results,
        find_checkpoint,
        lambda part: evaluation_question(run, part, step),
        make_baselines=make_baselines,
        run=run,
    )
