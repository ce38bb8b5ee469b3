"""Background tasks and the delivery of their results."""

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
import shiboken6
from PySide6.QtCore import QObject

from app import background
from app.background import Progress
from engine.errors import StudioError


def test_the_result_arrives_on_the_windows_thread(qtbot):
    came: list[tuple[int, int]] = []
    owner = QObject()
    main = threading.get_ident()

    def done(ident: int) -> None:
        came.append((ident, threading.get_ident()))

    background.run(owner, threading.get_ident, done)
    qtbot.waitUntil(lambda: bool(came))
    worked, thread = came[0]
    assert worked != main and thread == main


def test_an_error_reaches_the_owner_or_the_hook(qtbot, monkeypatch):
    came: list[Any] = []

    def work() -> None:
        raise StudioError("The file is empty.")

    background.run(make_owner(), work, lambda _: None, came.append)
    qtbot.waitUntil(lambda: bool(came))
    assert str(came[0]) == "The file is empty."
    monkeypatch.setattr(sys, "excepthook", lambda kind, error, trace: came.append(error))

    def fail() -> None:
        raise ValueError("a mistake")

    background.run(make_owner(), fail, lambda _: None)
    qtbot.waitUntil(lambda: len(came) == 2)
    assert isinstance(came[-1], ValueError)


def test_nothing_arrives_after_a_cancel(qtbot):
    came: list[object] = []
    begun, go_on = threading.Event(), threading.Event()

    def work(progress: Progress) -> str:
        begun.set()
        go_on.wait(5)
        return "cancelled" if progress.cancelled() else "went on"

    seen: list[str] = []

    def watched(progress: Progress) -> str:
        seen.append(work(progress))
        return seen[0]

    job = background.run(make_owner(), watched, came.append, came.append, progress=lambda *_: None)
    assert begun.wait(5)
    job.cancel()
    go_on.set()
    qtbot.waitUntil(job.is_over)
    last: list[int] = []
    background.run(make_owner(), lambda: 1, last.append)
    qtbot.waitUntil(lambda: bool(last))
    assert seen == ["cancelled"] and not came


def test_nothing_arrives_when_the_owner_is_deleted(qtbot):
    came: list[object] = []
    go_on = threading.Event()
    owner = QObject()
    job = background.run(owner, lambda: go_on.wait(5), came.append, came.append)
    shiboken6.delete(owner)
    go_on.set()
    qtbot.waitUntil(job.is_over)
    last: list[int] = []
    background.run(make_owner(), lambda: 1, last.append)
    qtbot.waitUntil(lambda: bool(last))
    assert not came


def test_progress_is_reported_and_always_the_last(qtbot):
    steps: list[tuple[int, int]] = []
    results: list[str] = []

    def work(progress: Progress) -> str:
        for step in range(10_001):
            progress(step, 10_000)
        return "ready"

    background.run(
        make_owner(), work, results.append, progress=lambda done, total: steps.append((done, total))
    )
    qtbot.waitUntil(lambda: bool(results))
    assert steps[-1] == (10_000, 10_000)
    assert len(steps) < 1000, "the window is not flooded"


@pytest.fixture(autouse=True)
def _forget_owners():
    yield
    _owners.clear()


_owners: list[QObject] = []


def make_owner() -> QObject:
    """An owner that lives until the end of the test."""
    _owners.append(QObject())
    return _owners[-1]


HANGING = """
import os, sys, threading
from PySide6.QtCore import QCoreApplication, QObject
from app import background

app = QCoreApplication([])
os.mkfifo(sys.argv[1])
begun, owner = threading.Event(), QObject()
background.run(owner, lambda: (begun.set(), open(sys.argv[1])), print)
begun.wait()
assert not background.finish(0.05)
print("closed")
sys.exit(background.ensure_exit(7))
"""


def test_a_hanging_task_does_not_keep_the_program_alive(tmp_path):
    ended = subprocess.run(
        [sys.executable, "-c", HANGING, str(tmp_path / "pipe")],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (ended.returncode, ended.stdout) == (7, "closed\n"), ended.stderr


def test_hanging_tasks_leave_threads_for_others(qtbot):
    go_on = threading.Event()
    came: list[int] = []
    for _ in range(background.MIN_THREADS - 1):
        background.run(make_owner(), lambda: go_on.wait(60), lambda _: None)
    background.run(make_owner(), lambda: 1, came.append)
    qtbot.waitUntil(lambda: bool(came))
    go_on.set()
    assert background.finish()


def test_the_window_waits_briefly_for_a_task_that_holds_the_gil():
    background.run(make_owner(), lambda: 1, lambda _: None)
    assert sys.getswitchinterval() == pytest.approx(background.SWITCH_INTERVAL)
    assert background.finish()
