"""Start, detach and kill worker processes."""

import os
import platform
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import psutil

from engine.errors import StudioError
from engine.runs.folder import RunFolder
from engine.runs.lock import open_here

CODE = Path(__file__).resolve().parents[2]  # the checkout, or the site-packages folder
NO_VARIABLES: Mapping[str, str] = {}
if sys.platform == "win32":
    DETACHED = subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW
else:
    DETACHED = 0
OOM_SCORE_RAISE = 500  # added to the worker's oom_score_adj, so that the window survives


def command(folder: Path) -> list[str]:
    return worker("train", str(folder))


def worker(*arguments: str) -> list[str]:
    """The command line of a worker, from source or in the packaged program."""
    start = ["--engine-worker"] if getattr(sys, "frozen", False) else ["-m", "engine.worker"]
    return [sys.executable, *start, *arguments]


def queue_runner() -> list[str]:
    """The command line of the queue runner, from source or in the packaged program."""
    frozen = getattr(sys, "frozen", False)
    return [sys.executable, *(["--queue-runner"] if frozen else ["-m", "engine.record.runner"])]


def environment() -> dict[str, str]:
    """The environment of a worker: our own code comes first, and nothing from its folder."""
    variables = dict(os.environ)
    path = [str(CODE), *filter(None, variables.get("PYTHONPATH", "").split(os.pathsep))]
    settings = {"PYTHONUTF8": "1", "PYTHONSAFEPATH": "1", "PYTHONFAULTHANDLER": "1"}
    return variables | settings | {"PYTHONPATH": os.pathsep.join(dict.fromkeys(path))}


def start(folder: Path) -> subprocess.Popen[bytes]:
    """Start the worker of `folder`, detached: it outlives this process and its terminal.

    The caller must keep and poll the result, so that an ended worker does not stay a zombie.
    """
    out = open_log(folder)
    try:
        return spawn(command(folder.absolute()), out, subprocess.DEVNULL)
    finally:
        os.close(out)


def open_log(folder: Path) -> int:
    """Open the log of a run for appending; returns the descriptor."""
    log = RunFolder(folder).log
    if log.is_symlink():
        log.unlink()
    return open_here(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)


def spawn(
    arguments: list[str], stdout: int, stdin: int, variables: Mapping[str, str] = NO_VARIABLES
) -> subprocess.Popen[bytes]:
    """Start a detached process that prints to `stdout`; `variables` are added to
    its environment.

    Raises StudioError if the system refuses.
    """
    try:
        worker = subprocess.Popen(
            arguments,
            stdin=stdin,
            stdout=stdout,
            stderr=stdout,
            cwd=CODE,
            env={**environment(), **variables},
            creationflags=DETACHED,  # on Windows
            start_new_session=True,  # elsewhere
        )
    except OSError as error:
        raise StudioError(
            "The training process could not be started: {strerror}.",
            "Close other programs and try again.",
            strerror=error.strerror or error,
        ) from error
    _prefer_for_oom_killer(worker.pid)
    return worker


def detach(worker: subprocess.Popen[bytes]) -> None:
    """Let a worker outlive this process without a warning from Python."""
    if worker.poll() is None:
        worker.returncode = 0


def _prefer_for_oom_killer(pid: int) -> None:
    """Let Linux kill the worker before the window when memory runs out."""
    score = Path(f"/proc/{pid}/oom_score_adj")
    try:
        score.write_text(str(min(1000, int(score.read_text()) + OOM_SCORE_RAISE)))
    except (OSError, ValueError):
        return  # another system, or the worker has ended already


def kill_worker(folder: Path) -> bool:
    """Kill the worker of `folder` with its children; False if there is none here.

    Only while the lock is held, its process id cannot have been reused.
    """
    run = RunFolder(folder)
    started = run.last_started()
    if started is None or started.host not in ("", platform.node()) or not run.has_worker():
        return False
    try:
        if sys.platform != "win32" and os.getpgid(started.pid) == started.pid:
            os.killpg(started.pid, signal.SIGKILL)
            return True
        worker = psutil.Process(started.pid)
        for process in (*worker.children(recursive=True), worker):
            process.kill()
    except (ProcessLookupError, psutil.NoSuchProcess):
        return False
    return True
