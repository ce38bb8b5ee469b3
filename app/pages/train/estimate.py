"""Time, memory and disk of the job, from one measured step. No widgets."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from PySide6.QtCore import QObject, Signal

from app.explorer import OneTimeWorker
from app.pages.train.choices import Choices
from app.studio import Studio
from app.translation import tr
from app.widgets.text import numbers
from app.widgets.text.spec_texts import value_text
from engine.config.features import FINE_TUNED
from engine.config.job import JobSpec
from engine.config.recommended import WINDOW, recommend
from engine.config.task import LongTexts, WindowedTask
from engine.config.training import TrainingSpec
from engine.errors import StudioError
from engine.hub import cost
from engine.messages.estimating import Estimate, Estimated
from engine.messages.question import Answer, Refused, Working

MICRO_BATCHES = 4  # per batch, when they are offered


@dataclass(frozen=True)
class Other:
    """Other settings of the same job; `long_texts` is None if it stays."""

    title: str
    training: TrainingSpec
    long_texts: LongTexts | None = None

    def apply(self, job: JobSpec) -> JobSpec:
        """The job with these settings."""
        task = job.task
        if self.long_texts is not None:
            task = task.model_copy(update={"long_texts": self.long_texts})
        return job.model_copy(update={"training": self.training, "task": task})


class Measured(NamedTuple):
    """Other settings with their estimate; None if they need more memory than is free."""

    other: Other
    estimate: Estimated | None
    is_chosen: bool = False


def long_text_ways(choices: Choices) -> list[Other]:
    """Windows, and whole texts at once, if some are longer than a window of a network that reads
    more.
    """
    network, task, training = choices.network, choices.task, choices.training
    if network is None or not isinstance(task, WindowedTask):
        return []
    situation = replace(choices.situation, reads_windows=False)
    whole = recommend(situation).training.max_length
    if min(whole, network.max_positions) <= WINDOW:
        return []
    window = training.max_length if task.reads_windows and training.max_length < whole else WINDOW
    windows = tr("In windows of {0} tokens").format(numbers.count(window))
    at_once = tr("At once, up to {0} tokens").format(numbers.count(whole))
    return [
        Other(windows, training.model_copy(update={"max_length": window}), "windows"),
        Other(at_once, training.model_copy(update={"max_length": whole}), "truncate"),
    ]


def savings(training: TrainingSpec) -> list[Other]:
    """Settings that train the same network in less memory and more time."""
    size = -(-(training.micro_batch_size or training.batch_size) // MICRO_BATCHES)
    smaller, recomputing = {"micro_batch_size": size}, {"gradient_checkpointing": True}
    changes: list[tuple[str, dict[str, Any]]] = [
        (tr("Micro-batches of {0}").format(size), smaller),
        (tr("Gradient checkpointing"), recomputing),
        (tr("Gradient checkpointing, micro-batches of {0}").format(size), smaller | recomputing),
    ]
    if training.gradient_checkpointing:
        changes = changes[:1]
    return [Other(title, training.model_copy(update=update)) for title, update in changes]


class EstimateState(QObject):
    """Estimates, cached by job so that going back and forth measures only once.

    The ways to read long texts are measured next, and if memory is short, settings that need less
    of it.

    Signals:
        changed: the estimate, its progress or its problem changed.
    """

    changed = Signal()

    def __init__(
        self,
        studio: Studio,
        job: Callable[[], JobSpec | None],
        ways: Callable[[], list[Other]] = list,
        parent: QObject | None = None,
    ) -> None:
        """`job` returns the job of the current choices, None if a step is not complete, and `ways`
        those to read its long texts."""
        super().__init__(parent)
        self._studio, self._job, self._ways = studio, job, ways
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
    def savings(self) -> list[Measured]:
        """Measured settings that need less memory, if memory is short for the current job."""
        result = self.result
        found = (Measured(other, self._estimates.get(_key(job))) for other, job in self._savings())
        return [
            one
            for one in found
            if one.estimate is not None and (result is None or one.estimate.memory < result.memory)
        ]

    @property
    def ways(self) -> list[Measured]:
        """The measured ways to read long texts."""
        keys = [(other, _key(job)) for other, job in self._way_jobs()]
        return [
            Measured(other, self._estimates.get(key), key == self._key())
            for other, key in keys
            if key in self._estimates or self._refused.get(key)
        ]

    @property
    def measures_savings(self) -> bool:
        """True while settings are measured that need less memory."""
        return self._measures(self._savings())

    @property
    def measures_ways(self) -> bool:
        """True while another way to read long texts is measured."""
        return self._measures(self._way_jobs())

    def _measures(self, jobs: list[tuple[Other, JobSpec]]) -> bool:
        is_other = self.progress is not None and self._measuring_key != self._key()
        return is_other and self._measuring_key in {_key(job) for _, job in jobs}

    def _way_jobs(self) -> list[tuple[Other, JobSpec]]:
        """Jobs that read long texts in each way."""
        return self._others(self._ways())

    def _savings(self) -> list[tuple[Other, JobSpec]]:
        """Jobs with less memory than the current one, if that is short of it."""
        job, result = self._job(), self.result
        is_short = self._refused.get(self._key()) if result is None else verdict(result) != "fits"
        return self._others(savings(job.training)) if job is not None and is_short else []

    def _others(self, others: list[Other]) -> list[tuple[Other, JobSpec]]:
        """The current job with each of these settings, if a single network is fine-tuned."""
        job = self._job()
        if job is None or job.search or job.features.vectors != FINE_TUNED:
            return []
        return [(other, other.apply(job)) for other in others]

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

    def _measure_other(self) -> None:
        """Measure the next other settings, if there are any."""
        for _, job in (*self._way_jobs(), *self._savings()):
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
            self._measure_other()

    def _on_refused(self, key: str, refusal: Refused) -> None:
        if key == self._measuring_key:
            self._clear_worker()
            self._refused[key] = refusal.lacks_memory
            if key == self._key():
                self._declined_key = key
                self.problem = StudioError(refusal.problem, refusal.advice)
            self.changed.emit()
            self._measure_other()


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


def other_text(other: Other, estimate: Estimated | None) -> str:
    """Title, memory and time of other settings."""
    if estimate is None:
        return tr("{title}: more memory than is free").format(title=other.title)
    return tr("{title}: {memory}, {time}").format(
        title=other.title,
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
