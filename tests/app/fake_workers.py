"""Workers without torch for the runs of a home; killed when the test ends."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from engine.files.home import Home
from engine.runs import launch
from tests.engine.runs import fake_worker


@contextmanager
def fake_workers(monkeypatch: pytest.MonkeyPatch, home: Home) -> Iterator[None]:
    monkeypatch.setattr(launch, "command", fake_worker.command)
    pids: list[int] = []
    start = launch.start

    def start_and_record(folder: Path) -> "subprocess.Popen[bytes]":
        worker = start(folder)
        pids.append(worker.pid)
        return worker

    monkeypatch.setattr(launch, "start", start_and_record)
    yield
    for folder in home.runs.iterdir():
        launch.kill_worker(folder)
    for pid in pids:
        with suppress(ChildProcessError):
            os.waitpid(pid, 0)
