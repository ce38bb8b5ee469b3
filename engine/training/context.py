"""What a run was asked to do, and whom it tells: the first thing that exists of a training."""

from collections.abc import Callable
from dataclasses import dataclass
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
