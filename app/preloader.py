"""Load modules and create pages before they are needed."""

import pkgutil
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module

from PySide6.QtCore import QObject, QPoint
from PySide6.QtGui import QCursor
from PySide6.QtWidgets import QApplication, QLineEdit, QPlainTextEdit, QWidget

from app.shell.garbage import freeze_modules
from app.timers import repeated

IDLE_CHECK_MS = 500  # between checks for user activity
PAUSE_MS = 10  # between ticks
TIME_SLICE = 0.03  # seconds of short tasks per tick

Task = Callable[[], object]


class Preloader(QObject):
    """Loads `modules` a few at a time from the first frame on, then creates `pages` while idle.

    A module blocks the GUI thread for at most a tenth of a second, most for less than a hundredth.
    Pages take longer, so none starts while the user types, moves the mouse or answers a dialog.
    """

    def __init__(
        self, modules: Iterator[Task], pages: Iterator[Task], parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._modules, self._pages = modules, pages
        self._last_activity: tuple[QPoint, QWidget | None] | None = None
        self._is_loaded = False
        self.is_done = False
        self._timer = repeated(self, PAUSE_MS, self._on_tick)

    def begin(self) -> None:
        """Start once the window is on the screen."""
        self._timer.start()

    def _on_tick(self) -> None:
        self._last_activity = self._last_activity or _user_activity()  # the focus is set by now
        if self._is_loaded:
            self._create_when_idle()
        else:
            self._is_loaded = _run_some(self._modules)
            freeze_modules()

    def _create_when_idle(self) -> None:
        before, self._last_activity = self._last_activity, _user_activity()
        if before != self._last_activity or _is_busy():
            self._timer.setInterval(IDLE_CHECK_MS)
            return
        self._timer.setInterval(PAUSE_MS)
        if _run_some(self._pages):
            self._timer.stop()
            self.is_done = True


def _run_some(tasks: Iterator[Task]) -> bool:
    """Run a few short tasks or one long one; return True if none is left."""
    deadline = time.perf_counter() + TIME_SLICE
    while time.perf_counter() < deadline:
        task = next(tasks, None)
        if task is None:
            return True
        task()
    return False


def _user_activity() -> tuple[QPoint, QWidget | None]:
    return QCursor.pos(), QApplication.focusWidget()


def _is_busy() -> bool:
    """Return True while the user types, presses a mouse button or answers a dialog."""
    is_typing = isinstance(QApplication.focusWidget(), QLineEdit | QPlainTextEdit)
    dialog = QApplication.activeModalWidget() or QApplication.activePopupWidget()
    return bool(is_typing or dialog or QApplication.mouseButtons().value)


def module_tasks(package: str) -> Iterator[Task]:
    """One task for each module below a package, so that each blocks briefly."""
    submodules = pkgutil.iter_modules(import_module(package).__path__)
    for module in sorted(submodules, key=lambda module: module.ispkg):
        name = f"{package}.{module.name}"
        if name not in sys.modules:
            yield partial(import_module, name)
        if module.ispkg:
            yield from module_tasks(name)


def chart_tasks() -> Iterator[Task]:
    """Load the chart library, which takes 0.2 s and is not needed for the first frame.

    It touches every class of Qt, which PySide creates on first use. Loading it in another thread
    while the window opens crashes one start in fifteen, so it runs in the GUI thread, module by
    module.
    """
    for module in ("QtCore", "QtGui", "QtWidgets"):
        yield partial(_touch, f"PySide6.{module}")
    yield partial(import_module, "pyqtgraph")


def _touch(module: str) -> None:
    loaded = import_module(module)
    for name in dir(loaded):
        getattr(loaded, name)
