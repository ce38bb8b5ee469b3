"""Start of the program: with a window, without a screen, a second time, with a command."""

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from PySide6.QtCore import QObject

from app.__main__ import main
from app.shell.opening import STOP_SIGNALS, SignalHandler
from engine.files.home import Home
from engine.record.opening import VERSION

ROOT = Path(__file__).resolve().parents[2]

# opens the real window, shows every page, and closes it when the record is up to date
VISIT_PAGES = """
import sys
from app.shell import opening

class VisitingWindow(opening.MainWindow):
    def begin(self):
        print("before the first frame:", sorted(LATER & set(sys.modules)))
        self.studio.dispatcher.settled.connect(self.close)
        super().begin()
        for key in self.entries:
            self.go(key)

LATER = {"numpy", "pyarrow", "pyqtgraph"}
opening.MainWindow = VisitingWindow
code = opening.run_window()
heavy = {"torch", "safetensors", "transformers"} & set(sys.modules)
print("loaded:", sorted(heavy))
sys.exit(code)
"""

# opens the real window, prints when it is shown, and stays open until killed or activated
STAY_OPEN = """
from app.shell import opening

class StayingWindow(opening.MainWindow):
    def begin(self):
        print("shown", flush=True)

    def bring_to_front(self):
        print("front", flush=True)
        self.close()

opening.MainWindow = StayingWindow
opening.run_window()
"""

PATHS = ("home.lock", "studio.log", "studio.db", "runs", "backups")

# executes CHOICE on the dialog that ends a start
ANSWER_DIALOG = """
import sys
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication
from app.shell import opening

app = opening.make_application([])
opening.make_application = lambda arguments: app

def answer():
    dialog = app.activeModalWidget()
    if dialog is not None:
        CHOICE

timer = QTimer()
timer.timeout.connect(answer)
timer.start(20)
"""

# starts that end with a dialog: on the home as it is, then with a file for a folder or vice versa
FAILED_STARTS = f"""{ANSWER_DIALOG.replace("CHOICE", "dialog.close()")}
from engine.files.home import Home
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
print(codes)
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


@pytest.fixture
def open_window(home: Home) -> Iterator[Callable[[], subprocess.Popen[str]]]:
    """`open_window()` shows the real window in a separate process."""
    processes: list[subprocess.Popen[str]] = []

    def start() -> subprocess.Popen[str]:
        command = [sys.executable, "-c", STAY_OPEN]
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment(), stdout=subprocess.PIPE, text=True
        )
        processes.append(process)
        assert process.stdout is not None and process.stdout.readline() == "shown\n"
        return process

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def test_the_window_and_its_pages_load_no_heavy_modules(home):
    visit = run("-c", VISIT_PAGES)
    assert visit.returncode == 0, visit.stderr
    assert visit.stdout.splitlines() == ["before the first frame: []", "loaded: []"], visit.stdout
    assert "Traceback" not in visit.stderr
    assert "Traceback" not in home.log.read_text(encoding="utf-8")


def test_pythons_import_is_restored_and_the_application_has_its_styles(home):
    """PySide's import hook would read the source of each module; without styles, benchmarks would
    measure an unstyled window."""
    loaded = run(
        "-c",
        "import builtins\nfrom app.__main__ import restore_import\n"
        "import PySide6.QtCore\nprint(builtins.__import__.__name__)\n"
        "restore_import()\nfrom app.shell.opening import make_application\n"
        "print('feature' in builtins.__import__.__name__)\n"
        "print('QTableView::item' in make_application([]).styleSheet())",
    )
    assert loaded.stdout.split() == ["__feature_import__", "False", "True"], loaded.stderr


def test_a_start_without_a_screen_names_the_headless_commands(home):
    started = run("-m", "app", QT_QPA_PLATFORM="", DISPLAY="", WAYLAND_DISPLAY="")
    if sys.platform == "linux":
        assert started.returncode == 1
        assert len(started.stderr.splitlines()) == 1 and "bert-studio tour" in started.stderr


def test_a_window_opens_after_a_killed_one_and_a_second_start_shows_it(home, open_window):
    first = open_window()
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    process = open_window()
    second = run("-m", "app")
    assert second.returncode == 0
    assert "switching to its window" in second.stdout
    assert process.stdout is not None
    assert process.stdout.readline() == "front\n"
    assert process.wait(20) == 0


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_a_signal_closes_the_window_cleanly(home, open_window):
    process = open_window()
    os.kill(process.pid, signal.SIGTERM)
    assert process.wait(20) == 0
    assert home.settings.is_file(), "the settings were saved"


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


SET_ASIDE = f"""{ANSWER_DIALOG.replace("CHOICE", 'dialog.buttons["new"].click()')}
class VisitingWindow(opening.MainWindow):
    def begin(self):
        self.studio.dispatcher.settled.connect(self.close)
        super().begin()

opening.MainWindow = VisitingWindow
sys.exit(opening.run_window())
"""


def test_a_record_of_a_newer_program_can_be_set_aside(home):
    assert main(["rebuild"]) == 0
    with closing(sqlite3.connect(home.record)) as record:
        record.execute(f"PRAGMA user_version = {VERSION + 1}")
        record.commit()
    before = home.record.read_bytes()
    opened = run("-c", SET_ASIDE)
    assert opened.returncode == 0, opened.stderr
    (aside,) = home.root.glob("studio.db.corrupt-*")
    assert aside.read_bytes() == before


def test_an_unusable_home_is_explained_in_one_sentence(tmp_path, monkeypatch, capsys):
    (tmp_path / "file").write_text("")
    messages = []
    for name in ("n" * 300, "/".join(["n" * 180] * 20), "b\udcff\udcfe", "file/home"):
        monkeypatch.setenv("BERT_STUDIO_HOME", str(tmp_path / name))
        assert main(["rebuild"]) == 1
        messages.append(capsys.readouterr().err)
    window = run("-m", "app")
    assert window.returncode == 1
    for message in (*messages, window.stderr):
        assert len(message.splitlines()) == 1 and len(message) <= 320


def test_a_failed_start_is_explained_in_one_sentence(home):
    """Files in the place of folders, folders in the place of files, and a newer record."""
    assert main(["rebuild"]) == 0
    with closing(sqlite3.connect(home.record)) as record:
        record.execute("PRAGMA user_version = 1000")
        record.commit()
    before = home.record.read_bytes()
    starts = run("-c", FAILED_STARTS)
    assert "Traceback" not in starts.stderr and home.record.read_bytes() == before
    codes, sentences = eval(starts.stdout.splitlines()[-1]), starts.stderr.splitlines()
    assert codes == [1] * 6 and len(sentences) == 6 and "newer" in sentences[0]
    for name, sentence in zip(PATHS, sentences[1:], strict=True):
        assert name in sentence, sentence
