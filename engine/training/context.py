"""What a run was asked to do, and whom it tells: the first thing that exists of a training."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from engine.config.job import JobSpec
from engine.messages.events import Event, Noted, Progressed
from engine.progress import Cancelled, ProgressCallback
from engine.runs.folder import RunFolder
from engine.runs.full_disk import retry_when_full

Emit = Callable[[Event], None]
Result = TypeVar("Result")


@dataclass(frozen=True)
class RunContext:
    """A job, the folder of its run, where its events go, and whether it should stop."""

    job: JobSpec
    folder: RunFolder
    emit: Emit = lambda event: None
    stop_wanted: Callable[[], bool] = lambda: False

    def note(self, text: str, exact: bool = True) -> None:
        """Tell the user; `exact` is False where a repetition may differ in rounding."""
        self.emit(Noted(text=text, exact=exact))

    def stage(self, name: str) -> ProgressCallback:
        """Progress of a stage, emitted at most a hundred times; raises Cancelled to end it."""
        last = -1

        def report(done: int, total: int) -> None:
            nonlocal last
            if self.stop_wanted():
                raise Cancelled
            percent = done * 100 // total if total else done // 1000
            if percent != last:
                last = percent
                self.emit(Progressed(stage=name, done=done, total=total))

        return report

    def retry_when_full(self, write: Callable[[], Result]) -> Result:
        """Do `write`, and again once there is space where the disk is full."""
        return retry_when_full(write, self.emit, self.stop_wanted)


@dataclass
class TrainingProgress:
    """The counters of a run, as `resume/progress.json` has them."""

    step: int = 0
    tokens: int = 0  # of all batches so far, without padding
    best_score: float | None = None  # the best metric at the best checkpoint
    best_loss: float | None = None  # on the validation set, at the best checkpoint
    best_step: int = 0
    evaluations_without_improvement: int = 0
    micro_batch_size: int = 0  # examples that fit since memory ran out; 0: it never did
    environment: dict[str, str] = field(default_factory=dict)  # see environment.py
    never_predicted: list[str] = field(default_factory=list)  # labels that were warned of
    loss_scale: float = 2.0**16  # in fp16; see loss_scaling.py
    good_steps: int = 0  # with this scale
