"""Fixtures for tests of the window: its style, and a real studio on a fresh home."""

import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyqtgraph  # noqa: F401  # as the program does before its window opens
import pytest
from PySide6.QtCore import QThreadPool
from PySide6.QtWidgets import QApplication, QDialog, QMainWindow, QMenu, QWidget

import app
from app import resources, theme
from app.notices import Notices
from app.settings import Settings
from app.shell.garbage import Collector
from app.studio import Studio
from engine.files.home import Home
from engine.messages.question import Answer, Question, Refused, Working
from engine.record.opening import open_record


@pytest.fixture(scope="session", autouse=True)
def qapp(qapp: QApplication) -> QApplication:
    """The application with its own fonts, styles and the light theme."""
    resources.load(qapp)
    Collector(qapp)
    theme.apply(qapp, "light")
    return qapp


APP = Path(app.__file__).parent
PARTS_ARE_SHOWN = APP / "widgets" / "screen.py"  # by `set_shown`
WINDOWS = QDialog, QMainWindow, QMenu
SHOWN = {name: getattr(QWidget, name) for name in ("show", "setVisible")}


@pytest.fixture(scope="session", autouse=True)
def no_window_by_mistake() -> Iterator[None]:
    """Fail if a widget without a parent is shown: it would flicker and take the focus."""

    def showing(name: str) -> Callable[..., None]:
        def shown(self: QWidget, *shows: bool) -> None:
            caller = Path(sys._getframe(1).f_code.co_filename)
            alone = self.parent() is None and self.windowHandle() is None
            if alone and APP in caller.parents and not isinstance(self, WINDOWS):
                decides = caller == PARTS_ARE_SHOWN and shows == (False,)
                assert decides, f"{self} stands in nothing yet: `set_shown`, or later"
            SHOWN[name](self, *shows)

        return shown

    for name in SHOWN:
        setattr(QWidget, name, showing(name))
    yield
    for name, usual in SHOWN.items():
        setattr(QWidget, name, usual)


@pytest.fixture(autouse=True)
def trash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A separate trash for the test."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "data" / "Trash" / "files"


@pytest.fixture(autouse=True)
def nothing_in_the_background(tmp_path: Path) -> Iterator[None]:
    """Wait for pending writes of a test before its folder is removed."""
    yield
    QThreadPool.globalInstance().waitForDone(5_000)


@pytest.fixture(scope="session")
def empty_record(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Record of an empty home, made once and copied."""
    home = Home(tmp_path_factory.mktemp("empty") / "home")
    home.make()
    open_record(home.record, home.backups).close()
    return home.record


@pytest.fixture
def studio(
    qtbot: Any, home: Home, empty_record: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Studio]:
    """A studio with a real record, dispatcher and explorer; neither has started, and no worker runs
    before it is needed."""
    if not home.record.exists():
        shutil.copy(empty_record, home.record)
    opened = Studio(home, Notices())
    monkeypatch.setattr(opened.standby, "start", lambda: None)
    yield opened
    opened.close()


@pytest.fixture
def settings(qtbot: Any, tmp_path: Path) -> Iterator[Settings]:
    """Settings of no studio."""
    settings = Settings(tmp_path / "settings.json")
    yield settings
    settings.close()


@dataclass
class AskedWorker:
    """A one-time worker answered by the test."""

    question: Any
    done: Callable[[Answer], object]
    refused: Callable[[Refused], object]
    working: Callable[[Working], object]
    cancelled: bool = False

    def cancel(self, exited: Callable[[], object] = lambda: None) -> None:
        self.cancelled = True
        exited()


@pytest.fixture
def one_time_workers(studio: Studio, monkeypatch: pytest.MonkeyPatch) -> list[AskedWorker]:
    """The questions to workers; no process is started."""
    workers: list[AskedWorker] = []

    def one_time_worker(
        question: Question, done: Any, refused: Any, working: Any, owner: Any
    ) -> AskedWorker:
        workers.append(AskedWorker(question, done, refused, working))
        return workers[-1]

    monkeypatch.setattr(studio, "one_time_worker", one_time_worker)
    return workers


@pytest.fixture
def in_threads(studio: Studio, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads answer as one-time workers do."""
    from tests.app.threads import FakeWorkers

    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(studio, "one_time_worker", FakeWorkers(scratch, studio).start)


@pytest.fixture
def looks(qapp: QApplication) -> Iterator[Callable[[theme.Choice], None]]:
    """`looks("dark")` changes the theme; it is light again afterwards."""
    shown: list[theme.Choice] = ["light"]

    def change(choice: theme.Choice) -> None:
        if choice != shown[-1]:  # a style sheet takes long to apply
            theme.apply(qapp, choice)
            shown.append(choice)

    yield change
    change("light")
