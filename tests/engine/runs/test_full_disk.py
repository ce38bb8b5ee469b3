"""A full disk pauses a run without losing anything."""

import contextlib
import errno
import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.files.atomic_write import verify
from engine.messages.events import Ended, Event, Measured, Noted, Saved, Waiting
from engine.runs import full_disk
from engine.runs.folder import RunFolder
from engine.worker.train import main as work
from tests.engine.faults import small_disk
from tests.engine.training import small
from tests.engine.training.test_loop import final, metrics


@pytest.fixture(autouse=True)
def short_delays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(full_disk, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(full_disk, "RETRY_SECONDS", 0.03)


def read_events(run: RunFolder) -> list[Event]:
    return list(run.events_after(0)[0])


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    folder = tmp_path_factory.mktemp("finished")
    run = small.new_run(folder / "finished", small.classifying(folder, steps=14))
    assert work(run.path) == 0
    return run


class FullDisk:
    """Every fsync fails while `is_full`, and every write of an event if `writes`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, writes: bool) -> None:
        self.is_full, self.writes, self.failures = False, writes, 0
        self._fsync, self._write = os.fsync, os.write
        monkeypatch.setattr(os, "fsync", self._fsync_or_fail)
        monkeypatch.setattr(os, "write", self._write_or_fail)

    def _fsync_or_fail(self, descriptor: int) -> None:
        self._fail_if_full()
        self._fsync(descriptor)

    def _write_or_fail(self, descriptor: int, content: bytes) -> int:
        if self.writes and b'"kind":"waiting"' not in content:
            self._fail_if_full()
        return self._write(descriptor, content)

    def _fail_if_full(self) -> None:
        if self.is_full:
            self.failures += 1
            if self.failures > 5:
                self.is_full = False
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize(
    "step, writes",
    [(1, False), (5, True), (8, True), (13, False)],
    ids=["the first checkpoint", "a checkpoint", "a line", "the last checkpoint"],
)
def test_a_run_waits_for_space_and_then_finishes(finished, tmp_path, monkeypatch, step, writes):
    run = small.new_run(tmp_path / "run", finished.job())
    shutil.copytree(finished.cache / "vocabulary", run.cache / "vocabulary")
    disk = FullDisk(monkeypatch, writes)

    def fill(event: Event) -> None:
        if isinstance(event, Measured) and event.name == "loss" and event.step == step:
            disk.is_full = disk.failures == 0

    assert work(run.path, fill) == 0
    assert disk.failures > 5
    assert final(run) == final(finished)
    assert metrics(run) == metrics(finished)
    events = read_events(run)
    waits = [event for event in events if isinstance(event, Waiting)]
    assert len(waits) == 1
    assert "The disk is full" in waits[0].problem
    assert "Free " in waits[0].advice and "continues by itself" in waits[0].advice
    assert any(isinstance(e, Noted) and "Nothing was lost" in e.text for e in events)
    assert isinstance(events[-1], Ended) and events[-1].outcome == "finished"
    assert not run.reserve_file.exists()


def test_a_stop_while_the_disk_is_full_ends_the_run_with_a_message(finished, tmp_path, monkeypatch):
    run = small.new_run(tmp_path / "run", finished.job())
    shutil.copytree(finished.cache / "vocabulary", run.cache / "vocabulary")
    free = shutil.disk_usage(tmp_path)._replace(free=1_000)

    def on_event(event: Event) -> None:
        if isinstance(event, Measured) and event.name == "loss" and event.step == 7:
            monkeypatch.setattr(shutil, "disk_usage", lambda _: free)
        if isinstance(event, Waiting):
            threading.Timer(0.1, run.request_stop).start()

    assert work(run.path, on_event) == 0
    monkeypatch.undo()
    waiting, ended = read_events(run)[-2:]
    assert isinstance(waiting, Waiting)
    assert "step-00000009 needs 1 MB, and 0 MB are left" in waiting.problem
    assert isinstance(ended, Ended)
    assert (ended.outcome, ended.step, ended.problem) == ("stopped", 5, waiting.problem)
    assert "repeats the steps after 5" in ended.advice
    run.clear_stop()
    assert work(run.path) == 0
    assert final(run) == final(finished)


def fill(ballast: Path) -> None:
    with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "disk", kilobytes=4096) as folder:
        yield folder


def test_a_truly_full_disk_pauses_the_run_until_there_is_space(finished, disk):
    run = small.new_run(disk / "run", finished.job())
    shutil.copytree(finished.cache / "vocabulary", run.cache / "vocabulary")
    ballast = disk / "ballast"

    def on_event(event: Event) -> None:
        if isinstance(event, Measured) and event.name == "loss" and event.step == 7:
            fill(ballast)
        if isinstance(event, Waiting):
            for folder in run.checkpoint_folders():
                verify(folder)
            threading.Timer(0.2, lambda: ballast.unlink(missing_ok=True)).start()

    assert work(run.path, on_event) == 0
    events = read_events(run)
    waits = sum(isinstance(event, Waiting) for event in events)
    assert 1 <= waits <= 2  # the reserve may hold all lines until the next checkpoint
    assert isinstance(events[-1], Ended) and events[-1].outcome == "finished"
    assert any(isinstance(event, Saved) and event.step == 10 for event in events)
    assert final(run) == final(finished)
    assert metrics(run) == metrics(finished)
