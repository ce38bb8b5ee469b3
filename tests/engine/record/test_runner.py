"""The queue continues without a window, and nothing is started twice."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine.errors import StudioError
from engine.files.home import Home
from engine.messages.events import Started
from engine.record import run_watch, runner
from engine.record.run_manager import RunManager
from engine.record.workers import QueueRunner
from engine.runs import launch
from engine.runs.lock import hold, is_held
from tests.engine.runs import fake_worker
from tests.engine.runs.waiting import until
from tests.often import times

HELD = StudioError("another one")
PROGRAM = [sys.executable, "-m", "tests.engine.record.fake_runner"]
ROOT = Path(__file__).parents[3]


@pytest.fixture
def start(home: Home) -> Iterator[Callable[[], subprocess.Popen[bytes]]]:
    """Start the runner of the home as a process."""
    processes: list[subprocess.Popen[bytes]] = []
    variables = {**os.environ, "BERT_STUDIO_HOME": str(home.root), "PYTHONPATH": str(ROOT)}

    def start_runner() -> subprocess.Popen[bytes]:
        processes.append(subprocess.Popen(PROGRAM, env=variables, cwd=ROOT))
        return processes[-1]

    yield start_runner
    for process in processes:
        process.kill()
        process.wait()


def test_the_queue_is_trained_in_order_without_a_window(window):
    ids = [window.add(fake_worker.job(f"run {n}")) for n in range(3)]
    window.manager.detach()
    runner.run_queue(window.home)
    runs = [window.run(run_id) for run_id in ids]
    assert [run.state for run in runs] == ["finished"] * 3
    started = [run.started for run in runs if run.started is not None]
    assert started == sorted(started) and len(started) == 3
    assert not is_held(window.home.runner_lock) and not is_held(window.home.queue_lock)


def test_the_runner_waits_while_a_window_is_open(window):
    run_id = window.add(fake_worker.job())
    window.manager.detach()
    thread = threading.Thread(target=runner.run_queue, args=(window.home,))
    with hold(window.home.lock, HELD):
        thread.start()
        until(lambda: is_held(window.home.runner_lock))
        time.sleep(3 * runner.WAITING_INTERVAL)
        assert window.run(run_id).state == "queued" and not is_held(window.home.queue_lock)
    thread.join(20)
    assert window.run(run_id).state == "finished"


def test_a_new_window_takes_over_the_queue(window, start):
    first, second = window.add(fake_worker.job("long")), window.add(fake_worker.job())
    process = start()
    until(lambda: window.run(first).step == 3)
    with hold(window.home.lock, HELD):
        until(window.manager.acquire_queue)
        window.send(first, "go on")
        started_by_window = set()

        def is_finished() -> bool:
            started_by_window.add(window.manager.workers.get_process(second) is not None)
            window.refresh()
            return window.run(second).state == "finished"

        until(is_finished)
        assert True in started_by_window, "started by this process"
        assert process.wait(20) == 0, "nothing is left to do"


def test_only_one_process_starts_runs(window):
    other = RunManager(window.record, window.home)
    run_id = window.add(fake_worker.job())
    assert window.manager.acquire_queue() and not other.acquire_queue()
    assert not [update for update in other.refresh() if update.signal == "run_changed"]
    assert window.run(run_id).state == "queued"
    window.manager.release_queue()
    assert other.acquire_queue() and not window.manager.acquire_queue()


def test_a_second_runner_exits_immediately(window):
    window.add(fake_worker.job())
    with hold(window.home.runner_lock, HELD):
        runner.run_queue(window.home)
    assert [*window.states().values()] == ["queued"]


def test_runs_added_by_another_process_are_listed(window):
    window.refresh()
    other = RunManager(window.record, window.home)
    (run_id,) = other.add(fake_worker.job())
    window.refresh()
    assert ("run_added", (run_id,)) in window.updates
    own_id = window.add(fake_worker.job("mine"))
    window.refresh()
    assert ("run_added", (own_id,)) not in window.updates, "the window lists its own runs itself"


def test_a_resumed_run_whose_starter_died_stays_in_the_queue(window, windows, monkeypatch):
    run_id = window.add(fake_worker.job("long"))
    window.until_waiting(run_id)
    window.manager.stop(run_id)
    window.until(run_id, "stopped")
    monkeypatch.setattr(window.manager.workers, "start", lambda _: None)  # it dies before
    window.manager.resume(run_id)
    assert window.run(run_id).state == "starting"
    second = windows()
    second.manager.watch.correct_stale()
    assert second.run(run_id).state == "starting", "earlier events belong to another start"
    with monkeypatch.context() as patch:
        patch.setattr(run_watch, "START_TIMEOUT", 0.0)
        until(lambda: second.refresh() or second.manager.workers.get_process(run_id) is not None)
    second.send(run_id, "go on")
    second.until(run_id, "finished")


def test_the_runner_is_started_once_and_outlives_its_starter(window, monkeypatch):
    monkeypatch.setattr(launch, "queue_runner", lambda: PROGRAM)
    run_id = window.add(fake_worker.job("long"))
    queue_runner = QueueRunner(window.home)
    for _ in range(3):
        queue_runner.ensure()
    until(lambda: window.run(run_id).step == 3)
    other = QueueRunner(window.home)
    other.ensure()
    assert other._process is None and queue_runner._process is not None
    queue_runner.detach()
    window.send(run_id, "go on")
    until(lambda: window.run(run_id).state == "finished")
    until(lambda: not is_held(window.home.runner_lock))
    os.waitpid(queue_runner._process.pid, 0)


@times(2, 200)
def test_a_killed_runner_loses_no_run_and_starts_none_twice(window, start, count):
    rng = random.Random(5)
    ids = [window.add(fake_worker.job(f"run {n}", steps=2)) for n in range(count)]
    for _ in range(count):
        process = start()
        time.sleep(rng.uniform(0.2, 1.6))
        process.send_signal(signal.SIGKILL)
        process.wait()
    start()
    until(lambda: {*window.states().values()} == {"finished"}, 60 + count)
    for run_id in ids:
        events = window.run(run_id).run_folder().events_after(0)[0]
        assert len([event for event in events if isinstance(event, Started)]) == 1
