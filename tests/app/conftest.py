"""Fixtures for tests of the window: its style, and a real studio on a fresh home."""

import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyqtgraph  # noqa: F401  # as the program does before its window opens
import pytest
from PySide6.QtCore import QThreadPool
from PySide6.QtWidgets import QApplication, QDialog, QMainWindow, QMenu, QWidget
from pytestqt.qtbot import QtBot

import app
from app import resources, theme
from app.notices import Notices
from app.settings import Settings
from app.shell.garbage import Collector
from app.studio import Studio
from engine.files.home import Home
from engine.messages.question import Answer, Question, Refused, Working
from engine.record import opening
from tests.engine.record.statements import shared_statements

__all__ = ["shared_statements"]

PATIENCE = 30_000  # ms


@pytest.fixture(scope="session", autouse=True)
def qapp(qapp: QApplication) -> QApplication:
    """The application with its own fonts, styles and the light theme."""
    resources.load(qapp)
    Collector(qapp)
    theme.apply(qapp, "light")
    return qapp


@pytest.fixture
def qtbot(qtbot: QtBot) -> QtBot:
    """Waits longer than 5 s if a test gives no timeout: the machine may be busy."""
    qtbot.waitUntil = partial(qtbot.waitUntil, timeout=PATIENCE)
    return qtbot


@pytest.fixture(scope="session", autouse=True)
def styled_windows() -> Iterator[None]:
    """Style the top-level widgets of tests as the window that would own them."""
    add_widget = QtBot.addWidget

    def add(self: QtBot, widget: QWidget, **options: Any) -> None:
        if widget.parent() is None:
            theme.set_style(widget)
        add_widget(self, widget, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(QtBot, "addWidget", add)
        yield


APP = Path(app.__file__).parent
SHOW_HELPER = APP / "widgets" / "screen.py"  # its `set_shown`
WINDOW_TYPES = QDialog, QMainWindow, QMenu
ORIGINALS = {name: getattr(QWidget, name) for name in ("show", "setVisible")}


@pytest.fixture(scope="session", autouse=True)
def no_stray_windows() -> Iterator[None]:
    """Fail if a widget without a parent is shown: it would flicker and take the focus."""

    def checked(name: str) -> Callable[..., None]:
        def show(self: QWidget, *visible: bool) -> None:
            caller = Path(sys._getframe(1).f_code.co_filename)
            is_orphan = self.parent() is None and self.windowHandle() is None
            if is_orphan and APP in caller.parents and not isinstance(self, WINDOW_TYPES):
                is_hidden = caller == SHOW_HELPER and visible == (False,)
                assert is_hidden, f"{self} has no parent yet: use `set_shown`, or show it later"
            ORIGINALS[name](self, *visible)

        return show

    for name in ORIGINALS:
        setattr(QWidget, name, checked(name))
    yield
    for name, original in ORIGINALS.items():
        setattr(QWidget, name, original)


@pytest.fixture(autouse=True)
def trash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A separate trash for the test."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "data" / "Trash" / "files"


@pytest.fixture(autouse=True)
def finished_background_writes(tmp_path: Path) -> Iterator[None]:
    """Wait for pending writes of a test before its folder is removed."""
    yield
    QThreadPool.globalInstance().waitForDone(5_000)


@pytest.fixture(scope="session")
def empty_record(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Record of an empty home, created once and copied."""
    home = Home(tmp_path_factory.mktemp("empty") / "home")
    home.make()
    opening.open_record(home.record, home.backups).close()
    return home.record


@pytest.fixture
def studio(
    qtbot: Any, home: Home, empty_record: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Studio]:
    """A studio with a real record, dispatcher and explorer; none is started, and workers start only
    when needed."""
    if not home.record.exists():
        shutil.copy(empty_record, home.record)
    studio = Studio(home, Notices())
    monkeypatch.setattr(studio.standby, "start", lambda: None)
    yield studio
    studio.close()


@pytest.fixture
def settings(qtbot: Any, tmp_path: Path) -> Iterator[Settings]:
    """Settings without a studio."""
    settings = Settings(tmp_path / "settings.json")
    yield settings
    settings.close()


@dataclass
class StubWorker:
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
def one_time_workers(studio: Studio, monkeypatch: pytest.MonkeyPatch) -> list[StubWorker]:
    """Stubs of the workers that are asked a question; no process starts."""
    workers: list[StubWorker] = []

    def one_time_worker(
        question: Question, done: Any, refused: Any, working: Any, owner: Any
    ) -> StubWorker:
        workers.append(StubWorker(question, done, refused, working))
        return workers[-1]

    monkeypatch.setattr(studio, "one_time_worker", one_time_worker)
    return workers


@pytest.fixture
def in_threads(studio: Studio, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answer questions to one-time workers in threads."""
    from tests.app.threads import FakeWorkers

    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(studio, "one_time_worker", FakeWorkers(scratch, studio).start)


@pytest.fixture(autouse=True)
def _light_theme(qapp: QApplication) -> None:
    """Restore the light theme after a test with another one, once its widgets have been deleted: a
    style sheet takes long to apply to them."""
    if theme.is_dark():
        theme.apply(qapp, "light")


@pytest.fixture
def set_theme(qapp: QApplication) -> Callable[[theme.Choice], None]:
    """`set_theme("dark")` changes the theme for this test."""

    def change(choice: theme.Choice) -> None:
        if choice != ("dark" if theme.is_dark() else "light"):
            theme.apply(qapp, choice)

    return change
