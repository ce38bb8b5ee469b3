"""Preloading of modules and pages before they are needed."""

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

IDLE_CHECK_MS = 500  # between two checks for user activity
PAUSE_MS = 10  # between two tasks
SLICE = 0.03  # s of short tasks run per tick

Task = Callable[[], object]


class Preloader(QObject):
    """Loads `modules` a few at a time from the first frame on, then creates `pages` while idle.

    A module blocks the GUI thread for at most a tenth of a second, most for less than a hundredth.
    Pages take longer, so none starts while the user types, points or answers a dialog.
    """

    def __init__(
        self, modules: Iterator[Task], pages: Iterator[Task], parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._modules, self._pages = modules, pages
        self._last_focus: tuple[QPoint, QWidget | None] | None = None
        self._is_loaded = False
        self.is_over = False  # all tasks are done
        self._timer = repeated(self, PAUSE_MS, self._on_tick)

    def begin(self) -> None:
        """Start once the window is on the screen."""
        self._timer.start()

    def _on_tick(self) -> None:
        self._last_focus = self._last_focus or _user_focus()  # the window has the focus by now
        if self._is_loaded:
            self._create_when_idle()
        else:
            self._is_loaded = _run_some(self._modules)
            freeze_modules()

    def _create_when_idle(self) -> None:
        before, self._last_focus = self._last_focus, _user_focus()
        if before != self._last_focus or _is_busy():
            self._timer.setInterval(IDLE_CHECK_MS)
            return
        self._timer.setInterval(PAUSE_MS)
        if _run_some(self._pages):
            self._timer.stop()
            self.is_over = True


def _run_some(tasks: Iterator[Task]) -> bool:
    """Run a few short tasks or one long one; return True if none is left."""
    end = time.perf_counter() + SLICE
    while time.perf_counter() < end:
        task = next(tasks, None)
        if task is None:
            return True
        task()
    return False


def _user_focus() -> tuple[QPoint, QWidget | None]:
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
    """Load the chart library, a fifth of a second that the first frame does not need.

    It touches every class of Qt, which PySide creates on first use. Done in another thread while
    the window opened, one start in fifteen ended with a segmentation fault; so it runs in the GUI
    thread, module by module.
    """
    for module in ("QtCore", "QtGui", "QtWidgets"):
        yield partial(_touch, f"PySide6.{module}")
    yield partial(import_module, "pyqtgraph")


def _touch(module: str) -> None:
    loaded = import_module(module)
    for name in dir(loaded):
        getattr(loaded, name)
