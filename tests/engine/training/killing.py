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

The answer is the exit code of the child. For `crew.py`, a line has the number of ranks and the step
after which to request a stop (0: none) instead of a point; the answer lists the exit codes.
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
from importlib import import_module
from pathlib import Path
from typing import Any

from engine.runs.folder import RunFolder
from engine.runs.launch import environment
from engine.worker.ranks import loopback_env

KillPoint = tuple[str, int] | None
CALLS = {
    "saving": ("fsync",),
    "moving": ("rename", "replace"),
    "removing": ("unlink", "rmdir"),
    "full": ("fsync",),
}


class Process:
    """Handle of a process that answers each line of JSON with another."""

    def __init__(self) -> None:
        pipe = subprocess.PIPE
        command, variables = [sys.executable, __file__], environment() | loopback_env()
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=variables)

    def ask(self, *question: object) -> Any:
        assert self._process.stdin is not None and self._process.stdout is not None
        print(json.dumps(question), file=self._process.stdin, flush=True)
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        self._process.communicate()


class Killer:
    def __init__(self, process: Process) -> None:
        self._process = process

    def train(self, run: RunFolder, point: KillPoint) -> int:
        """Train `run` in a worker; returns its exit code, negative for a signal."""
        return int(self._process.ask(str(run.path), point))


def main() -> None:
    # only recomputed activations need dynamo, and only sharded weights the second
    for module in ("torch._dynamo", "torch.distributed.fsdp", "engine.training.loop"):
        import_module(module)
    from engine.runs import full_disk
    from engine.training import evaluation
    from engine.worker.train import main as work
    from tests.engine.training.crew import train_in_ranks

    full_disk.POLL_SECONDS, full_disk.RETRY_SECONDS = 0.01, 0.03
    for line in sys.stdin:
        folder, *question = json.loads(line)
        if len(question) == 2:
            print(json.dumps(train_in_ranks(Path(folder), *question)), flush=True)
            continue
        (point,) = question
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
