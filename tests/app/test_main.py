"""Start of the program: with a window, without a screen, a second time, with a command."""

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from PySide6.QtCore import QObject

from app.__main__ import main
from app.shell.opening import STOP_SIGNALS, SignalHandler, run_window

ROOT = Path(__file__).resolve().parents[2]

# opens the real window and kills it; opens it again, starts the program a second time, and closes
# the window by a signal; forked, since each new Python would load Qt again
OPEN_TWICE = """
import os, signal, sys
from app.__main__ import main
from app.shell import opening
from engine.files.home import Home

def fork(action):
    pid = os.fork()
    if not pid:
        os.dup2(ends[1], 1)
        sys.exit(action())
    return pid

def code(pid):
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

class StayingWindow(opening.MainWindow):
    def begin(self):
        print("shown", flush=True)

    def bring_to_front(self):
        print("front", flush=True)

opening.MainWindow = StayingWindow
ends = os.pipe()
output = open(ends[0])
first = fork(opening.run_window)
print(output.readline(), end="")
os.kill(first, signal.SIGKILL)
print(code(first))
window = fork(opening.run_window)
print(output.readline(), end="")
print(code(fork(lambda: main([]))))
print(*sorted(output.readline() for _ in range(2)), sep="", end="")
Home().settings.unlink(missing_ok=True)
os.kill(window, signal.SIGTERM)
print(code(window))
"""

PATHS = ("home.lock", "studio.log", "studio.db", "runs", "backups")

# starts that end with a dialog: on a home with the record of a newer program, then with a file for
# a folder or vice versa; and one whose dialog sets the record aside and opens the window, which
# shows every page and closes when the record is up to date; its workers only wait, without torch
FAILED_STARTS = f"""
import builtins
import sys
from app.__main__ import restore_import
import PySide6.QtCore
print(builtins.__import__.__name__)
restore_import()
from PySide6.QtCore import QTimer
from app import theme
from app.shell import opening
from engine.files.home import Home
from engine.runs import launch

launch.worker = lambda *_: [sys.executable, "-S", "-c", "import sys; sys.stdin.read()"]
app = opening.make_application([])
print("feature" in builtins.__import__.__name__, "QTableView::item" in theme._style_sheet(False))
opening.make_application = lambda arguments: app

def answer():
    dialog = app.activeModalWidget()
    if dialog is not None:
        dialog.buttons[choice].click()

timer = QTimer()
timer.timeout.connect(answer)
timer.start(20)
choice = "close"
root, codes = Home().root, [opening.run_window()]
for name in {PATHS}:
    path, backup = root / name, root / "backup"
    is_folder = path.is_dir()
    if path.exists():
        path.rename(backup)
    path.write_text("x") if is_folder else path.mkdir()
    codes.append(opening.run_window())
    path.unlink() if is_folder else path.rmdir()
    if backup.exists():
        backup.rename(path)

class VisitingWindow(opening.MainWindow):
    def begin(self):
        print("before the first frame:", sorted(LATER & set(sys.modules)))
        self.studio.dispatcher.settled.connect(self.close)
        super().begin()
        for key in self.entries:
            self.go(key)

LATER = {{"numpy", "pyarrow", "pyqtgraph"}}
choice, opening.MainWindow = "new", VisitingWindow
print(*codes, opening.run_window())
print("loaded:", sorted({{"torch", "safetensors", "transformers"}} & set(sys.modules)))
"""


def environment(**overrides: str) -> dict[str, str]:
    """Environment of this process with `overrides`; an empty value removes a variable."""
    merged = {**os.environ, "QT_QPA_PLATFORM": "offscreen", **overrides}
    return {name: value for name, value in merged.items() if value}


def run(*arguments: str, **overrides: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=environment(**overrides),
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_a_start_without_a_screen_names_the_headless_commands(home):
    started = run("-m", "app", QT_QPA_PLATFORM="", DISPLAY="", WAYLAND_DISPLAY="")
    if sys.platform == "linux":
        assert started.returncode == 1
        assert len(started.stderr.splitlines()) == 1 and "bert-studio tour" in started.stderr


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_a_window_opens_after_a_killed_one_and_a_second_start_shows_it(home):
    opened = run("-c", OPEN_TWICE)
    first, killed, shown, second, message, front, closed = opened.stdout.splitlines()
    assert (first, killed, shown, second) == ("shown", "-9", "shown", "0")
    assert "switching to its window" in message and (front, closed) == ("front", "0")
    assert home.settings.is_file(), "a signal closes the window cleanly: the settings were saved"


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_every_termination_signal_reaches_the_event_loop(qtbot):
    owner, received = QObject(), list[int]()
    before = [signal.getsignal(number) for number in STOP_SIGNALS]
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        handler = SignalHandler(lambda number=number: received.append(number), owner)
        try:
            os.kill(os.getpid(), number)
            qtbot.waitUntil(lambda number=number: received[-1:] == [number])
        finally:
            handler.close()
    assert [signal.getsignal(number) for number in STOP_SIGNALS] == before


def test_an_unusable_home_is_explained_in_one_sentence(tmp_path, monkeypatch, capsys):
    (tmp_path / "file").write_text("")
    messages = []
    for name in ("n" * 300, "/".join(["n" * 180] * 20), "b\udcff\udcfe", "file/home"):
        monkeypatch.setenv("BERT_STUDIO_HOME", str(tmp_path / name))
        assert main(["rebuild"]) == run_window() == 1
        messages += capsys.readouterr().err.splitlines(keepends=True)
    assert len(messages) == 8
    for message in messages:
        assert len(message.splitlines()) == 1 and len(message) <= 320


def test_a_failed_start_is_explained_and_the_window_then_loads_no_heavy_modules(home):
    """Files in the place of folders, folders in the place of files, and a newer record.

    Also: PySide's import hook would read the source of each module; without styles, benchmarks
    would measure an unstyled window.
    """
    assert main(["rebuild"]) == 0
    with closing(sqlite3.connect(home.record)) as record:
        record.execute("PRAGMA user_version = 1000")
        record.commit()
    before = home.record.read_bytes()
    starts = run("-c", FAILED_STARTS)
    printed = ["__feature_import__", "False True", "before the first frame: []", "1 1 1 1 1 1 0"]
    assert starts.stdout.splitlines() == [*printed, "loaded: []"], starts.stderr
    (aside,) = home.root.glob("studio.db.corrupt-*")
    assert "Traceback" not in starts.stderr and aside.read_bytes() == before
    first, *sentences, again = starts.stderr.splitlines()
    assert "newer" in first and first == again
    for name, sentence in zip(PATHS, sentences, strict=True):
        assert name in sentence, sentence
    assert "Traceback" not in home.log.read_text(encoding="utf-8")
