"""Whether the workers get any work done: a process that hangs holds its lock all the same.

There is no heartbeat that a worker would have to send: the system knows how much processor time a
process has used. One that was stopped, waits for a dead disk, or is locked in itself uses none.
"""

import platform
import time
from collections.abc import Callable
from dataclasses import dataclass

import psutil

from engine.runs.folder import RunFolder

INTERVAL = 1.0  # s between two looks at a worker
MOST_AT_ONCE = 2.0  # s that one look counts for: whoever slept as well saw nothing
SILENCE = 10.0  # s without any work after which a worker is called not responding


@dataclass
class _Watched:
    pid: int  # 0: on another machine, or unknown
    seen: float  # monotonic time of the last look
    sign: tuple[float, int]  # processor time in s, and bytes of events
    silent: float = 0.0  # s


class Pulse:
    """How long the worker of each run has done nothing."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._watched: dict[str, _Watched] = {}

    def is_silent(self, run_id: str, folder: RunFolder) -> bool:
        """Whether the worker, which holds the lock, has done nothing for `SILENCE` seconds."""
        now, watched = self._clock(), self._watched.get(run_id)
        if watched is None:
            pid = _pid(folder)
            self._watched[run_id] = _Watched(pid, now, _sign(pid, folder))
            return False
        if not watched.pid or now - watched.seen < INTERVAL:
            return watched.silent >= SILENCE
        sign = _sign(watched.pid, folder)
        if sign != watched.sign:
            watched.sign, watched.silent = sign, 0.0
        else:
            watched.silent += min(now - watched.seen, MOST_AT_ONCE)
        watched.seen = now
        return watched.silent >= SILENCE

    def forget(self, run_id: str) -> None:
        """The worker has ended; the next one is another."""
        self._watched.pop(run_id, None)


def _pid(folder: RunFolder) -> int:
    started = folder.last_started()
    here = started is not None and started.host in ("", platform.node())
    return started.pid if started is not None and here else 0


def _sign(pid: int, folder: RunFolder) -> tuple[float, int]:
    """What changes as long as a worker works; its ranks work for it."""
    try:
        worker = psutil.Process(pid)
        times = [p.cpu_times() for p in worker.children(recursive=True) or [worker]]
        used = sum(t.user + t.system for t in times)
    except psutil.Error:
        used = 0.0
    return used, folder.events_size()
