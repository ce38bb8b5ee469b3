"""A process that loads torch once and then trains run folders in children that die on request.

A line on its input is JSON: a run folder, and the place where its worker is to be killed.

- [“loss”, 7]: when step 7 is measured;
- [“judging”, 2]: in the second batch of an evaluation;
- [“saving”, 30]: at the 30th flush of a file to the disk;
- [“moving”, 4]: at the 4th renaming;
- [“removing”, 9]: at the 9th removal of a file or a folder;
- [“full”, 30]: not killed: the 30th flush fails, as on a disk that is full for a moment;
- [“later”, 40]: after 40 milliseconds, at any point;
- null: nowhere.

The answer is the exit status of the child. The signal is a real SIGKILL.
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

Place = tuple[str, int] | None
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

    def train(self, run: RunFolder, place: Place) -> int:
        """Let a worker train `run`; minus the signal that it died of, or its exit code."""
        return int(self.ask(str(run.path), place))


def main() -> None:
    from engine.runs import full_disk
    from engine.training import evaluation
    from engine.worker.train import main as work

    full_disk.FREE_SPACE_POLL, full_disk.RETRY_AFTER = 0.01, 0.03
    for line in sys.stdin:
        folder, position = json.loads(line)
        child = os.fork()
        if not child:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os._exit(work(Path(folder), _armed(evaluation, *position) if position else _deaf))
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _deaf(event: object) -> None:
    """Ignore events."""


def _armed(evaluation: Any, where: str, number: int) -> Callable[[Any], None]:
    """Install the failure; returns the event handler."""
    if where == "evaluating":
        original = evaluation.evaluate_network

        def evaluate(*a: Any, **k: Any) -> Any:
            def report(done: int, total: int) -> None:
                if done == min(number, total):
                    _die()

            bound = inspect.signature(original).bind(*a, **k)
            bound.arguments["report"] = report
            return original(*bound.args, **bound.kwargs)

        evaluation.evaluate_network = evaluate
    if where in CALLS:
        _strike(CALLS[where], number, _find_full if where == "full" else _die)
    if where == "later":
        threading.Timer(number / 1000, _die).start()

    def on_event(event: Any) -> None:
        at = getattr(event, "name", ""), getattr(event, "step", -1)
        if at == (where, number):
            _die()

    return on_event


def _strike(names: tuple[str, ...], number: int, happen: Callable[[], object]) -> None:
    """Run `happen` at call `number` (from 1) of the functions of `os`."""
    calls = 0

    def struck(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*a: Any, **k: Any) -> Any:
            nonlocal calls
            calls += 1
            if calls == number:
                happen()
            return original(*a, **k)

        return call

    for name in names:
        setattr(os, name, struck(getattr(os, name)))


def _find_full() -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main()
