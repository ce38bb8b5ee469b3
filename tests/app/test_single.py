"""One window per home, checked with real processes."""

import contextlib
import os
import random
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QDir

from app.shell.opening import InstanceServer, activate_running, server_name
from engine.errors import StudioError
from engine.files.home import Home
from engine.runs.lock import hold

ROOT = Path(__file__).resolve().parents[2]

# claims the home, prints the result, and holds it until stdin closes
CLAIM_HOME = """
import sys
from pathlib import Path
from engine.errors import StudioError
from engine.runs.lock import hold
try:
    with hold(Path(sys.argv[1]), StudioError("it has a window")):
        print("mine", flush=True)
        sys.stdin.read()
except StudioError:
    print("theirs", flush=True)
    sys.stdin.read()
"""


def start(script: str, path: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, str(path)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def read_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def end(*processes: subprocess.Popen[str]) -> None:
    for process in processes:
        process.communicate()


def test_only_one_of_several_processes_gets_the_home(home):
    processes = [start(CLAIM_HOME, home.lock) for _ in range(6)]
    try:
        results = [read_line(process) for process in processes]
    finally:
        end(*processes)
    assert sorted(results) == ["mine"] + ["theirs"] * 5


def test_the_home_is_free_after_its_window_was_killed(home):
    owner = start(CLAIM_HOME, home.lock)
    assert read_line(owner) == "mine"
    os.kill(owner.pid, signal.SIGKILL)
    end(owner)
    assert home.lock.exists(), "the file remains without its lock"
    with hold(home.lock, StudioError("it is held")):
        pass


@pytest.mark.skipif(os.name != "posix", reason="needs socket permissions")
def test_the_socket_is_for_this_user_alone(qtbot, home):
    path = Path(QDir.tempPath()) / server_name(home)
    path.write_text("left over")
    server = _listen(home, [])
    assert path.stat().st_mode & 0o077 == 0
    server.deleteLater()


@pytest.mark.skipif(os.name != "posix", reason="needs socket permissions")
def test_any_message_to_the_socket_only_activates_the_window(qtbot, home):
    activations: list[bool] = []
    server = _listen(home, activations)
    path = str(Path(QDir.tempPath()) / server_name(home))
    rng = random.Random(49)
    for number in range(1, 41):
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(path)
            with contextlib.suppress(OSError):  # may be answered and closed already
                for _ in range(50):
                    client.send(rng.randbytes(rng.choice((0, 1, 100, 4000))), socket.MSG_DONTWAIT)
            qtbot.waitUntil(lambda number=number: len(activations) == number)
    server.deleteLater()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root")
def test_another_user_cannot_connect(qtbot, home):
    server = _listen(home, [])
    connect = "socket.socket(socket.AF_UNIX).connect(sys.argv[1])"
    path = Path(QDir.tempPath()) / server_name(home)
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import os, socket, sys; os.setuid(65534); {connect}", path],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode and "PermissionError" in done.stderr
    server.deleteLater()


def test_every_home_has_its_own_server_name(home, monkeypatch, tmp_path):
    monkeypatch.setattr("app.shell.opening.ANSWER_SECONDS", 0.1)
    assert not activate_running(home)
    first, other = Home(tmp_path / "one"), Home(tmp_path / "other")
    first.make()
    (tmp_path / "link").symlink_to(first.root)
    assert server_name(first) != server_name(other)
    assert server_name(first) == server_name(Home(tmp_path / "link"))


def _listen(home: Home, activations: list[bool]) -> InstanceServer:
    application = QCoreApplication.instance()
    assert application is not None
    server = InstanceServer(home, lambda: activations.append(True), application)
    assert server.is_listening
    return server
