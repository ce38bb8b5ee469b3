"""Time and memory of the chosen job, as one measured step says. No widgets."""

from collections.abc import Callable

from PySide6.QtCore import QObject, Signal

from app.explorer import OneTimeWorker
from app.studio import Studio
from engine.config.job import JobSpec
from engine.errors import StudioError
from engine.messages.estimating import Estimate, Estimated
from engine.messages.question import Answer, Refused, Working


class EstimateState(QObject):
    """What was measured is kept for each job, so that going back and forth measures once.

    Signals:
        changed: the estimate, its progress or its problem is another now.
    """

    changed = Signal()

    def __init__(
        self, studio: Studio, job: Callable[[], JobSpec | None], parent: QObject | None = None
    ) -> None:
        """`job` gives the job as composed so far; None where something is still missing."""
        super().__init__(parent)
        self._studio, self._job = studio, job
        self.progress: Working | None = None
        self.problem: StudioError | None = None
        self._found: dict[str, Estimated] = {}
        self._measuring = ""  # the key of the job that is measured now
        self._declined = ""  # that of the job that is not measured unasked
        self._worker: OneTimeWorker | None = None

    @property
    def found(self) -> Estimated | None:
        """The estimate of the present job, where it was measured."""
        return self._found.get(_key(self._job()))

    def measure_unasked(self) -> None:
        """Measure, unless the user has stopped that for this job or it was refused."""
        if _key(self._job()) != self._declined:
            self.measure()

    def measure(self) -> None:
        """Measure one step of the present job, unless that was done or is being done."""
        job = self._job()
        key = _key(job)
        if job is None or key in self._found or key == self._measuring:
            return
        self.cancel()
        self._declined, self._measuring = "", key
        self.progress = Working(stage=self.tr("Starting to measure"))
        self._worker = self._studio.one_time_worker(
            Estimate(job=job),
            lambda answer: self._on_done(key, answer),
            lambda refusal: self._on_refused(key, refusal),
            lambda progress: self._on_progress(key, progress),
            self,
        )
        self.changed.emit()

    def cancel(self) -> None:
        """Stop measuring; the estimate stays unknown."""
        if self._worker is not None:
            self._worker.cancel()
            self._declined = self._measuring
        self._forget_worker()
        self.problem = None
        self.changed.emit()

    def _forget_worker(self) -> None:
        self._worker, self._measuring, self.progress = None, "", None

    def _on_progress(self, key: str, progress: Working) -> None:
        if key == self._measuring:
            self.progress = progress
            self.changed.emit()

    def _on_done(self, key: str, answer: Answer) -> None:
        if key == self._measuring and isinstance(answer, Estimated):
            self._forget_worker()
            self._found[key] = answer
            self.changed.emit()

    def _on_refused(self, key: str, refusal: Refused) -> None:
        if key == self._measuring:
            self._declined = key
            self._forget_worker()
            self.problem = StudioError(refusal.problem, refusal.advice)
            self.changed.emit()


def _key(job: JobSpec | None) -> str:
    """What an estimate depends on: the job without its name and the seed; “” without a job."""
    if job is None:
        return ""
    training = job.training.model_copy(update={"seed": 0})
    return job.model_copy(update={"name": "", "training": training}).model_dump_json()
