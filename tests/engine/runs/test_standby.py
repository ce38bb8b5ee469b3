"""A standby worker becomes a normal worker when it gets a run."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from engine.messages.events import Ended, Prepared, Saved, Started
from engine.record import workers
from engine.record.workers import StandbyWorker
from engine.runs import launch
from engine.worker.train import main as train
from tests.engine.runs.waiting import until
from tests.engine.training import small


@pytest.fixture
def standby(monkeypatch: pytest.MonkeyPatch) -> Iterator[StandbyWorker]:
    """A standby worker that loads nothing, and ends after reading a line."""
    code = "import sys; sys.exit(0 if sys.stdin.readline() else 7)"
    monkeypatch.setattr(launch, "worker", lambda *arguments: [sys.executable, "-c", code])
    worker = StandbyWorker()
    yield worker
    worker.end()


def test_a_standby_worker_trains_like_this_process(home, tmp_path):
    job = small.classifying(tmp_path, steps=6)
    runs = [small.new_run(tmp_path / name, job) for name in ("here", "spare")]
    standby = StandbyWorker()
    worker = standby.assign(runs[1].path)
    assert worker is not None and worker.stdin is not None and worker.stdin.closed
    until(lambda: runs[1].last_started() is not None)
    if sys.platform == "linux":
        files = [os.readlink(f"/proc/{worker.pid}/fd/{number}") for number in range(3)]
        assert files == [os.devnull, str(runs[1].log), str(runs[1].log)]
    if os.name == "posix":
        assert os.getsid(worker.pid) == worker.pid
    assert train(runs[0].path) == worker.wait() == 0
    histories = [run.events_after(0)[0] for run in runs]

    def pick(kind: type) -> list[object]:
        return [[event for event in events if isinstance(event, kind)] for events in histories]

    assert [started[-1].pid for started in pick(Started)] == [os.getpid(), worker.pid]
    assert [ended[-1].outcome for ended in pick(Ended)] == ["finished", "finished"]
    first, second = ([(s.step, s.weights, s.optimiser) for s in saved] for saved in pick(Saved))
    assert first == second and first
    first, second = ([(p.environment, p.threads) for p in prepared] for prepared in pick(Prepared))
    assert first == second and first


def test_a_dead_standby_worker_gets_no_run(standby, tmp_path):
    standby._process.kill()
    standby._process.wait()
    assert not standby.is_usable()
    assert standby.assign(tmp_path) is None


def test_an_unused_standby_worker_expires(standby, monkeypatch):
    assert standby.is_usable()
    monkeypatch.setattr(workers, "STANDBY_SECONDS", 0.0)
    assert not standby.is_usable()
    monkeypatch.setattr(workers, "STANDBY_SECONDS", 600.0)
    standby.keep()
    assert standby.is_usable()


def test_the_real_standby_worker_ends_silently_if_not_needed():
    process = subprocess.run(
        launch.worker("wait"),
        input=b"",
        capture_output=True,
        cwd=launch.CODE,
        env=launch.environment(),
    )
    assert (process.returncode, process.stdout, process.stderr) == (0, b"", b"")
