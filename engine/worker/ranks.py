"""The worker of a distributed run: it starts and watches the ranks, and reports their failures.

It holds the lock and never loads torch, so it survives any failure of a rank. The ranks read their
standard input: a line requests a stop; at end of file, which follows even if the worker is killed,
they exit.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from engine.errors import StudioError
from engine.files.regular_file import read_regular
from engine.messages.events import EVENT, Ended, Event, Started
from engine.phrases import phrase
from engine.runs import launch
from engine.runs.folder import RunFolder
from engine.runs.full_disk import EventWriter
from engine.runs.ranks import RANK_LOST, Rank
from engine.worker import BUG, FAILED

RANK_POLL = 0.1  # seconds between checks of the ranks
GRACE_PERIOD = 10.0  # seconds for the others to exit after one has failed


class RankDied(StudioError):
    """One of the processes of a run ended too early."""


def run_ranks(run: RunFolder, processes: int, events: EventWriter) -> int:
    """Train with several processes on this machine; returns the exit code of the worker.

    Events of rank 0 are forwarded by `events`, and a request to stop is forwarded to rank 0.

    Raises:
        RankDied: a rank died without reporting an error; the others were killed.
    """
    offset = run.events_size()
    with _folder(run) as rendezvous, _start_ranks(run, processes, rendezvous) as ranks:
        stop_sent = False
        failed: tuple[int, int] | None = None  # the first failed rank, and its exit code
        deadline = float("inf")
        while any(rank.poll() is None for rank in ranks):
            time.sleep(RANK_POLL)
            offset = _forward_events(run, offset, events.forward)
            if events.stop_requested() and not stop_sent:
                stop_sent = True
                _send_stop(ranks[0])
            if failed is None and (failed := _find_failed(ranks)) is not None:
                deadline = time.monotonic() + (GRACE_PERIOD if failed[1] > 0 else 0)
            if time.monotonic() > deadline:
                _kill(ranks)
        run.repair_last_line()
        _forward_events(run, offset, events.forward)
        failed = failed or _find_failed(ranks)
        last = [event for event in run.last_events() if isinstance(event, Started | Ended)]
        if last and isinstance(last[-1], Ended):
            if last[-1].outcome != "failed":
                return 0
            return BUG if last[-1].bug else FAILED
        raise rank_failure(failed, processes, rendezvous)


def write_final_event(rendezvous: Path, rank: int, ended: Ended) -> None:
    """Store the Ended event of a rank that does not write events, for the worker."""
    (rendezvous / f"{rank}.json").write_bytes(ended.line())


def exit_with_worker(on_stop: Callable[[], None]) -> None:
    """Watch stdin: stop on request, and exit when the worker dies."""

    def watch_stdin() -> None:
        while os.read(0, 64):
            on_stop()
        os._exit(RANK_LOST)

    threading.Thread(target=watch_stdin, name="stdin-watcher", daemon=True).start()


@contextmanager
def _folder(run: RunFolder) -> Iterator[Path]:
    """A temporary folder for the rendezvous of the ranks and for their Ended events."""
    rendezvous = run.cache / "ranks"
    shutil.rmtree(rendezvous, ignore_errors=True)
    rendezvous.mkdir(mode=0o700, parents=True)
    try:
        yield rendezvous
    finally:
        shutil.rmtree(rendezvous, ignore_errors=True)


@contextmanager
def _start_ranks(
    run: RunFolder, processes: int, rendezvous: Path
) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Start the ranks as processes; all have exited after the block."""
    settings = launch.environment() | loopback_env()
    ranks: list[subprocess.Popen[bytes]] = []
    try:
        for number in range(processes):
            rank = Rank(number, processes, number, processes, rendezvous)
            ranks.append(
                subprocess.Popen(
                    launch.command(run.path),
                    stdin=subprocess.PIPE,
                    cwd=launch.CODE,
                    env=settings | rank.environment(),
                )
            )
        yield ranks
    finally:
        _kill(ranks)
        for process in ranks:
            process.wait()
            assert process.stdin is not None
            with contextlib.suppress(OSError):
                process.stdin.close()


def loopback_env() -> dict[str, str]:
    """Environment variables that keep the communication of the ranks on this machine."""
    if sys.platform == "win32":
        return {}
    interfaces = psutil.net_if_addrs().items()
    name = next(
        (n for n, addresses in interfaces if any(a.address == "127.0.0.1" for a in addresses)), "lo"
    )
    return {"GLOO_SOCKET_IFNAME": name, "NCCL_SOCKET_IFNAME": name}


def _forward_events(run: RunFolder, offset: int, on_event: Callable[[Event], None]) -> int:
    before = -1
    while offset != before:
        before = offset
        events, offset = run.events_after(offset)
        for event in events:
            on_event(event)
    return offset


def _send_stop(rank: subprocess.Popen[bytes]) -> None:
    assert rank.stdin is not None
    with contextlib.suppress(BrokenPipeError):  # it has ended already
        rank.stdin.write(b"stop\n")
        rank.stdin.flush()


def _find_failed(ranks: list[subprocess.Popen[bytes]]) -> tuple[int, int] | None:
    """The first failed rank and its exit code; one that was killed takes precedence."""
    codes = [(number, rank.poll() or 0) for number, rank in enumerate(ranks)]
    failed = [(number, code) for number, code in codes if code not in (0, RANK_LOST)]
    return min(failed, key=lambda failure: failure[1], default=None)


def _kill(ranks: list[subprocess.Popen[bytes]]) -> None:
    for rank in ranks:
        if rank.poll() is None:
            rank.kill()


def rank_failure(failed: tuple[int, int] | None, processes: int, rendezvous: Path) -> StudioError:
    """Return the error that names the rank that ended the run, and the cause if known."""
    number, code = failed or (0, RANK_LOST)
    title = phrase(
        "Process {process} of {processes} (rank {rank})",
        process=number + 1,
        processes=processes,
        rank=number,
    )
    advice = phrase("The checkpoints of this run are kept: resume from the last one.")
    file = rendezvous / f"{number}.json"
    if file.is_file():
        ended = EVENT.validate_json(read_regular(file))
        assert isinstance(ended, Ended)
        return RankDied(
            "{which} failed: {ended}", ended.advice, ended.details, which=title, ended=ended.problem
        )
    if code < 0:
        name = signal.Signals(-code).name
        memory = (
            phrase("; possibly out of memory") if -code == getattr(signal, "SIGKILL", 9) else ""
        )
        return RankDied(
            "{which} was killed ({name}{memory}). The others were stopped.",
            advice,
            which=title,
            name=name,
            memory=memory,
        )
    return RankDied(
        "{which} ended with exit code {code}. The others were stopped.",
        advice,
        which=title,
        code=code,
    )
