"""Processes started by this program: training workers, a standby one that has loaded torch, and
the queue runner."""

import json
import os
import platform
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil

from engine.files.home import Home
from engine.record.runs import Run
from engine.runs import launch
from engine.runs.folder import RunFolder
from engine.runs.lock import is_held, open_here

EXIT_CODE_WAIT = 1.0  # s that a process without a lock may take to exit
CHECK_INTERVAL = 1.0  # seconds between checks of a worker
MAX_SILENT_STEP = 2.0  # s that one check may add, so that time asleep does not count
SILENCE = 10.0  # seconds without CPU time or events until a worker is not responding
STANDBY_SECONDS = 600.0  # from its last use until it ends


class Workers:
    """At most one process for each run, and at most one on standby."""

    def __init__(self) -> None:
        self.standby: StandbyWorker | None = None
        self._by_run: dict[str, subprocess.Popen[bytes]] = {}
        self._replaced: list[subprocess.Popen[bytes]] = []  # replaced, but perhaps still running

    def processes(self) -> list[subprocess.Popen[bytes]]:
        """All running processes except the standby one."""
        return [*self._by_run.values(), *self._replaced]

    def get_process(self, run_id: str) -> "subprocess.Popen[bytes] | None":
        return self._by_run.get(run_id)

    def start(self, run: Run) -> None:
        """Start a worker for a run, or give it the standby one. Raises StudioError."""
        if run.id in self._by_run:
            self._replaced.append(self._by_run.pop(run.id))
        process = None
        if self.standby is not None and run.requested_processes() <= 1:
            standby, self.standby = self.standby, None
            process = standby.assign(run.folder)
        self._by_run[run.id] = process or launch.start(run.folder)

    def has_ended(self, run_id: str) -> bool:
        """True if a process was started here for this run and has ended."""
        worker = self.get_process(run_id)
        return worker is not None and worker.poll() is not None

    def exit_code(self, run_id: str) -> int | None:
        """Exit code of the process; minus the signal after a signal, None if unknown."""
        worker = self.get_process(run_id)
        try:
            return None if worker is None else worker.wait(EXIT_CODE_WAIT)
        except subprocess.TimeoutExpired:
            return None

    def kill(self, run_id: str) -> None:
        if (worker := self.get_process(run_id)) is not None:
            worker.kill()

    def reap(self, is_working: Callable[[str], bool]) -> None:
        """Drop ended processes, except those of runs still considered working."""
        for run_id in [run_id for run_id in self._by_run if self.has_ended(run_id)]:
            if not is_working(run_id):
                del self._by_run[run_id]
        self._replaced = [worker for worker in self._replaced if worker.poll() is None]
        if self.standby is not None and not self.standby.is_usable():
            self.end_standby()

    def keep_standby(self, start_new: bool) -> None:
        """Keep the standby worker for longer; if there is none, start one if `start_new`."""
        if self.standby is not None and self.standby.is_usable():
            self.standby.keep()
        elif start_new:
            self.end_standby()
            self.standby = StandbyWorker()

    def end_standby(self) -> None:
        standby, self.standby = self.standby, None
        if standby is not None:
            standby.end()

    def detach(self) -> None:
        """Detach all processes: they continue to train, except the standby one, which is ended."""
        self.end_standby()
        for worker in self.processes():
            launch.detach(worker)
        self._by_run.clear()
        self._replaced.clear()


class StandbyWorker:
    """A training worker that has loaded torch, which takes seconds, before a run needs it.

    It waits for one line on its input, the folder of a run; from then on it is a normal worker. If
    its input ends instead, as when this process dies, it ends too. Raises StudioError if it cannot
    be started.
    """

    def __init__(self) -> None:
        self._process = launch.spawn(launch.worker("wait"), subprocess.DEVNULL, subprocess.PIPE)
        self._last_used = time.monotonic()

    def keep(self) -> None:
        self._last_used = time.monotonic()

    def is_usable(self) -> bool:
        """True if it is alive and was used recently."""
        return self._process.poll() is None and time.monotonic() - self._last_used < STANDBY_SECONDS

    def assign(self, folder: Path) -> "subprocess.Popen[bytes] | None":
        """Let it train in the folder of a run; None if it has died meanwhile."""
        assert self._process.stdin is not None
        try:
            with self._process.stdin as pipe:
                pipe.write(json.dumps(str(folder.absolute())).encode("ascii") + b"\n")
        except OSError:
            self.end()
            return None
        return self._process

    def end(self) -> None:
        assert self._process.stdin is not None
        self._process.kill()
        self._process.wait()
        self._process.stdin.close()


@dataclass
class _WatchedWorker:
    pid: int  # 0: on another machine, or unknown
    checked: float  # monotonic time of the last check
    activity: tuple[float, int]  # CPU time in s, and bytes of events
    silent: float = 0.0  # s


class WorkerActivity:
    """Seconds for which the worker of each run used no CPU time and wrote no events."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._workers: dict[str, _WatchedWorker] = {}

    def is_silent(self, run_id: str, folder: RunFolder) -> bool:
        """True if the worker, which holds the lock, has done nothing for `SILENCE` seconds."""
        now, watched = self._clock(), self._workers.get(run_id)
        if watched is None:
            pid = _worker_pid(folder)
            self._workers[run_id] = _WatchedWorker(pid, now, _activity(pid, folder))
            return False
        if not watched.pid or now - watched.checked < CHECK_INTERVAL:
            return watched.silent >= SILENCE
        activity = _activity(watched.pid, folder)
        if activity != watched.activity:
            watched.activity, watched.silent = activity, 0.0
        else:
            watched.silent += min(now - watched.checked, MAX_SILENT_STEP)
        watched.checked = now
        return watched.silent >= SILENCE

    def discard(self, run_id: str) -> None:
        self._workers.pop(run_id, None)


def _worker_pid(folder: RunFolder) -> int:
    started = folder.last_started()
    is_here = started is not None and started.host in ("", platform.node())
    return started.pid if started is not None and is_here else 0


def _activity(pid: int, folder: RunFolder) -> tuple[float, int]:
    """CPU time in s of the worker or of its ranks, and bytes of events."""
    try:
        worker = psutil.Process(pid)
        times = [p.cpu_times() for p in worker.children(recursive=True) or [worker]]
        used = sum(t.user + t.system for t in times)
    except psutil.Error:
        used = 0.0
    return used, folder.events_size()


class QueueRunner:
    """The detached process that starts queued runs while no window is open, one for each home
    (`engine.record.runner`)."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._process: subprocess.Popen[bytes] | None = None

    def ensure(self) -> None:
        """Start it unless it runs. Raises StudioError if the system refuses."""
        if self._process is not None and self._process.poll() is None:
            return
        if is_held(self._home.runner_lock):
            return
        if self._home.runner_log.is_symlink():
            self._home.runner_log.unlink()
        out = open_here(self._home.runner_log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        variables = {"BERT_STUDIO_HOME": str(self._home.root)}
        try:
            self._process = launch.spawn(launch.queue_runner(), out, subprocess.DEVNULL, variables)
        finally:
            os.close(out)

    def detach(self) -> None:
        if self._process is not None:
            launch.detach(self._process)
