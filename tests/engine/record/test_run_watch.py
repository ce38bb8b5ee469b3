"""Workers and windows that die, and the recorded state of their runs."""

import os
import platform
import random
import shutil
import signal
import time

import pytest

from engine.messages import now
from engine.messages.events import Ended, Started, measured
from engine.record import run_watch, workers
from engine.record.metrics import curves
from engine.record.opening import RecordMoved, open_record
from engine.record.run_manager import RunManager
from engine.record.run_watch import RunWatch
from engine.record.runs import Run, add_run, all_runs, find_run
from engine.record.workers import Workers
from engine.runs import launch
from engine.runs.folder import RunFolder
from tests.engine.faults import without_root_privileges
from tests.engine.runs import fake_worker
from tests.often import times

CAUSES = {
    "die": "was killed by signal 9 at step ",
    "fault": "was killed by signal 11 at step ",
    "exit": "ended with exit code 3 at step ",
}


def test_the_cause_of_a_worker_crash_is_recorded(window):
    run_id = window.add(fake_worker.job("long"))
    other = window.add(fake_worker.job("long", device="cuda"))
    window.until_waiting(other)
    window.until_waiting(run_id)
    window.send(run_id, "die")
    run = window.until(run_id, "crashed")
    assert run.problem == f"The training process {CAUSES['die']}3; perhaps memory ran out."
    assert run.advice == "Resume continues from step 2."
    assert "worker log of long" in run.details
    assert window.run(other).state == "running"
    window.clear_command(run_id)
    window.manager.resume(run_id)
    window.send(run_id, "go on")
    assert window.until(run_id, "finished").problem == ""


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_random_worker_crashes_are_reported_with_their_cause(window):
    """Each crash follows a resume, while another run keeps training."""
    count = 100
    other = window.add(fake_worker.job("long", device="cuda"))
    run_id = window.add(fake_worker.job("long", steps=3 * count + 10))
    window.until_waiting(other)
    rng = random.Random(7)
    for _ in range(count):
        window.until_waiting(run_id)
        command, cause = rng.choice(list(CAUSES.items()))
        window.send(run_id, command)
        run = window.until(run_id, "crashed")
        assert cause in run.problem and run.advice
        assert window.run(other).state == "running"
        window.clear_command(run_id)
        window.manager.resume(run_id)
    window.until_waiting(run_id)
    window.manager.stop(run_id)
    window.until(run_id, "stopped")


def test_a_worker_that_ends_before_taking_the_lock_is_reported(window):
    run_id = window.add(fake_worker.job("broken"))
    run = window.until(run_id, "crashed")
    assert "exit code 3" in run.problem and run.details == "no driver"


def test_a_worker_that_cannot_be_started_is_reported(window, monkeypatch):
    monkeypatch.setattr(launch, "command", lambda folder: ["/nowhere/python"])
    run_id = window.add(fake_worker.job())
    assert "could not be started" in window.until(run_id, "failed").problem


def test_a_forced_stop_is_attributed_to_the_user(window):
    run_id = window.add(fake_worker.job("long"))
    window.until_waiting(run_id)
    window.manager.force_stop(run_id)
    run = window.until(run_id, "crashed")
    assert run.problem == "You force-stopped the training process at step 3."


def test_the_last_event_of_a_worker_is_never_missed(window):
    """`Ended` was written and the lock released between two polls: no crash."""
    for _ in range(2):
        run_id = window.add(fake_worker.job())
        while window.run(run_id).state in ("queued", "starting", "running"):
            window.refresh()
        assert window.run(run_id).state == "finished"


def test_a_run_continues_between_two_windows(window, windows):
    run_id = window.add(fake_worker.job("long"))
    window.until_waiting(run_id)
    new_window = windows()
    new_window.manager.watch.correct_stale()
    assert new_window.run(run_id).state == "running"
    new_window.manager.settle()
    new_window.send(run_id, "go on")
    new_window.until(run_id, "finished")
    with new_window.record.read() as session:
        assert len(curves(session, run_id)["loss"]) == 6


@pytest.mark.parametrize("end", ["killed", "ended", "stopped"])
def test_stale_states_are_corrected_at_start(window, windows, end):
    run_id = window.add(fake_worker.job("long"))
    window.until_waiting(run_id)
    worker = window.manager.workers.get_process(run_id)
    assert worker is not None
    new_window = windows()
    match end:
        case "killed":
            os.killpg(worker.pid, signal.SIGKILL)
        case "ended":
            new_window.send(run_id, "go on")
        case _:
            new_window.run(run_id).run_folder().request_stop()
    worker.wait()
    assert new_window.run(run_id).state == "running"
    new_window.manager.watch.correct_stale()
    expected = {"killed": "crashed", "ended": "finished", "stopped": "stopped"}[end]
    assert new_window.run(run_id).state == expected
    new_window.manager.settle()
    assert new_window.run(run_id).state == expected
    assert new_window.run(run_id).bytes_read == new_window.run(run_id).run_folder().events_size()


def test_a_run_that_never_started_is_queued_again(window):
    folder = RunFolder.create(window.home.runs / "one", fake_worker.job())
    with window.record.session() as session:
        run = add_run(session, folder, folder.job(), "starting")
        run.launched = now().replace(year=2020)
    window.manager.watch.correct_stale()
    assert window.run("one").state == "queued"
    window.until("one", "finished")


def test_a_starting_run_has_a_minute_to_take_the_lock(window, monkeypatch):
    folder = RunFolder.create(window.home.runs / "one", fake_worker.job())
    with window.record.session() as session:
        add_run(session, folder, folder.job(), "starting").launched = now()
    window.manager.watch.correct_stale()
    window.refresh()
    assert window.run("one").state == "starting"
    deadline = time.monotonic() + run_watch.START_TIMEOUT
    monkeypatch.setattr(time, "monotonic", lambda: deadline + 1)
    window.refresh()
    assert window.run("one").state == "starting" and window.manager.workers.get_process("one")


def test_the_step_of_a_crash_includes_unread_events(window):
    folder = RunFolder.create(window.home.runs / "one", fake_worker.job())
    folder.append(Started(pid=1))
    with window.record.session() as session:
        add_run(session, folder, folder.job(), "running")
    for step in range(1, 40):
        folder.append(measured("loss", step, 1))
    window.manager.watch.correct_stale()
    assert "at step 39" in window.run("one").problem
    window.manager.settle()
    assert "at step 39" in window.run("one").problem and window.run("one").state == "crashed"


def test_a_run_resumed_outside_the_window_is_followed(window):
    run_id = window.add(fake_worker.job("long"))
    window.until_waiting(run_id)
    window.manager.stop(run_id)
    folder = window.until(run_id, "stopped").run_folder()
    folder.clear_stop()
    with folder.lock():
        folder.append(Started(pid=os.getpid(), step=3))
        window.manager.refresh(everything=True)
        assert window.run(run_id).state == "running"
        folder.append(Ended(outcome="finished", step=6))
    window.refresh()
    assert window.run(run_id).state == "finished"


def test_a_long_history_does_not_delay_other_runs(window):
    for name in ("long", "short"):
        folder = RunFolder.create(window.home.runs / name, fake_worker.job())
        count = 40_000 if name == "long" else 5
        lines = [Started(pid=1).line(), *(measured("loss", s, 1).line() for s in range(count))]
        folder.events_file.write_bytes(b"".join(lines))
        with window.record.session() as session:
            add_run(session, folder, folder.job(), "running")
    window.refresh()
    assert window.run("short").state == "crashed" and window.run("long").state == "running"
    assert window.manager.watch.is_behind
    while window.manager.watch.is_behind:
        window.refresh()
    assert window.run("long").state == "crashed" and window.run("long").step == 39_999


def test_a_run_with_unreadable_events_is_reported_and_recovers(home, record):
    watch = RunWatch(record, Workers())
    folders = [RunFolder.create(home.runs / name, fake_worker.job()) for name in ("bad", "good")]
    with record.session() as session:
        for folder in folders:
            add_run(session, folder, folder.job(), "queued")
    for folder in folders:
        assert fake_worker.main(folder) == 0
    bad, _ = folders

    def follow() -> list[tuple[object, ...]]:
        with record.read() as session:
            runs = all_runs(session)
        return [u.values for u in watch.follow(runs) if u.signal == "run_changed"]

    def run(run_id: str) -> Run:
        with record.read() as session:
            row = find_run(session, run_id)
        assert row is not None
        return row

    bad.events_file.chmod(0)
    with without_root_privileges():
        assert sorted(follow()) == [("bad",), ("good",)]
        assert follow() == []  # reported once
    assert run("good").state == "finished"
    assert "permission" in run("bad").problem
    bad.events_file.chmod(0o600)
    assert ("bad",) in follow()
    assert (run("bad").state, run("bad").problem) == ("finished", "")


def test_an_inaccessible_folder_does_not_prevent_the_start(home, record):
    folder = RunFolder.create(home.runs / "bad", fake_worker.job())
    folder.append(Started(pid=1))
    with record.session() as session:
        add_run(session, folder, folder.job(), "running")
    folder.path.chmod(0)
    with without_root_privileges():
        RunWatch(record, Workers()).correct_stale()
    folder.path.chmod(0o700)
    with record.read() as session:
        assert [run.name for run in all_runs(session)] == [folder.job().name]


@times(1, 30)
def test_a_hung_worker_is_reported_until_it_recovers(window, monkeypatch, count):
    monkeypatch.setattr(workers, "CHECK_INTERVAL", 0.1)
    monkeypatch.setattr(workers, "SILENCE", 0.5)
    run_id = window.add(fake_worker.job("long"))
    window.until_waiting(run_id)
    started = window.run(run_id).run_folder().last_started()
    assert started is not None
    for _ in range(count):
        os.kill(started.pid, signal.SIGSTOP)
        hung = window.until(run_id, "not responding")
        assert "not responding" in hung.problem and hung.advice
        os.kill(started.pid, signal.SIGCONT)
        assert window.until(run_id, "running").problem == ""
    window.send(run_id, "go on")
    window.until(run_id, "finished")
    assert (
        len([e for e in window.run(run_id).run_folder().milestones() if e.kind == "started"]) == 1
    )


def test_workers_are_not_reported_as_hung_after_system_sleep(home, monkeypatch):
    folder = RunFolder.create(home.runs / "one", fake_worker.job())
    folder.append(Started(pid=os.getpid(), host=platform.node()))
    monkeypatch.setattr(workers, "_activity", lambda pid, folder: (1.0, 1))
    times = iter((0.0, 600.0, 1200.0, 1202.0, 1204.0, 1206.0, 1208.0))
    activity = workers.WorkerActivity(lambda: next(times))
    silent = [activity.is_silent("one", folder) for _ in range(7)]
    assert silent == [False, False, False, False, False, True, True]


REMOVALS = {
    "moved": os.rename,
    "deleted": lambda file, target: file.unlink(),
    "replaced": lambda file, target: (shutil.copy(file, target), os.replace(target, file)),
}


@times(1, 10)
@pytest.mark.parametrize("removal", REMOVALS)
def test_a_record_removed_while_open_is_detected(home, removal, count):
    for _ in range(count):
        record = open_record(home.record, home.backups)
        manager = RunManager(record, home)
        manager.refresh()
        REMOVALS[removal](home.record, home.root / "aside.db")
        with pytest.raises(RecordMoved):
            manager.refresh()
        with pytest.raises(RecordMoved), record.session():
            pass  # nothing is written to a removed file
        if removal == "moved":
            os.rename(home.root / "aside.db", home.record)
            manager.refresh()
        record.close()
