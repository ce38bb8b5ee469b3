"""A process that loads torch once and then trains run folders in children that die on request.

An input line is JSON: a run folder, and the point at which to kill its worker with SIGKILL.

- [“loss”, 7]: when the loss of step 7 is emitted;
- [“evaluating”, 2]: in the second batch of an evaluation;
- [“saving”, 30]: at the 30th flush of a file to the disk;
- [“moving”, 4]: at the 4th renaming;
- [“removing”, 9]: at the 9th removal of a file or a folder;
- [“full”, 30]: not killed; the 30th flush fails once, as on a full disk;
- [“later”, 40]: after 40 milliseconds;
- null: never.

The answer is the exit code of the child.
"""

import errno
import inspect
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from engine.runs.folder import RunFolder
from engine.runs.launch import environment

KillPoint = tuple[str, int] | None
CALLS = {
    "saving": ("fsync",),
    "moving": ("rename", "replace"),
    "removing": ("unlink", "rmdir"),
    "full": ("fsync",),
}


class Process:
    """Handle of a process that answers each line of JSON with another."""

    def __init__(self, script: str, variables: dict[str, str]) -> None:
        pipe = subprocess.PIPE
        command = [sys.executable, script]
        self._process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, text=True, env=environment() | variables
        )

    def ask(self, *question: object) -> Any:
        assert self._process.stdin is not None and self._process.stdout is not None
        print(json.dumps(question), file=self._process.stdin, flush=True)
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        self._process.communicate()


class Killer(Process):
    def __init__(self) -> None:
        super().__init__(__file__, {})

    def train(self, run: RunFolder, point: KillPoint) -> int:
        """Train `run` in a worker; returns its exit code, negative for a signal."""
        return int(self.ask(str(run.path), point))


def main() -> None:
    import torch._dynamo  # noqa: F401 (for recomputed activations)

    from engine.runs import full_disk
    from engine.training import evaluation, loop  # noqa: F401
    from engine.worker.train import main as work

    full_disk.POLL_SECONDS, full_disk.RETRY_SECONDS = 0.01, 0.03
    for line in sys.stdin:
        folder, point = json.loads(line)
        child = os.fork()
        if not child:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os._exit(work(Path(folder), _inject_failure(evaluation, *point) if point else _ignore))
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _ignore(event: object) -> None:
    """Ignore events."""


def _inject_failure(evaluation: Any, point: str, number: int) -> Callable[[Any], None]:
    """Install the failure; returns the event handler."""
    if point == "evaluating":
        original = evaluation.evaluate_network

        def evaluate(*a: Any, **k: Any) -> Any:
            def report(done: int, total: int) -> None:
                if done == min(number, total):
                    _die()

            bound = inspect.signature(original).bind(*a, **k)
            bound.arguments["report"] = report
            return original(*bound.args, **bound.kwargs)

        evaluation.evaluate_network = evaluate
    if point in CALLS:
        _replace_call(CALLS[point], number, _raise_disk_full if point == "full" else _die)
    if point == "later":
        threading.Timer(number / 1000, _die).start()

    def on_event(event: Any) -> None:
        position = getattr(event, "name", ""), getattr(event, "step", -1)
        if position == (point, number):
            _die()

    return on_event


def _replace_call(names: tuple[str, ...], number: int, action: Callable[[], object]) -> None:
    """Run `action` at call `number` (from 1) of the functions of `os`."""
    calls = 0

    def counted(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*a: Any, **k: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == number:
                action()
            return original(*a, **k)

        return call

    for name in names:
        setattr(os, name, counted(getattr(os, name)))


def _raise_disk_full() -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
