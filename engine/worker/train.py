"""The training worker: reads one folder and fills it. The lock first, torch after."""

import os
import platform
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from engine.errors import StudioError
from engine.messages import Ended, Event, Started
from engine.runs.folder import RunFolder

FAILED = 1


def main(folder: Path, listen: Callable[[Event], None] = lambda event: None) -> int:
    """Train the job of a run folder to its end; the exit code is 0 unless it failed.

    `listen` hears each event after it is written.
    """
    run = RunFolder(folder)

    def tell(event: Event) -> None:
        run.append(event)
        listen(event)

    with run.lock():
        return _work(run, tell)


def _work(run: RunFolder, tell: Callable[[Event], None]) -> int:
    """Whatever happens, the last word is an Ended, unless the process is killed."""
    wish = _Wish()
    try:
        last = run.checkpoint_folders()[-1:]
        step = int(last[0].name.removeprefix("step-")) if last else 0
        tell(Started(pid=os.getpid(), step=step, host=platform.node()))
        from engine.training.loop import train  # torch, only now that the lock is held

        outcome, step = train(run.job(), tell, lambda: wish.stop or run.stop_wanted(), run)
        tell(Ended(outcome=outcome, step=step))
        return 0
    except StudioError as error:
        tell(Ended(outcome="failed", problem=error.problem, advice=error.advice))
        print(error, file=sys.stderr)
    except Exception as error:  # noqa: BLE001 (the edge: a bug is written down whole)
        details = traceback.format_exc()
        print(details, file=sys.stderr)
        tell(
            Ended(
                outcome="failed",
                problem=f"BERT Studio made a mistake: {type(error).__name__}: {error}"[:300],
                advice="Please report it with the details; the checkpoints of this run are kept.",
                details=details,
                bug=True,
            )
        )
    return FAILED


class _Wish:
    """Ctrl+C and the system's request to end are wishes to stop and save, like the stop file."""

    def __init__(self) -> None:
        self.stop = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._on_signal)

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.stop:  # asked a second time: at once
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        self.stop = True
