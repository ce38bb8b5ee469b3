import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from engine.errors import StudioError
from engine.messages.events import Started
from engine.runs import launch
from engine.runs.folder import RunFolder
from tests.engine.runs import fake_worker
from tests.engine.runs.waiting import until

Start = Callable[[str], tuple[RunFolder, "subprocess.Popen[bytes]"]]


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Starts fake workers in new run folders, and ends them after the test."""
    monkeypatch.setattr(launch, "command", fake_worker.command)
    workers = []

    def start(name: str) -> tuple[RunFolder, "subprocess.Popen[bytes]"]:
        folder = RunFolder.create(tmp_path / name, fake_worker.job(name))
        workers.append(launch.start(folder.path))
        return folder, workers[-1]

    yield start
    for worker in workers:
        worker.kill()
        worker.wait()


def test_the_command_names_the_worker_and_the_folder(monkeypatch):
    folder = Path("/runs/one")
    assert launch.command(folder) == [sys.executable, "-m", "engine.worker", "train", str(folder)]
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert launch.command(folder) == [sys.executable, "--engine-worker", "train", str(folder)]


def test_the_real_worker_runs_its_own_code_and_refuses_a_folder_without_a_job(
    tmp_path, monkeypatch
):
    (tmp_path / "engine").mkdir()
    (tmp_path / "engine" / "__init__.py").write_text("print('canary')")
    (tmp_path / "sitecustomize.py").write_text("print('canary')")
    monkeypatch.chdir(tmp_path)
    with launch.start(tmp_path) as worker:
        assert worker.wait() != 0
    log = (tmp_path / "worker.log").read_text()
    assert "canary" not in log and "No module named engine" not in log


def test_a_worker_trains_to_its_end_and_its_output_is_logged(start):
    folder, worker = start("short")
    assert worker.wait() == 0
    assert folder.events_after(0)[0][-1].kind == "ended"
    assert folder.log_end() == "worker log of short"
    assert not folder.has_worker()


@pytest.mark.skipif(os.name == "nt", reason="sessions are of POSIX")
def test_a_worker_has_a_separate_session_and_no_input(start):
    folder, worker = start("long")
    until(lambda: folder.events_size() and folder.has_worker())
    assert os.getsid(worker.pid) == worker.pid
    if sys.platform == "linux":
        assert os.readlink(f"/proc/{worker.pid}/fd/0") == "/dev/null"
        score = int(Path("/proc/self/oom_score_adj").read_text())
        assert int(Path(f"/proc/{worker.pid}/oom_score_adj").read_text()) > score or score == 1000


@pytest.mark.skipif(os.name == "nt", reason="links need privileges on Windows")
def test_a_link_instead_of_the_log_is_replaced(start, tmp_path):
    folder = RunFolder.create(tmp_path / "linked", fake_worker.job())
    (tmp_path / "aim").write_text("mine")
    folder.log.symlink_to(tmp_path / "aim")
    with launch.start(folder.path) as worker:
        worker.wait()
    assert (tmp_path / "aim").read_text() == "mine"
    assert folder.log_end() == "worker log of short"


def test_a_missing_program_is_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(launch, "command", lambda folder: [str(tmp_path / "none")])
    with pytest.raises(StudioError, match="could not be started"):
        launch.start(tmp_path)


def test_a_forced_stop_ends_the_worker_and_its_children(start):
    folder, worker = start("long")
    until(lambda: folder.last_started() is not None)
    (folder.path / "do").write_text("child")
    until((folder.path / "child").exists)
    (child,) = psutil.Process(worker.pid).children()
    assert launch.kill_worker(folder.path)
    worker.wait()
    until(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE)
    assert not folder.has_worker()


def test_no_process_is_killed_without_a_lock_or_from_another_machine(tmp_path):
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as bystander:
        folder = RunFolder.create(tmp_path / "run", fake_worker.job())
        assert not launch.kill_worker(folder.path)
        folder.append(Started(pid=bystander.pid))
        assert not launch.kill_worker(folder.path)
        with folder.lock():
            folder.append(Started(pid=bystander.pid, host="another machine"))
            assert not launch.kill_worker(folder.path)
        assert bystander.poll() is None
        bystander.communicate(b"\n")


def test_a_detached_worker_continues_training(start):
    folder, worker = start("long")
    until(folder.has_worker)
    pid = worker.pid
    launch.detach(worker)
    assert worker.returncode == 0 and folder.has_worker()
    folder.request_stop()
    until(lambda: not folder.has_worker())
    os.waitpid(pid, 0)
    assert folder.events_after(0)[0][-1].kind == "ended"
