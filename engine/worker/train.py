"""The training worker: reads one folder and fills it. The lock first, torch after."""

import os
import platform
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from engine.errors import DiskFull, StudioError
from engine.messages import Ended, Event, Started
from engine.runs.folder import RunFolder, step_of
from engine.runs.full_disk import Channel, reserve

FAILED = 1


def main(folder: Path, listen: Callable[[Event], None] = lambda event: None) -> int:
    """Train the job of a run folder to its end; the exit code is 0 unless it failed.

    `listen` hears each event after it is written.
    """
    run = RunFolder(folder)
    wish = _Wish()
    channel = Channel(run, listen, lambda: wish.stop or run.stop_wanted())
    with run.lock(), reserve(run):
        return _work(run, channel)


def _work(run: RunFolder, channel: Channel) -> int:
    """Whatever happens, the last word is an Ended, unless the process is killed."""
    tell = channel.tell
    try:
        tell(Started(pid=os.getpid(), step=_last_step(run), host=platform.node()))
        from engine.training.loop import train  # torch, only now that the lock is held

        outcome, step = train(run.job(), tell, channel.stop_wanted, run)
        tell(Ended(outcome=outcome, step=step))
        return 0
    except DiskFull as full:  # and a stop was wanted, or else it would wait
        step = _last_step(run)
        advice = f"{full.advice} Going on repeats the steps after {step} exactly."
        ended = Ended(outcome="stopped", step=step, problem=full.problem, advice=advice)
        channel.tell_at_last(ended)
        return 0
    except StudioError as error:
        tell(
            Ended(
                outcome="failed",
                problem=error.problem,
                advice=error.advice,
                details=error.details,
            )
        )
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


def _last_step(run: RunFolder) -> int:
    """The step of the last checkpoint; 0 where there is none."""
    folders = run.checkpoint_folders()
    return step_of(folders[-1]) if folders else 0


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
