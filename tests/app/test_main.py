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

CODE = Path(__file__).resolve().parents[2]

# opens the real window, shows every page, closes it when the runs are caught up with
VISITING = """
import sys
from app.shell import opening

class Visited(opening.MainWindow):
    def begin(self):
        print("before the first frame:", sorted(LATER & set(sys.modules)))
        self.studio.dispatcher.settled.connect(self.close)
        super().begin()
        for key in self.entries:
            self.go(key)

LATER = {"numpy", "pyarrow", "pyqtgraph"}
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

    def bring_to_front(self):
        print("front", flush=True)
        self.close()

opening.MainWindow = Staying
opening.run_window()
"""

PLACES = ("home.lock", "studio.log", "studio.db", "runs", "backups")

# answers the dialog that a start ends with by its button CHOICE, or closes it
ANSWERING = """
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

# starts that end with a dialog, the first as the home is, the others with a place that is another's
REFUSED = f"""{ANSWERING.replace("CHOICE", "dialog.close()")}
from engine.files.home import Home
root, codes = Home().root, [opening.run_window()]
for name in {PLACES}:
    place, kept = root / name, root / "kept"
    is_folder = place.is_dir()
    if place.exists():
        place.rename(kept)
    place.write_text("x") if is_folder else place.mkdir()
    codes.append(opening.run_window())
    place.unlink() if is_folder else place.rmdir()
    if kept.exists():
        kept.rename(place)
print(codes)
"""


def environment(**more: str) -> dict[str, str]:
    """Environment of this process for another screen; an empty value removes a name."""
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
def stay(home: Home) -> Iterator[Callable[[], subprocess.Popen[str]]]:
    """`stay()` shows the real window, in a process of its own."""
    processes: list[subprocess.Popen[str]] = []

    def start() -> subprocess.Popen[str]:
        command = [sys.executable, "-c", STAYING]
        process = subprocess.Popen(
            command, cwd=CODE, env=environment(), stdout=subprocess.PIPE, text=True
        )
        processes.append(process)
        assert process.stdout is not None and process.stdout.readline() == "shown\n"
        return process

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def test_the_window_with_all_its_pages_loads_no_torch_and_few_modules(home):
    shown = run("-c", VISITING)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.splitlines() == ["before the first frame: []", "loaded: []"], shown.stdout
    assert "Traceback" not in shown.stderr
    assert "Traceback" not in home.log.read_text(encoding="utf-8")


def test_modules_are_loaded_as_python_does_and_the_application_has_its_styles(home):
    """PySide's own import would read the source of each module. Benchmarks create the application
    too and would otherwise measure an unstyled window."""
    loaded = run(
        "-c",
        "import builtins\nfrom app.__main__ import restore_import\n"
        "import PySide6.QtCore\nprint(builtins.__import__.__name__)\n"
        "restore_import()\nfrom app.shell.opening import make_application\n"
        "print('feature' in builtins.__import__.__name__)\n"
        "print('QTableView::item' in make_application([]).styleSheet())",
    )
    assert loaded.stdout.split() == ["__feature_import__", "False", "True"], loaded.stderr


def test_without_a_screen_it_names_the_headless_commands(home):
    started = run("-m", "app", QT_QPA_PLATFORM="", DISPLAY="", WAYLAND_DISPLAY="")
    if sys.platform == "linux":
        assert started.returncode == 1
        assert len(started.stderr.splitlines()) == 1 and "bert-studio tour" in started.stderr


def test_a_window_opens_after_a_killed_one_and_a_second_start_shows_it(home, stay):
    first = stay()
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    staying = stay()
    second = run("-m", "app")
    assert second.returncode == 0
    assert "switching to its window" in second.stdout
    assert staying.stdout is not None
    assert staying.stdout.readline() == "front\n"
    assert staying.wait(20) == 0


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX's")
def test_a_signal_closes_the_window_cleanly(home, stay):
    staying = stay()
    os.kill(staying.pid, signal.SIGTERM)
    assert staying.wait(20) == 0
    assert home.settings.is_file(), "what the window remembers was written"


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX's")
def test_every_termination_signal_reaches_the_event_loop(qtbot):
    owner, ends = QObject(), list[int]()
    before = [signal.getsignal(number) for number in STOP_SIGNALS]
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        ending = SignalHandler(lambda number=number: ends.append(number), owner)
        try:
            os.kill(os.getpid(), number)
            qtbot.waitUntil(lambda number=number: ends[-1:] == [number])
        finally:
            ending.close()
    assert [signal.getsignal(number) for number in STOP_SIGNALS] == before


SETTING_ASIDE = f"""{ANSWERING.replace("CHOICE", 'dialog.buttons["new"].click()')}
class Visited(opening.MainWindow):
    def begin(self):
        self.studio.dispatcher.settled.connect(self.close)
        super().begin()

opening.MainWindow = Visited
sys.exit(opening.run_window())
"""


def test_a_record_of_a_newer_program_can_be_set_aside(home):
    assert main(["rebuild"]) == 0
    with closing(sqlite3.connect(home.record)) as record:
        record.execute(f"PRAGMA user_version = {VERSION + 1}")
        record.commit()
    before = home.record.read_bytes()
    opened = run("-c", SETTING_ASIDE)
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
    """A folder or file in the place of another, and a record of a newer program."""
    assert main(["rebuild"]) == 0
    with closing(sqlite3.connect(home.record)) as record:
        record.execute("PRAGMA user_version = 1000")
        record.commit()
    before = home.record.read_bytes()
    refused = run("-c", REFUSED)
    assert "Traceback" not in refused.stderr and home.record.read_bytes() == before
    codes, sentences = eval(refused.stdout.splitlines()[-1]), refused.stderr.splitlines()
    assert codes == [1] * 6 and len(sentences) == 6 and "newer" in sentences[0]
    for name, sentence in zip(PLACES, sentences[1:], strict=True):
        assert name in sentence, sentence
