"""The training worker: locks a run folder, then loads torch and fills it."""

import json
import os
import platform
import signal
import sys
import traceback
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import FrameType

from engine.desktop.machine_history import sampling
from engine.errors import DiskFull
from engine.messages.events import Ended, Event, Started
from engine.phrases import phrase
from engine.runs import launch
from engine.runs.folder import RunFolder, checkpoint_step
from engine.runs.full_disk import EventWriter, reserve
from engine.runs.ranks import RANK_LOST, Rank, RankLost, this_rank
from engine.system.errors import explain_error
from engine.system.terminal import echo_error
from engine.worker import BUG, FAILED
from engine.worker.ranks import exit_with_worker, run_ranks, write_final_event

STOP_SIGNALS = [getattr(signal, n) for n in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, n)]


def main(
    folder: Path, on_event: Callable[[Event], None] | None = None, processes: int | None = None
) -> int:
    """Train the job of a run folder to its end.

    Args:
        on_event: gets each event after it is written.
        processes: overrides the number in the job. With several, this process starts them and does
            not train itself, unless it is one of them.

    Returns:
        Exit code: 0, 1 after a failure, or 3 after a bug.
    """
    run, rank, request = RunFolder(folder), this_rank(), _StopRequest()
    if rank is not None and rank.has_worker:
        exit_with_worker(request.set)
    if rank is not None and rank.number:
        return _follow(run, rank, lambda: request.requested)
    events = EventWriter(run, on_event, lambda: request.requested or run.stop_requested())
    if rank is not None and rank.has_worker:
        return _work(run, events, rank, processes)
    with run.lock(), reserve(run), sampling(run, os.getpid(), lambda: events.step):
        return _work(run, events, rank, processes)


def wait_for_folder() -> int:
    """Load torch, then read a run folder as a line of JSON from stdin and train there.

    Returns when stdin closes: the standby process is then no longer needed. No tensor is computed
    before the job is known, since it decides the number of threads. The priority is not lowered,
    because it could not be raised again.
    """
    import_module("engine.training.loop")
    line = sys.stdin.buffer.readline()
    if not line:
        return 0
    folder = Path(json.loads(line))
    _redirect(folder)
    return main(folder)


def _redirect(folder: Path) -> None:
    """Send output to the log of the run and read nothing, like a worker started for it."""
    log, nothing = launch.open_log(folder), os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(log)
    os.close(nothing)


def _work(run: RunFolder, events: EventWriter, rank: Rank | None, processes: int | None) -> int:
    """Train; the last event is an Ended, unless the process is killed."""
    try:
        if rank is None or not rank.has_worker:
            events.write(Started(pid=os.getpid(), step=_last_step(run), host=platform.node()))
        job = run.job()
        count = processes or job.hardware.processes
        if rank is None and count > 1:
            return run_ranks(run, count, events)
        from engine.training.device.machine import peak_memory
        from engine.training.loop import train  # loads torch, now that the lock is held

        outcome, step = train(job, run, events.write, events.stop_requested)
        peak = peak_memory()
        ended = Ended(
            outcome=outcome,
            step=step,
            problem=run.stop_reason() if outcome == "stopped" else "",
            memory=peak.process,
            device_memory=peak.device,
        )
        events.write(ended)
        return 0
    except DiskFull as full:  # while a stop was requested; otherwise it would wait
        step = _last_step(run)
        advice = phrase(
            "{advice} Resuming repeats the steps after {step} exactly.",
            advice=full.advice,
            step=step,
        )
        ended = Ended(outcome="stopped", step=step, problem=full.problem, advice=advice)
        events.write_from_reserve(ended)
        return 0
    except Exception as error:  # noqa: BLE001 (the edge: a bug is recorded with its traceback)
        if isinstance(error, RankLost) and rank is not None and rank.has_worker:
            return RANK_LOST  # the worker reports which rank failed first
        events.write(ended := _failure_event(error, events.has_listener))
    return BUG if ended.bug else FAILED


def _follow(run: RunFolder, rank: Rank, stop_requested: Callable[[], bool]) -> int:
    try:
        from engine.training.loop import train

        train(run.job(), run, stop_requested=stop_requested)
        return 0
    except RankLost:
        return RANK_LOST
    except Exception as error:  # noqa: BLE001 (the edge: the worker or torchrun reports it)
        ended = _failure_event(error)
        if rank.rendezvous is not None:
            write_final_event(rank.rendezvous, rank.number, ended)
    return BUG if ended.bug else FAILED


def _failure_event(error: Exception, has_listener: bool = False) -> Ended:
    """The Ended event of a failed worker; also printed unless a listener prints it."""
    details = "".join(traceback.format_exception(error))
    if (studio_error := explain_error(error)) is not None:
        if not has_listener:
            echo_error(studio_error)
        return Ended(
            outcome="failed",
            problem=studio_error.problem,
            advice=studio_error.advice,
            details=studio_error.details or ("" if studio_error is error else details),
        )
    shown = f"{type(error).__name__}: {error}"[:300]
    echo_error(*details.splitlines())
    return Ended(
        outcome="failed",
        problem=phrase("Something went wrong in BERT Studio: {error}", error=shown),
        advice=phrase("Please report it with the details. The checkpoints of this run are kept."),
        details=details,
        bug=True,
    )


def _last_step(run: RunFolder) -> int:
    folders = run.checkpoint_folders()
    return checkpoint_step(folders[-1]) if folders else 0


class _StopRequest:
    """Ctrl+C, SIGTERM and a closed terminal act like the stop file: save, then end."""

    def __init__(self) -> None:
        self.requested = False
        for number in STOP_SIGNALS:
            signal.signal(number, self._on_signal)

    def set(self) -> None:
        self.requested = True

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.requested:  # at once on a second request
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        self.requested = True
