import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine.errors import StudioError
from engine.home import Home
from engine.messages import now
from engine.messages.events import Ended, Measured, Started, measured
from engine.record import run_manager as steering
from engine.record.checkpoints import checkpoints_of
from engine.record.metrics import curve
from engine.record.opening import open_record
from engine.record.run_manager import News, RunManager
from engine.record.runs import Run, add_run, all_runs
from engine.record.runs import run as find
from engine.runs import launch
from engine.runs import standby as spare
from engine.runs.folder import RunFolder
from engine.spec.job import JobSpec
from engine.spec.training import HardwareSpec
from tests.engine.runs import fake_worker
from tests.engine.runs.waiting import until


class Window:
    """What the dispatcher does, without Qt: looks again and again, and keeps what it hears."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.record = open_record(home.record, home.backups)
        self.steering = RunManager(self.record, home)
        self.news: list[News] = []

    def add(self, job: JobSpec) -> str:
        """Put a job for one run in the queue."""
        (run_id,) = self.steering.add(job)
        return run_id

    def run(self, run_id: str) -> Run:
        with self.record.read() as session:
            found = find(session, run_id)
        assert found is not None
        return found

    def look(self) -> None:
        self.news += self.steering.look()

    def until(self, run_id: str, state: str) -> Run:
        def holds() -> bool:
            self.look()
            return self.run(run_id).state == state

        until(holds)
        return self.run(run_id)

    def until_waiting(self, run_id: str) -> Run:
        """Until a “long” run has measured three steps and waits for a word."""

        def holds() -> bool:
            self.look()
            run = self.run(run_id)
            return run.state in ("running", "stopping") and run.step - run.paced_step == 2

        until(holds)
        return self.run(run_id)

    def say(self, run_id: str, word: str) -> None:
        do = self.run(run_id).folder / "do"
        do.with_suffix(".new").write_text(word)
        os.replace(do.with_suffix(".new"), do)

    def forget_word(self, run_id: str) -> None:
        (self.run(run_id).folder / "do").unlink()

    def states(self) -> dict[str, str]:
        with self.record.read() as session:
            return {run.id: run.state for run in all_runs(session)}


@pytest.fixture
def windows(home: Home, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], Window]]:
    """Open a window; one that was open before has vanished as by a kill."""
    monkeypatch.setattr(launch, "command", fake_worker.command)
    opened: list[Window] = []

    def open_one() -> Window:
        opened.append(Window(home))
        return opened[-1]

    yield open_one
    for window in opened:
        window.steering.stand_down()
        for worker in (*window.steering._workers.values(), *window.steering._leaving):
            worker.kill()
            worker.wait()
        window.record.close()


@pytest.fixture
def window(windows: Callable[[], Window]) -> Window:
    return windows()


# ── a worker in reserve ──────────────────────────────────────────────────────────────────────


@pytest.fixture
def reserve(monkeypatch: pytest.MonkeyPatch) -> None:
    """StandbyWorker workers are fake workers too; `launch` starts none of its own."""
    code = (
        "import json, sys; from pathlib import Path; from tests.engine.runs import fake_worker\n"
        "line = sys.stdin.readline()\n"
        "sys.exit(fake_worker.main(fake_worker.RunFolder(Path(json.loads(line)))) if line else 0)"
    )
    monkeypatch.setattr(launch, "worker", lambda *words: [sys.executable, "-c", code])
    monkeypatch.setattr(launch, "command", lambda folder: ["/nowhere/python"])


@pytest.mark.usefixtures("reserve")
def test_a_run_takes_the_worker_that_stands_by(window: Window) -> None:
    window.steering.stand_by()
    held = window.steering._spare
    window.steering.stand_by()
    assert held is not None and window.steering._spare is held
    run_id = window.add(fake_worker.job())
    run = window.until(run_id, "finished")
    assert run.step == 6 and window.steering._spare is None
    assert run.run_folder().last_started().pid == held._process.pid


@pytest.mark.usefixtures("reserve")
def test_no_worker_stands_by_while_a_run_works_or_for_long(
    window: Window, monkeypatch: pytest.MonkeyPatch
) -> None:
    window.steering.stand_by()
    run_id = window.add(fake_worker.job("long"))
    window.until_waiting(run_id)
    window.steering.stand_by()
    assert window.steering._spare is None
    window.steering.stop(run_id)
    window.until(run_id, "stopped")
    window.steering.stand_by()
    held = window.steering._spare
    assert held is not None
    monkeypatch.setattr(spare, "KEPT", 0.0)
    window.look()
    assert window.steering._spare is None and held._process.returncode is not None


@pytest.mark.usefixtures("reserve")
def test_a_worker_that_stood_by_and_died_is_replaced_by_a_fresh_one(
    window: Window, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch, "command", fake_worker.command)
    window.steering.stand_by()
    assert window.steering._spare is not None
    window.steering._spare._process.kill()
    window.steering._spare._process.wait()
    assert window.until(window.add(fake_worker.job()), "finished").step == 6


@pytest.mark.usefixtures("reserve")
def test_a_run_of_several_processes_gets_a_fresh_worker(
    window: Window, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch, "command", fake_worker.command)
    window.steering.stand_by()
    job = fake_worker.job()
    several = job.model_copy(update={"hardware": HardwareSpec(device="cpu", processes=2)})
    run = window.until(window.add(several), "finished")
    assert window.steering._spare is not None
    assert run.run_folder().last_started().pid != window.steering._spare._process.pid


@pytest.mark.usefixtures("reserve")
def test_a_worker_that_stands_by_ends_with_the_window(window: Window) -> None:
    window.steering.stand_by()
    held = window.steering._spare
    assert held is not None
    window.steering.leave()
    assert held._process.returncode is not None


# ── from start to end ────────────────────────────────────────────────────────────────────────


def test_a_run_starts_trains_and_ends(window: Window) -> None:
    run_id = window.add(fake_worker.job())
    assert window.run(run_id).state == "queued"
    run = window.until(run_id, "finished")
    assert (run.step, run.steps, run.best_metric_name) == (6, 6, "validation_accuracy")
    with window.record.read() as session:
        assert len(curve(session, run_id, "loss")) == 6
        assert [c.step for c in checkpoints_of(session, run_id)] == [2, 4, 6]
    heard = [name for name, _ in window.news]
    assert {"run_changed", "measured", "progressed", "noted"} <= set(heard)
    points = [p for name, (_, *rest) in window.news if name == "measured" for p in rest[0]]  # type: ignore[attr-defined]
    assert len([p for p in points if isinstance(p, Measured) and p.name == "loss"]) == 6
    assert not window.steering.is_busy

    def is_reaped() -> bool:
        window.look()
        return not window.steering._workers

    until(is_reaped)


def test_two_jobs_of_one_name_get_two_folders(window: Window) -> None:
    first, second = (window.add(fake_worker.job("a/b")) for _ in range(2))
    assert first != second and {first, second} == set(window.states())


def test_one_run_per_device_in_the_order_of_asking(window: Window) -> None:
    long = window.add(fake_worker.job("long"))
    second = window.add(fake_worker.job("short"))
    other = window.add(fake_worker.job("short", device="cuda"))
    anywhere = window.add(fake_worker.job("short", device="auto"))
    window.until_waiting(long)
    window.until(other, "finished")
    assert window.states()[second] == window.states()[anywhere] == "queued"
    window.steering.stop(long)
    window.until(anywhere, "finished")
    started = {i: window.run(i).started for i in (second, anywhere)}
    assert all(started.values()) and window.states()[second] == "finished"
    second_ended, anywhere_started = window.run(second).ended, started[anywhere]
    assert second_ended is not None and anywhere_started is not None
    assert second_ended <= anywhere_started


def test_stop_saves_and_resume_goes_on_in_the_same_folder(window: Window) -> None:
    run_id = window.add(fake_worker.job("long"))
    window.until_waiting(run_id)
    window.steering.stop(run_id)
    assert window.run(run_id).state == "stopping"
    assert window.until(run_id, "stopped").step == 3
    window.steering.resume(run_id)
    window.say(run_id, "go on")
    run = window.until(run_id, "finished")
    assert not run.run_folder().stop_wanted()
    with window.record.read() as session:
        assert [step for step, _, _ in curve(session, run_id, "loss")] == [1, 2, 3, 4, 5, 6]


def test_a_wish_to_stop_a_run_that_is_just_starting_is_not_lost(window: Window) -> None:
    run_id = window.add(fake_worker.job("long"))
    window.news += window.steering._start_queued()
    assert window.run(run_id).state == "starting"
    window.steering.stop(run_id)
    assert window.until(run_id, "stopped").step == 3


def test_a_queued_run_that_is_stopped_leaves_the_queue(window: Window) -> None:
    long = window.add(fake_worker.job("long"))
    waiting = window.add(fake_worker.job())
    window.until_waiting(long)
    window.steering.stop(waiting)
    assert window.run(waiting).state == "stopped"
    window.steering.stop(long)
    window.until(long, "stopped")
    window.look()
    assert window.run(waiting).state == "stopped"
    window.steering.resume(waiting)
    window.until(waiting, "finished")


def test_a_finished_run_cannot_go_on(window: Window) -> None:
    run_id = window.add(fake_worker.job())
    window.until(run_id, "finished")
    with pytest.raises(StudioError, match="cannot go on: it is finished"):
        window.steering.resume(run_id)
    with pytest.raises(StudioError, match="not in the record"):
        window.steering.resume("nobody")


# ── workers that die ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "word, cause",
    [
        ("die", "the worker was killed by signal 9 (perhaps out of memory)"),
        ("fault", "the worker was killed by signal 11 (a fault inside a library)"),
        ("exit", "the worker ended with exit code 3"),
    ],
)
def test_a_worker_that_dies_is_seen_with_its_cause(window: Window, word: str, cause: str) -> None:
    run_id = window.add(fake_worker.job("long"))
    other = window.add(fake_worker.job("long", device="cuda"))
    window.until_waiting(other)
    window.until_waiting(run_id)
    window.say(run_id, word)
    run = window.until(run_id, "crashed")
    assert run.problem == f"Training stopped: {cause} at step 3."
    assert run.advice == "Resume goes on from step 2."
    assert "worker log of long" in run.details
    assert window.run(other).state == "running"
    window.forget_word(run_id)
    window.steering.resume(run_id)
    window.say(run_id, "go on")
    assert window.until(run_id, "finished").problem == ""


def test_a_worker_that_ends_before_it_takes_the_lock_is_seen_at_once(window: Window) -> None:
    run_id = window.add(fake_worker.job("broken"))
    run = window.until(run_id, "crashed")
    assert "exit code 3" in run.problem and run.details == "no driver"


def test_a_worker_that_cannot_be_started_is_a_failure(
    window: Window, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch, "command", lambda folder: ["/nowhere/python"])
    run_id = window.add(fake_worker.job())
    assert "could not be started" in window.until(run_id, "failed").problem


def test_ending_at_once_says_who_ended_it(window: Window) -> None:
    run_id = window.add(fake_worker.job("long"))
    window.until_waiting(run_id)
    window.steering.end_now(run_id)
    run = window.until(run_id, "crashed")
    assert run.problem == "Training stopped: you ended it at once at step 3."


def test_the_last_word_of_a_worker_is_never_missed(window: Window) -> None:
    """The lock is free and `Ended` was written between two looks: no crash."""
    for _ in range(4):
        run_id = window.add(fake_worker.job())
        while window.run(run_id).state in ("queued", "starting", "running"):
            window.look()
        assert window.run(run_id).state == "finished"


# ── windows that die ─────────────────────────────────────────────────────────────────────────


def test_a_run_goes_on_without_a_window_and_the_next_one_follows_it(
    window: Window, windows: Callable[[], Window]
) -> None:
    run_id = window.add(fake_worker.job("long"))
    window.until_waiting(run_id)
    fresh = windows()
    fresh.steering.first_look()
    assert fresh.run(run_id).state == "running"
    fresh.steering.settle()
    fresh.say(run_id, "go on")
    fresh.until(run_id, "finished")
    with fresh.record.read() as session:
        assert len(curve(session, run_id, "loss")) == 6


@pytest.mark.parametrize("how", ["killed", "ended", "stopped"])
def test_what_only_seems_to_run_is_corrected_before_it_is_shown(
    window: Window, windows: Callable[[], Window], how: str
) -> None:
    run_id = window.add(fake_worker.job("long"))
    window.until_waiting(run_id)
    worker = window.steering._workers[run_id]
    fresh = windows()
    match how:
        case "killed":
            os.killpg(worker.pid, signal.SIGKILL)
        case "ended":
            fresh.say(run_id, "go on")
        case _:
            fresh.run(run_id).run_folder().ask_stop()
    worker.wait()
    assert fresh.run(run_id).state == "running"
    fresh.steering.first_look()
    expected = {"killed": "crashed", "ended": "finished", "stopped": "stopped"}[how]
    assert fresh.run(run_id).state == expected
    fresh.steering.settle()
    assert fresh.run(run_id).state == expected
    assert fresh.run(run_id).bytes_read == fresh.run(run_id).run_folder().events_size()


def test_a_run_that_never_came_to_life_is_corrected_too(window: Window) -> None:
    folder = RunFolder.create(window.home.runs / "one", fake_worker.job())
    with window.record.session() as session:
        run = add_run(session, folder, folder.job(), "starting")
        run.launched = now().replace(year=2020)
    window.steering.first_look()
    assert window.run("one").state == "crashed"


def test_a_starting_run_has_a_minute_to_take_the_lock(
    window: Window, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = RunFolder.create(window.home.runs / "one", fake_worker.job())
    with window.record.session() as session:
        add_run(session, folder, folder.job(), "starting").launched = now()
    window.steering.first_look()
    window.look()
    assert window.run("one").state == "starting"
    later = time.monotonic() + steering.SIGN_OF_LIFE
    monkeypatch.setattr(steering.time, "monotonic", lambda: later + 1)
    window.look()
    assert window.run("one").state == "crashed"


def test_the_step_of_a_crash_counts_what_no_window_read(window: Window) -> None:
    folder = RunFolder.create(window.home.runs / "one", fake_worker.job())
    folder.append(Started(pid=1))
    with window.record.session() as session:
        add_run(session, folder, folder.job(), "running")
    for step in range(1, 40):
        folder.append(measured("loss", step, 1))
    window.steering.first_look()
    assert "at step 39" in window.run("one").problem
    window.steering.settle()
    assert "at step 39" in window.run("one").problem and window.run("one").state == "crashed"


def test_a_run_that_was_resumed_without_the_window_is_found(window: Window) -> None:
    run_id = window.add(fake_worker.job("long"))
    window.until_waiting(run_id)
    window.steering.stop(run_id)
    folder = window.until(run_id, "stopped").run_folder()
    folder.clear_stop()
    with folder.lock():
        folder.append(Started(pid=os.getpid(), step=3))
        window.steering.look(everything=True)
        assert window.run(run_id).state == "running"
        folder.append(Ended(outcome="finished", step=6))
    window.look()
    assert window.run(run_id).state == "finished"


def test_a_damaged_record_is_said_and_its_runs_are_listed(
    window: Window, windows: Callable[[], Window]
) -> None:
    run_id = window.add(fake_worker.job())
    window.until(run_id, "finished")
    window.record.close()
    for file in window.home.root.glob("studio.db*"):
        file.write_bytes(b"broken" * 1000)
    fresh = windows()
    fresh.steering.first_look()
    news = fresh.steering.settle()
    assert ("run_added", (run_id,)) in news and fresh.run(run_id).state == "finished"
    assert any(name == "noted" and "was damaged" in str(values) for name, values in news)


def test_a_long_history_does_not_hold_up_the_other_runs(window: Window) -> None:
    for name in ("long", "short"):
        folder = RunFolder.create(window.home.runs / name, fake_worker.job())
        count = 40_000 if name == "long" else 5
        lines = [Started(pid=1).line(), *(measured("loss", s, 1).line() for s in range(count))]
        folder.events_file.write_bytes(b"".join(lines))
        with window.record.session() as session:
            add_run(session, folder, folder.job(), "running")
    window.look()
    assert window.run("short").state == "crashed" and window.run("long").state == "running"
    assert window.steering.is_behind
    while window.steering.is_behind:
        window.look()
    assert window.run("long").state == "crashed" and window.run("long").step == 39_999


# ── removing and taking in ───────────────────────────────────────────────────────────────────


def test_a_removed_run_goes_to_the_trash(window: Window, tmp_path: Path) -> None:
    run_id = window.add(fake_worker.job())
    folder = window.until(run_id, "finished").folder

    def to_trash(path: Path) -> bool:
        os.rename(path, tmp_path / "trash")
        return True

    assert window.steering.remove(run_id, to_trash) == [("run_removed", (run_id,))]
    assert window.states() == {} and not folder.exists()
    with window.record.read() as session:
        assert curve(session, run_id, "loss") == [] and checkpoints_of(session, run_id) == []


def test_without_a_trash_it_is_said_that_a_run_is_gone_for_good(window: Window) -> None:
    run_id = window.add(fake_worker.job())
    folder = window.until(run_id, "finished").folder
    news = window.steering.remove(run_id, lambda path: False)
    assert news[1][0] == "noted" and "for good" in str(news[1][1][1])
    assert window.states() == {} and not folder.exists()


def test_a_run_in_training_is_not_removed(window: Window) -> None:
    run_id = window.add(fake_worker.job("long"))
    folder = window.until_waiting(run_id).folder
    with pytest.raises(StudioError, match="is being trained"):
        window.steering.remove(run_id, lambda path: False)
    assert folder.exists()


def test_a_run_from_elsewhere_is_adopted(window: Window, tmp_path: Path) -> None:
    elsewhere = RunFolder.create(tmp_path / "server run", fake_worker.job())
    assert fake_worker.main(elsewhere) == 0
    copied = window.steering.copy(elsewhere.path, lambda done, total: None, lambda: False)
    ((name, (run_id,)),) = window.steering.adopt(copied)
    assert name == "run_added" and isinstance(run_id, str)
    run = window.run(run_id)
    assert (run.state, run.step, run.folder.parent) == ("finished", 6, window.home.runs)


def test_a_job_that_cannot_be_written_leaves_nothing(
    window: Window, monkeypatch: pytest.MonkeyPatch
) -> None:
    window.home.runs.rename(window.home.root / "moved")
    window.home.runs.write_text("a file in the place of the folder")
    with pytest.raises(OSError, match="runs"):
        window.add(fake_worker.job())
    assert window.states() == {}


# ── several seeds ────────────────────────────────────────────────────────────────────────────


def test_a_job_with_seeds_becomes_as_many_runs_of_one_group(window: Window) -> None:
    asked = fake_worker.job()
    training = asked.training.model_copy(update={"seed": 7, "seeds": 3})
    ids = window.steering.add(asked.model_copy(update={"training": training}))
    jobs = [window.run(run_id).asked() for run_id in ids]
    assert [job.training.seed for job in jobs] == [7, 8, 9]
    assert [job.name for job in jobs] == [f"{asked.name} · seed {seed}" for seed in (7, 8, 9)]
    parts = {(job.group.name, job.group.runs) for job in jobs if job.group is not None}
    assert parts == {(asked.name, 3)}
    assert len({job.id.group for job in jobs if job.group is not None}) == 1
    assert all(
        window.run(run_id).run_folder().job() == job for run_id, job in zip(ids, jobs, strict=True)
    )
    for run_id in ids:
        window.until(run_id, "finished")


def test_of_several_runs_all_are_added_or_none(
    window: Window, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest, made = RunFolder.create, 0

    def full(path: Path, job: JobSpec) -> RunFolder:
        nonlocal made
        made += 1
        if made == 3:
            raise StudioError("The disk is full.")
        return honest(path, job)

    monkeypatch.setattr(RunFolder, "create", full)
    asked = fake_worker.job()
    training = asked.training.model_copy(update={"seeds": 3})
    with pytest.raises(StudioError, match="full"):
        window.steering.add(asked.model_copy(update={"training": training}))
    assert not window.states() and not list(window.home.runs.iterdir())
