import os
import signal
from collections.abc import Callable, Iterator

import pytest
from pytestqt.qtbot import QtBot

from app.dispatcher import BUSY_REFRESH_MS, IDLE_REFRESH_MS, Dispatcher
from engine.files.home import Home
from engine.messages.events import Measured, Started
from engine.record.checkpoints import get_checkpoints
from engine.record.metrics import curves
from engine.record.opening import Record, open_record
from engine.record.run_watch import RunEnd, Trashed
from engine.record.runs import Run, add_run, all_runs, find_run
from engine.runs.folder import RunFolder
from tests.app.fake_workers import fake_workers
from tests.engine.runs import fake_worker

PATIENCE = 30_000  # ms


class WatchedDispatcher:
    """A running dispatcher, and its signals."""

    def __init__(self, qtbot: QtBot, home: Home) -> None:
        self.qtbot, self.home = qtbot, home
        self.record: Record = open_record(home.record, home.backups)
        self.dispatcher = Dispatcher(self.record, home)
        self.events: list[tuple[object, ...]] = []
        for name in ("run_added", "run_changed", "run_removed", "measured", "noted", "ended"):
            getattr(self.dispatcher, name).connect(
                lambda *values, name=name: self.events.append((name, *values))
            )
        self.dispatcher.refused.connect(lambda *values: self.events.append(("refused", *values)))

    def begin(self) -> "WatchedDispatcher":
        with self.qtbot.waitSignal(self.dispatcher.settled, timeout=PATIENCE):
            self.dispatcher.begin()
        return self

    def run(self, run_id: str) -> Run:
        with self.record.read() as session:
            row = find_run(session, run_id)
        assert row is not None
        return row

    def wait_for_state(self, run_id: str, state: str) -> Run:
        self.qtbot.waitUntil(lambda: self.run(run_id).state == state, timeout=PATIENCE)
        return self.run(run_id)

    def wait_until_paused(self, run_id: str) -> Run:
        self.wait_for_state(run_id, "running")
        self.qtbot.waitUntil(lambda: self.run(run_id).step == 3, timeout=PATIENCE)
        return self.run(run_id)

    def wait_for_event(self, *prefix: object) -> None:
        self.qtbot.waitUntil(
            lambda: any(event[: len(prefix)] == prefix for event in self.events), timeout=PATIENCE
        )


@pytest.fixture
def watch(qtbot, home: Home, monkeypatch) -> Iterator[Callable[[], WatchedDispatcher]]:
    """Start a dispatcher on the home."""
    watchers: list[WatchedDispatcher] = []

    def start() -> WatchedDispatcher:
        watchers.append(WatchedDispatcher(qtbot, home))
        return watchers[-1]

    with fake_workers(monkeypatch, home):
        yield start
        for watched in watchers:
            watched.dispatcher.close()
            watched.record.close()


@pytest.fixture
def watched(watch: Callable[[], WatchedDispatcher]) -> WatchedDispatcher:
    return watch().begin()


def test_a_started_job_is_followed_until_its_run_ends_and_branched(watched):
    run_id = watched.dispatcher.start(fake_worker.job())
    assert watched.events == [("run_added", run_id)]
    watched.wait_for_state(run_id, "finished")
    watched.wait_for_event("run_changed", run_id)
    watched.wait_for_event("noted", run_id, "One text was cut.")
    watched.wait_for_event("measured", run_id)
    watched.qtbot.waitUntil(lambda: any(event[0] == "ended" for event in watched.events))
    (end,) = [event[1] for event in watched.events if event[0] == "ended"]
    assert isinstance(end, RunEnd)
    assert (end.run_id, end.state, end.by_user) == (run_id, "finished", False)
    points = [point for event in watched.events if event[0] == "measured" for point in event[2]]  # type: ignore[attr-defined]
    assert all(isinstance(point, Measured) for point in points)
    assert [point.step for point in points if point.name == "loss"] == [1, 2, 3, 4, 5, 6]
    # a request that fails is reported
    watched.dispatcher.resume(run_id)
    watched.wait_for_event("refused", run_id)
    watched.dispatcher.adopt(watched.home.root)
    watched.wait_for_event("refused", "")
    problems = [str(values[1]) for name, *values in watched.events if name == "refused"]
    assert "cannot be resumed" in problems[0] and "is not a run folder" in problems[1]
    # a branch copies curves and checkpoints and is trained
    folder = watched.run(run_id).run_folder()
    for checkpoint in folder.checkpoint_folders():
        (checkpoint / "resume").mkdir()
        (checkpoint / "resume" / "progress.json").write_text('{"best_step": 2}')
    training = folder.job().training.model_copy(update={"learning_rate": 1e-3})
    job = folder.job().model_copy(update={"training": training, "name": "long"})
    created: list[str] = []
    watched.dispatcher.branch(run_id, 4, job, created.append)
    watched.qtbot.waitUntil(lambda: bool(created), timeout=PATIENCE)
    watched.wait_for_event("run_added", created[0])
    watched.qtbot.waitUntil(lambda: watched.run(created[0]).step == 6, timeout=PATIENCE)
    run = watched.wait_for_state(created[0], "finished")
    assert "Learning rate 0.001 instead of 5e-5" in run.remarks[0]
    with watched.record.read() as session:
        assert curves(session, run.id)["loss"].steps.tolist() == [1, 2, 3, 4, 5, 6]
        saved = [(c.step, c.folder.parent.parent) for c in get_checkpoints(session, run.id)]
    assert saved == [(2, run.folder), (4, run.folder), (6, run.folder)]

    watched.dispatcher.branch(run_id, 5, job, created.append)
    watched.qtbot.waitUntil(lambda: [event[0] for event in watched.events].count("refused") == 3)
    assert len(created) == 1


def test_refreshes_are_frequent_until_each_worker_is_killed(watched):
    timer = watched.dispatcher._timer
    watched.qtbot.waitUntil(lambda: timer.interval() == IDLE_REFRESH_MS)
    run_id = watched.dispatcher.start(fake_worker.job("long"))
    watched.wait_until_paused(run_id)
    assert timer.interval() == BUSY_REFRESH_MS
    # a killed worker is reported and others continue
    other = watched.dispatcher.start(fake_worker.job("long", device="cuda"))
    watched.wait_until_paused(other)
    started = watched.run(run_id).run_folder().last_started()
    assert started is not None
    with watched.qtbot.waitSignal(
        watched.dispatcher.run_changed,
        timeout=PATIENCE,
        check_params_cb=lambda id_: id_ == run_id and watched.run(id_).state == "crashed",
    ):
        os.kill(started.pid, signal.SIGKILL)
    run = watched.run(run_id)
    assert "signal 9 at step 3; perhaps memory ran out" in run.problem
    assert watched.run(other).state == "running"
    watched.dispatcher.force_stop(other)
    assert "You force-stopped" in watched.wait_for_state(other, "crashed").problem
    watched.qtbot.waitUntil(lambda: timer.interval() == IDLE_REFRESH_MS)


def test_a_run_from_elsewhere_is_adopted_and_removed(watched, tmp_path):
    elsewhere = RunFolder.create(tmp_path / "elsewhere" / "run", fake_worker.job())
    assert fake_worker.main(elsewhere) == 0
    watched.dispatcher.adopt(elsewhere.path)
    watched.wait_for_event("run_added", "run")
    folder = watched.run("run").folder
    trashed: list[tuple[Trashed, ...]] = []
    watched.dispatcher.trashed.connect(trashed.append)
    watched.dispatcher.remove("run")
    watched.wait_for_event("run_removed", "run")
    assert not folder.exists() and elsewhere.path.exists()
    with watched.record.read() as session:
        assert all_runs(session) == []
    watched.qtbot.waitUntil(lambda: bool(trashed))
    watched.events.clear()
    watched.dispatcher.restore(trashed[0])
    watched.wait_for_event("run_added", "run")
    assert folder.exists() and watched.run("run").state == "finished"


def test_an_internal_error_is_raised_in_the_window_once(watched, monkeypatch):
    refreshed: list[bool] = []

    def refresh(everything: bool = False) -> None:
        refreshed.append(everything)
        raise ZeroDivisionError

    monkeypatch.setattr(watched.dispatcher._manager, "refresh", refresh)
    with watched.qtbot.captureExceptions() as raised:
        for count in (1, 2, 3):
            watched.dispatcher.refresh()
            watched.qtbot.waitUntil(lambda count=count: len(refreshed) >= count)
            watched.qtbot.waitUntil(lambda: not watched.dispatcher._is_refreshing)
    assert [kind for kind, _, _ in raised] == [ZeroDivisionError]


def test_stale_running_states_are_corrected_before_anything_is_shown(watch, home):
    record = open_record(home.record, home.backups)
    folder = RunFolder.create(home.runs / "one", fake_worker.job())
    folder.append(Started(pid=1))
    with record.session() as session:
        add_run(session, folder, folder.job(), "running")
    record.close()
    assert watch().run("one").state == "crashed"


def test_a_request_before_closing_is_executed_and_runs_continue(watch):
    first = watch().begin()
    stopping = first.dispatcher.start(fake_worker.job("long"))
    running = first.dispatcher.start(fake_worker.job("long", device="cuda"))
    first.wait_until_paused(stopping)
    folder = first.wait_until_paused(running).run_folder()
    first.dispatcher.stop(stopping)
    first.dispatcher.close()
    assert first.run(stopping).run_folder().stop_requested() and folder.has_worker()
    second = watch().begin()
    second.wait_for_state(stopping, "stopped")
    assert second.run(running).state == "running"
    (folder.path / "do").write_text("go on")
    second.wait_for_state(running, "finished")
