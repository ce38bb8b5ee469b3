"""Job, run folder and event sink of a run, and its progress counters."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from engine.config.job import JobSpec
from engine.messages.events import Event, Noted, Progressed
from engine.phrases import fill_template
from engine.progress import Cancelled, ProgressCallback
from engine.runs.folder import RunFolder
from engine.runs.full_disk import retry_when_full

Emit = Callable[[Event], None]
Result = TypeVar("Result")


@dataclass(frozen=True)
class RunContext:
    """Job, run folder, event sink and stop request of a run."""

    job: JobSpec
    folder: RunFolder
    emit: Emit = lambda event: None
    stop_requested: Callable[[], bool] = lambda: False

    def note(self, text: str, exact: bool = True, **values: object) -> None:
        """Emit a note, a template with its `values`; `exact` is False if a repeated run may differ
        in rounding."""
        self.emit(Noted(text=fill_template(text, **values), exact=exact))

    def stage(self, name: str) -> ProgressCallback:
        """Progress callback that emits at most 100 events and raises Cancelled on a stop."""
        last = -1

        def report(done: int, total: int) -> None:
            nonlocal last
            if self.stop_requested():
                raise Cancelled
            percent = done * 100 // total if total else done // 1000
            if percent != last:
                last = percent
                self.emit(Progressed(stage=name, done=done, total=total))

        return report

    def retry_when_full(self, write: Callable[[], Result]) -> Result:
        """Call `write`, and again once a full disk has space."""
        return retry_when_full(write, self.emit, self.stop_requested)


@dataclass
class TrainingProgress:
    """Counters of a run, stored in `resume/progress.json`.

    Random numbers need no state: they follow from the seed and the step.
    """

    step: int = 0
    tokens: int = 0  # of all batches, without padding
    best_score: float | None = None  # best metric so far
    best_loss: float | None = None  # validation loss at the best checkpoint
    best_step: int = 0
    evaluations_without_improvement: int = 0
    # largest size that fit after running out of memory; 0: never happened
    micro_batch_size: int = 0
    environment: dict[str, str] = field(default_factory=dict)  # see device/environment.py
    never_predicted: list[str] = field(default_factory=list)  # labels already warned about
    loss_scale: float = 2.0**16  # fp16 only; see `LossScaler`
    good_steps: int = 0  # with this loss scale
