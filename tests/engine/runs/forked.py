"""Processes forked from this one: a new Python would load for half a second."""

import faulthandler
import os
import subprocess
import sys
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from engine.runs import launch
from engine.runs.folder import RunFolder
from tests.engine.runs import fake_worker

MAX_FILES = 65_536
_spawn = launch.spawn


class Forked(subprocess.Popen[bytes]):
    """A process that runs `action` and prints to `log`; a record open here is not for it."""

    def __init__(self, action: Callable[[], int | None], log: int = 2) -> None:
        self._action, self._log = action, log
        super().__init__([])

    def _execute_child(self, *_: object) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # other threads may hold locks, but none that it needs
            self.pid = os.fork()
        if not self.pid:
            _run(self._action, self._log)
        self._child_created = True


def _run(action: Callable[[], int | None], log: int) -> NoReturn:
    """Run as a program does, without the files and locks of the process it comes from."""
    code = 1
    try:
        os.setsid()
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.closerange(3, MAX_FILES)
        sys.stdout = sys.stderr = os.fdopen(1, "w", encoding="utf-8")
        faulthandler.enable(2)
        code = action() or 0
    except BaseException:  # noqa: BLE001 - this process ends here
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(code)


def spawn(arguments: list[str], stdout: int, *rest: int) -> "subprocess.Popen[bytes]":
    """Replaces `launch.spawn`."""
    if fake_worker.__file__ in arguments and hasattr(os, "fork"):
        return Forked(lambda: fake_worker.main(RunFolder(Path(arguments[-1]))), stdout)
    return _spawn(arguments, stdout, *rest)
