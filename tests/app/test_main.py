"""The program as it is started: with a window, without a screen, a second time, with a command."""

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from engine.home import Home

CODE = Path(__file__).resolve().parents[2]

# opens the real window, shows every page, closes it when the runs are caught up with
VISITING = """
import sys
from app.shell import opening

class Visited(opening.MainWindow):
    def begin(self):
        self.studio.dispatcher.settled.connect(self.close)
        super().begin()
        for key in self.entries:
            self.go(key)

opening.MainWindow = Visited
code = opening.run_window()
heavy = {"torch", "safetensors", "transformers"} & set(sys.modules)
print("loaded:", sorted(heavy))
sys.exit(code)
"""

# opens the real window and says when it is on the screen; keeps it until it is killed
STAYING = """
from app.shell import opening

class Staying(opening.MainWindow):
    def begin(self):
        print("shown", flush=True)

    def come_to_front(self):
        print("front", flush=True)
        self.close()

opening.MainWindow = Staying
opening.run_window()
"""

# a start that ends with a dialog; says what it says and closes it
REFUSED = """
import sys
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QLabel
from app.shell import opening

make = opening.make_application

def made(arguments):
    app = make(arguments)
    def close():
        dialog = app.activeModalWidget()
        if dialog is None:
            QTimer.singleShot(20, close)
            return
        print([label.text() for label in dialog.findChildren(QLabel)][-1])
        dialog.close()
    QTimer.singleShot(20, close)
    return app

opening.make_application = made
sys.exit(opening.run_window())
"""


def environment(**more: str) -> dict[str, str]:
    """That of this process on another screen; an empty value takes a name away."""
    whole = {**os.environ, "QT_QPA_PLATFORM": "offscreen", **more}
    return {name: value for name, value in whole.items() if value}


def run(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=CODE,
        env=environment(**more),
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.fixture
def staying(home: Home) -> Iterator[subprocess.Popen[str]]:
    """The real window in a process of its own, on the screen by now."""
    process = subprocess.Popen(
        [sys.executable, "-c", STAYING],
        cwd=CODE,
        env=environment(),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "shown\n"
    yield process
    process.kill()
    process.communicate()


def test_the_window_with_all_its_pages_loads_no_torch(home: Home) -> None:
    shown = run("-c", VISITING)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.splitlines()[-1] == "loaded: []", shown.stdout
    assert "Traceback" not in shown.stderr
    assert "Traceback" not in home.log.read_text(encoding="utf-8")


def test_without_a_screen_it_names_the_headless_commands(home: Home) -> None:
    started = run("-m", "app", QT_QPA_PLATFORM="", DISPLAY="", WAYLAND_DISPLAY="")
    if sys.platform == "linux":
        assert started.returncode == 1
        assert len(started.stderr.splitlines()) == 1 and "bert-studio tour" in started.stderr


def test_the_help_has_every_command(home: Home) -> None:
    told = run("-m", "app", "--help")
    assert told.returncode == 0
    for command in ("train", "resume", "predict", "evaluate", "fill", "attention", "rebuild"):
        assert command in told.stdout


def test_rebuild_makes_the_record_anew(home: Home) -> None:
    made = run("-m", "app", "rebuild")
    assert made.returncode == 0, made.stderr
    assert "0 runs" in made.stdout and home.record.is_file()


def test_a_second_start_brings_the_first_to_the_front(
    home: Home, staying: subprocess.Popen[str]
) -> None:
    second = run("-m", "app")
    assert second.returncode == 0
    assert "switching to its window" in second.stdout
    assert staying.stdout is not None
    assert staying.stdout.readline() == "front\n"
    assert staying.wait(20) == 0


def test_a_killed_window_does_not_stop_the_next_start(
    home: Home, staying: subprocess.Popen[str]
) -> None:
    os.kill(staying.pid, signal.SIGKILL)
    staying.wait()
    assert run("-c", VISITING).returncode == 0


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX's")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_closes_the_window_in_good_order(
    home: Home, staying: subprocess.Popen[str], number: int
) -> None:
    os.kill(staying.pid, number)
    assert staying.wait(20) == 0
    assert home.settings.is_file(), "what the window remembers was written"


def test_a_record_of_a_newer_program_is_left_alone_in_words(home: Home) -> None:
    assert run("-m", "app", "rebuild").returncode == 0
    with closing(sqlite3.connect(home.record)) as record:
        record.execute("PRAGMA user_version = 1000")
        record.commit()
    before = home.record.read_bytes()
    refused = run("-c", REFUSED)
    assert refused.returncode == 1
    assert "newer" in refused.stdout and "Traceback" not in refused.stderr
    assert home.record.read_bytes() == before


def test_a_home_that_cannot_be_used_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    refused = run("-m", "app", BERT_STUDIO_HOME=str(tmp_path / "file" / "home"))
    assert refused.returncode == 1
    assert len(refused.stderr.splitlines()) == 1
