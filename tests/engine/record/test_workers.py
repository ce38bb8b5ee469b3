"""The standby worker is used, replaced and ended."""

import sys

import pytest

from engine.config.training import HardwareSpec
from engine.record import workers
from engine.runs import launch
from tests.engine.runs import fake_worker

pytestmark = pytest.mark.usefixtures("fake_standby")


@pytest.fixture
def fake_standby(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fake standby workers; `launch` cannot start others."""
    code = (
        "import json, sys; from pathlib import Path; from tests.engine.runs import fake_worker\n"
        "line = sys.stdin.readline()\n"
        "sys.exit(fake_worker.main(fake_worker.RunFolder(Path(json.loads(line)))) if line else 0)"
    )
    monkeypatch.setattr(launch, "worker", lambda *arguments: [sys.executable, "-c", code])
    monkeypatch.setattr(launch, "command", lambda folder: ["/nowhere/python"])


def test_a_run_uses_the_standby_worker(window):
    window.manager.keep_standby()
    standby = window.manager.workers.standby
    window.manager.keep_standby()
    assert standby is not None and window.manager.workers.standby is standby
    run_id = window.add(fake_worker.job())
    run = window.until(run_id, "finished")
    assert run.step == 6 and window.manager.workers.standby is None
    assert run.run_folder().last_started().pid == standby._process.pid


def test_the_standby_worker_ends_during_a_run_and_after_a_timeout(window, monkeypatch):
    window.manager.keep_standby()
    run_id = window.add(fake_worker.job("long"))
    window.until_waiting(run_id)
    window.manager.keep_standby()
    assert window.manager.workers.standby is None
    window.manager.stop(run_id)
    window.until(run_id, "stopped")
    window.manager.keep_standby()
    standby = window.manager.workers.standby
    assert standby is not None
    monkeypatch.setattr(workers, "STANDBY_SECONDS", 0.0)
    window.refresh()
    assert window.manager.workers.standby is None and standby._process.returncode is not None


def test_a_dead_standby_worker_is_replaced_by_a_fresh_one(window, monkeypatch):
    monkeypatch.setattr(launch, "command", fake_worker.command)
    window.manager.keep_standby()
    assert window.manager.workers.standby is not None
    window.manager.workers.standby._process.kill()
    window.manager.workers.standby._process.wait()
    assert window.until(window.add(fake_worker.job()), "finished").step == 6


def test_a_run_of_several_processes_gets_a_fresh_worker(window, monkeypatch):
    monkeypatch.setattr(launch, "command", fake_worker.command)
    window.manager.keep_standby()
    job = fake_worker.job()
    several = job.model_copy(update={"hardware": HardwareSpec(device="cpu", processes=2)})
    run = window.until(window.add(several), "finished")
    assert window.manager.workers.standby is not None
    assert run.run_folder().last_started().pid != window.manager.workers.standby._process.pid


def test_a_standby_worker_ends_with_the_window(window):
    window.manager.keep_standby()
    standby = window.manager.workers.standby
    assert standby is not None
    window.manager.detach()
    assert standby._process.returncode is not None
