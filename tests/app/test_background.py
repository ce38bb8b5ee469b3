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


def test_the_result_arrives_on_the_main_thread(qtbot):
    results: list[tuple[int, int]] = []
    owner = QObject()
    main = threading.get_ident()

    def done(ident: int) -> None:
        results.append((ident, threading.get_ident()))

    background.run(owner, threading.get_ident, done)
    qtbot.waitUntil(lambda: bool(results))
    work_thread, done_thread = results[0]
    assert work_thread != main and done_thread == main


def test_an_error_reaches_the_owner_or_the_hook(qtbot, monkeypatch):
    errors: list[Any] = []

    def work() -> None:
        raise StudioError("The file is empty.")

    background.run(make_owner(), work, lambda _: None, errors.append)
    qtbot.waitUntil(lambda: bool(errors))
    assert str(errors[0]) == "The file is empty."
    monkeypatch.setattr(sys, "excepthook", lambda kind, error, trace: errors.append(error))

    def fail() -> None:
        raise ValueError("a mistake")

    background.run(make_owner(), fail, lambda _: None)
    qtbot.waitUntil(lambda: len(errors) == 2)
    assert isinstance(errors[-1], ValueError)


def test_nothing_arrives_after_a_cancel(qtbot):
    results: list[object] = []
    was_cancelled: list[bool] = []
    started, resume = threading.Event(), threading.Event()

    def work(progress: Progress) -> None:
        started.set()
        resume.wait(5)
        was_cancelled.append(progress.cancelled())

    job = background.run(
        make_owner(), work, results.append, results.append, progress=lambda *_: None
    )
    assert started.wait(5)
    job.cancel()
    resume.set()
    qtbot.waitUntil(job.is_finished)
    later: list[int] = []
    background.run(make_owner(), lambda: 1, later.append)
    qtbot.waitUntil(lambda: bool(later))
    assert was_cancelled == [True] and not results


def test_nothing_arrives_when_the_owner_is_deleted(qtbot):
    results: list[object] = []
    resume = threading.Event()
    owner = QObject()
    job = background.run(owner, lambda: resume.wait(5), results.append, results.append)
    shiboken6.delete(owner)
    resume.set()
    qtbot.waitUntil(job.is_finished)
    later: list[int] = []
    background.run(make_owner(), lambda: 1, later.append)
    qtbot.waitUntil(lambda: bool(later))
    assert not results


def test_progress_is_throttled_but_the_last_step_is_reported(qtbot):
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
def _clear_owners():
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
started, owner = threading.Event(), QObject()
background.run(owner, lambda: (started.set(), open(sys.argv[1])), print)
started.wait()
assert not background.finish(0.05)
print("closed")
sys.exit(background.ensure_exit(7))
"""


def test_a_hanging_task_does_not_keep_the_program_alive(tmp_path):
    process = subprocess.run(
        [sys.executable, "-c", HANGING, str(tmp_path / "pipe")],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (process.returncode, process.stdout) == (7, "closed\n"), process.stderr


def test_hanging_tasks_leave_threads_for_others(qtbot):
    resume = threading.Event()
    results: list[int] = []
    for _ in range(background.MIN_THREADS - 1):
        background.run(make_owner(), lambda: resume.wait(60), lambda _: None)
    background.run(make_owner(), lambda: 1, results.append)
    qtbot.waitUntil(lambda: bool(results))
    resume.set()
    assert background.finish()


def test_the_window_waits_briefly_for_a_task_that_holds_the_gil():
    background.run(make_owner(), lambda: 1, lambda _: None)
    assert sys.getswitchinterval() == pytest.approx(background.SWITCH_INTERVAL)
    assert background.finish()
