"""Time, memory and disk of the job, from one measured step. No widgets."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QObject, Signal

from app.explorer import OneTimeWorker
from app.studio import Studio
from app.translation import tr
from app.widgets.text import numbers
from app.widgets.text.spec_texts import value_text
from engine.config.features import FINE_TUNED
from engine.config.job import JobSpec
from engine.config.training import TrainingSpec
from engine.errors import StudioError
from engine.hub import cost
from engine.messages.estimating import Estimate, Estimated
from engine.messages.question import Answer, Refused, Working

MICRO_BATCHES = 4  # per batch, when they are offered


@dataclass(frozen=True)
class Saving:
    """Settings that train the same network in less memory and more time."""

    title: str
    training: TrainingSpec


def savings(training: TrainingSpec) -> list[Saving]:
    """Settings that need less memory than these."""
    size = -(-(training.micro_batch_size or training.batch_size) // MICRO_BATCHES)
    smaller, recomputing = {"micro_batch_size": size}, {"gradient_checkpointing": True}
    changes: list[tuple[str, dict[str, Any]]] = [
        (tr("Micro-batches of {0}").format(size), smaller),
        (tr("Gradient checkpointing"), recomputing),
        (tr("Gradient checkpointing, micro-batches of {0}").format(size), smaller | recomputing),
    ]
    if training.gradient_checkpointing:
        changes = changes[:1]
    return [Saving(title, training.model_copy(update=update)) for title, update in changes]


class EstimateState(QObject):
    """Estimates, cached by job so that going back and forth measures only once.

    If memory is short, settings that need less of it are measured next.

    Signals:
        changed: the estimate, its progress or its problem changed.
    """

    changed = Signal()

    def __init__(
        self, studio: Studio, job: Callable[[], JobSpec | None], parent: QObject | None = None
    ) -> None:
        """`job` returns the job of the current choices; None if a step is not complete."""
        super().__init__(parent)
        self._studio, self._job = studio, job
        self.progress: Working | None = None
        self.problem: StudioError | None = None
        self._estimates: dict[str, Estimated] = {}
        self._measuring_key = ""  # key of the job being measured
        self._declined_key = ""  # key of the job that is measured only on request
        self._refused = dict[str, bool]()  # by key; True for lack of memory
        self._last_key: tuple[JobSpec | None, str] = (None, "")  # the last job, and its key
        self._worker: OneTimeWorker | None = None

    @property
    def result(self) -> Estimated | None:
        """The estimate of the current job; None if it was not measured."""
        return self._estimates.get(self._key())

    @property
    def savings(self) -> list[tuple[Saving, Estimated]]:
        """Measured settings that need less memory, if memory is short for the current job."""
        result = self.result
        found = ((saving, self._estimates.get(_key(job))) for saving, job in self._saving_jobs())
        return [
            (saving, estimate)
            for saving, estimate in found
            if estimate is not None and (result is None or estimate.memory < result.memory)
        ]

    @property
    def measures_savings(self) -> bool:
        """True while settings are measured that need less memory."""
        return self.progress is not None and self._measuring_key != self._key()

    def _saving_jobs(self) -> list[tuple[Saving, JobSpec]]:
        """Jobs with less memory than the current one, if that is short of it."""
        job, result = self._job(), self.result
        is_short = self._refused.get(self._key()) if result is None else verdict(result) != "fits"
        if job is None or not is_short or job.search or job.features.vectors != FINE_TUNED:
            return []
        return [
            (saving, job.model_copy(update={"training": saving.training}))
            for saving in savings(job.training)
        ]

    def _key(self) -> str:
        """Key of the job, without its name and seed; “” if there is no job."""
        job = self._job()
        if job is None:
            return ""
        if job is not self._last_key[0]:
            self._last_key = job, _key(job)
        return self._last_key[1]

    def measure_automatically(self) -> None:
        """Measure, unless the user cancelled that for this job or it was refused."""
        if self._key() != self._declined_key:
            self.measure()

    def measure(self) -> None:
        """Measure one step of the current job, unless that is done or in progress."""
        job, key = self._job(), self._key()
        if job is None or key in self._estimates or key == self._measuring_key:
            return
        self.stop()
        self._declined_key = ""
        self._start(job, key)

    def _start(self, job: JobSpec, key: str) -> None:
        self._measuring_key = key
        self.progress = Working(stage=self.tr("Starting to measure"))
        self._worker = self._studio.one_time_worker(
            Estimate(job=job),
            lambda answer: self._on_done(key, answer),
            lambda refusal: self._on_refused(key, refusal),
            lambda progress: self._on_progress(key, progress),
            self,
        )
        self.changed.emit()

    def _measure_saving(self) -> None:
        """Measure the next settings that need less memory, if there are any."""
        for _, job in self._saving_jobs():
            key = _key(job)
            if key not in self._estimates and key not in self._refused:
                self._start(job, key)
                return

    def cancel(self) -> None:
        """Stop measuring; the estimate stays unknown."""
        self.stop()
        self.changed.emit()

    def stop(self) -> None:
        """Stop measuring without emitting `changed`."""
        if self._worker is not None:
            self._worker.cancel()
            self._declined_key = self._measuring_key
        self._clear_worker()
        self.problem = None

    def _clear_worker(self) -> None:
        self._worker, self._measuring_key, self.progress = None, "", None

    def _on_progress(self, key: str, progress: Working) -> None:
        if key == self._measuring_key:
            self.progress = progress
            self.changed.emit()

    def _on_done(self, key: str, answer: Answer) -> None:
        if key == self._measuring_key and isinstance(answer, Estimated):
            self._clear_worker()
            self._estimates[key] = answer
            self._refused.pop(key, None)
            self.changed.emit()
            self._measure_saving()

    def _on_refused(self, key: str, refusal: Refused) -> None:
        if key == self._measuring_key:
            self._clear_worker()
            self._refused[key] = refusal.lacks_memory
            if key == self._key():
                self._declined_key = key
                self.problem = StudioError(refusal.problem, refusal.advice)
            self.changed.emit()
            self._measure_saving()


def _key(job: JobSpec) -> str:
    """Key of a job, without its name and seed."""
    training = job.training.model_copy(update={"seed": 0})
    return job.model_copy(update={"name": "", "training": training}).model_dump_json()


def verdict(estimate: Estimated) -> cost.Verdict:
    """Compare the memory needed with the free memory."""
    return cost.verdict(estimate.memory, estimate.available)


def verdict_text(estimate: Estimated) -> str:
    titles = {"fits": tr("fits"), "tight": tr("tight"), "too large": tr("too large")}
    return titles[verdict(estimate)]


def verdict_sentence(estimate: Estimated) -> str:
    sentences = {
        "fits": tr("Fits in memory. Takes about {0}."),
        "tight": tr("Barely fits in memory. Takes about {0}."),
        "too large": tr("Does not fit in memory. Would take about {0}."),
    }
    text = sentences[verdict(estimate)].format(numbers.duration(estimate.seconds))
    if estimate.runs == 1:
        return text
    return tr("{0} ({1} runs together)").format(text, numbers.count(estimate.runs))


def saving_text(saving: Saving, estimate: Estimated) -> str:
    """Title, memory and time of settings that need less memory."""
    return tr("{title}: {memory}, {time}").format(
        title=saving.title,
        memory=numbers.size(estimate.memory),
        time=numbers.duration(estimate.seconds),
    )


def estimate_text(estimate: Estimated) -> str:
    """Steps, memory, size, device and disk in sentences."""
    template = tr(
        "{steps} steps at {pace} each. Memory: {memory} of {available} free."
        " {parameters} parameters on {device}."
    )
    text = template.format(
        steps=numbers.count(estimate.steps),
        pace=step_time(estimate.seconds_per_step),
        memory=numbers.size(estimate.memory),
        available=numbers.size(estimate.available),
        parameters=numbers.large_count(estimate.parameters),
        device=_device(estimate),
    )
    return f"{text} {disk_text(estimate)}".strip()


def disk_text(estimate: Estimated) -> str:
    """Disk space of checkpoints, snapshots and cached vectors; “” if unknown."""
    if not estimate.checkpoint:
        return ""
    parts = [
        tr("{0} checkpoints of {1}").format(
            numbers.count(estimate.checkpoints), numbers.size(estimate.checkpoint)
        )
    ]
    if estimate.snapshots:
        parts.append(
            tr("{0} snapshots of {1}").format(
                numbers.count(estimate.snapshots), numbers.size(estimate.snapshot)
            )
        )
    if estimate.cache:
        parts.append(tr("a cache of {0}").format(numbers.size(estimate.cache)))
    return tr("Needs up to {total} of disk ({parts}).").format(
        total=numbers.size(estimate.disk), parts=", ".join(parts)
    )


def step_time(seconds: float) -> str:
    """Duration of one step, in ms if short."""
    if seconds < 1:
        return tr("{0} ms").format(max(1, round(1000 * seconds)))
    if seconds < 10:
        return tr("{0} s").format(numbers.decimal(seconds, 1))
    return numbers.duration(seconds)


def _device(estimate: Estimated) -> str:
    threads = tr("%n thread(s)", estimate.threads) if estimate.threads else ""
    device = value_text(estimate.device)
    return ", ".join(part for part in (device, estimate.precision, threads) if part)
