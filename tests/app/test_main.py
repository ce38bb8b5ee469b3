"""Start of the program: with a window, without a screen, a second time, with a command."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from app.__main__ import main
from engine.files.home import Home
from engine.record.opening import VERSION
from tests.engine.test_private import OPEN_AND_CLOSE

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
def staying(home: Home) -> Iterator[subprocess.Popen[str]]:
    """The real window, shown by a process of its own."""
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


def test_the_window_with_all_its_pages_loads_no_torch_and_opens_with_little(home: Home) -> None:
    shown = run("-c", VISITING)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.splitlines() == ["before the first frame: []", "loaded: []"], shown.stdout
    assert "Traceback" not in shown.stderr
    assert "Traceback" not in home.log.read_text(encoding="utf-8")


def test_modules_are_loaded_as_python_does(home: Home) -> None:
    """PySide's own import would read the source of each of them."""
    loaded = run(
        "-c",
        "import builtins\nfrom app.__main__ import import_as_usual\n"
        "import PySide6.QtCore\nprint(builtins.__import__.__name__)\n"
        "import_as_usual()\nimport PySide6.QtWidgets, app.window\n"
        "print('feature' in builtins.__import__.__name__)",
    )
    assert loaded.stdout.split() == ["__feature_import__", "False"], loaded.stderr


def test_the_application_has_its_styles(home: Home) -> None:
    """Benchmarks create it too and would otherwise measure an unstyled window."""
    made = run(
        "-c",
        "from app.shell.opening import make_application\n"
        "print('QTableView::item' in make_application([]).styleSheet())",
    )
    assert made.stdout.split() == ["True"], made.stderr


def test_without_a_screen_it_names_the_headless_commands(home: Home) -> None:
    started = run("-m", "app", QT_QPA_PLATFORM="", DISPLAY="", WAYLAND_DISPLAY="")
    if sys.platform == "linux":
        assert started.returncode == 1
        assert len(started.stderr.splitlines()) == 1 and "bert-studio tour" in started.stderr


def test_the_help_has_every_command(home: Home) -> None:
    told = run("-m", "app", "--help")
    assert told.returncode == 0
    for command in (
        "train",
        "resume",
        "predict",
        "evaluate",
        "fill",
        "attention",
        "rebuild",
        "report",
    ):
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
    assert run("-c", OPEN_AND_CLOSE).returncode == 0


@pytest.mark.skipif(os.name != "posix", reason="signals are POSIX's")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_closes_the_window_in_good_order(
    home: Home, staying: subprocess.Popen[str], number: int
) -> None:
    os.kill(staying.pid, number)
    assert staying.wait(20) == 0
    assert home.settings.is_file(), "what the window remembers was written"


def test_a_record_of_a_newer_program_is_left_alone_in_words(home: Home) -> None:
    assert main(["rebuild"]) == 0
    with closing(sqlite3.connect(home.record)) as record:
        record.execute("PRAGMA user_version = 1000")
        record.commit()
    before = home.record.read_bytes()
    refused = run("-c", REFUSED)
    assert refused.returncode == 1
    assert "newer" in refused.stdout and "Traceback" not in refused.stderr
    assert home.record.read_bytes() == before


# answers the dialog with its first button, and closes the window as soon as it is settled
SETTING_ASIDE = REFUSED.replace("dialog.close()", 'dialog.buttons["new"].click()').replace(
    "opening.make_application = made",
    """
class Visited(opening.MainWindow):
    def begin(self):
        self.studio.dispatcher.settled.connect(self.close)
        super().begin()

opening.MainWindow = Visited
opening.make_application = made
""",
)


def test_a_record_of_a_newer_program_can_be_set_aside(home: Home) -> None:
    assert main(["rebuild"]) == 0
    with closing(sqlite3.connect(home.record)) as record:
        record.execute(f"PRAGMA user_version = {VERSION + 1}")
        record.commit()
    before = home.record.read_bytes()
    opened = run("-c", SETTING_ASIDE)
    assert opened.returncode == 0, opened.stderr
    (aside,) = home.root.glob("studio.db.corrupt-*")
    assert aside.read_bytes() == before


def test_a_home_that_cannot_be_used_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
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


@pytest.mark.parametrize("name", ["home.lock", "studio.log", "studio.db", "runs", "backups"])
def test_a_folder_or_file_in_the_place_of_another_is_one_sentence(home: Home, name: str) -> None:
    place = home.root / name
    if place.is_dir():
        place.rmdir()
        place.write_text("x")
    else:
        place.mkdir()
    refused = run("-c", REFUSED)
    assert refused.returncode == 1 and "Traceback" not in refused.stderr
    assert len(refused.stderr.splitlines()) == 1 and name in refused.stderr


NATURE = """
from PySide6.QtCore import QTimer
try:
    QTimer(interval=5)
except AttributeError:
    print("keywords fail")
"""


@pytest.mark.parametrize("language", ["tr_TR", pytest.param("az_AZ", marks=pytest.mark.long)])
def test_the_window_opens_where_the_capital_of_i_has_a_dot(
    home: Home, tmp_path: Path, language: str
) -> None:
    """PySide capitalises names of properties by the C locale, which is created here."""
    name = f"{language}.UTF-8"
    make = ["localedef", "-i", language, "-f", "UTF-8", str(tmp_path / name)]
    if shutil.which("localedef") is None or subprocess.run(make, capture_output=True).returncode:
        pytest.skip("the sources of this locale are not installed")
    there = {"LOCPATH": str(tmp_path), "LC_ALL": name, "LANG": name}
    assert run("-c", NATURE, **there).stdout == "keywords fail\n"
    shown = run("-c", VISITING, **there)
    assert shown.returncode == 0, shown.stderr
    assert "Traceback" not in home.log.read_text(encoding="utf-8")
