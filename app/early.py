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

from app.shell.garbage import keep_modules
from app.timers import repeated

LOOK_INTERVAL_MS = 500  # between two checks for user activity
PAUSE_MS = 10  # between two tasks
SLICE = 0.03  # s of short tasks run in one go

Work = Callable[[], object]


class EarlyWorks(QObject):
    """Loads `modules` a few at a time from the first frame on, then creates `pages` while idle.

    A module blocks the GUI thread for at most a tenth of a second, most for less than a hundredth.
    Pages take longer, so none starts while the user types, points or answers a dialog.
    """

    def __init__(
        self, modules: Iterator[Work], pages: Iterator[Work], parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._modules, self._pages = modules, pages
        self._seen: tuple[QPoint, QWidget | None] | None = None
        self._is_loaded = False
        self.is_over = False  # all tasks are done
        self._timer = repeated(self, PAUSE_MS, self._go_on)

    def begin(self) -> None:
        """Start once the window is on the screen."""
        self._timer.start()

    def _go_on(self) -> None:
        self._seen = self._seen or _here()  # the window has the focus by now
        if self._is_loaded:
            self._look()
        else:
            self._is_loaded = _do_some(self._modules)
            keep_modules()

    def _look(self) -> None:
        before, self._seen = self._seen, _here()
        if before != self._seen or _is_busy():
            self._timer.setInterval(LOOK_INTERVAL_MS)
            return
        self._timer.setInterval(PAUSE_MS)
        if _do_some(self._pages):
            self._timer.stop()
            self.is_over = True


def _do_some(works: Iterator[Work]) -> bool:
    """Run a few short tasks or one long one; return True if none is left."""
    end = time.perf_counter() + SLICE
    while time.perf_counter() < end:
        work = next(works, None)
        if work is None:
            return True
        work()
    return False


def _here() -> tuple[QPoint, QWidget | None]:
    return QCursor.pos(), QApplication.focusWidget()


def _is_busy() -> bool:
    """Return True while the user types, presses a mouse button or answers a dialog."""
    types = isinstance(QApplication.focusWidget(), QLineEdit | QPlainTextEdit)
    dialog = QApplication.activeModalWidget() or QApplication.activePopupWidget()
    return bool(types or dialog or QApplication.mouseButtons().value)


def loading(package: str) -> Iterator[Work]:
    """One task for each module below a package, so that each blocks briefly."""
    inside = pkgutil.iter_modules(import_module(package).__path__)
    for module in sorted(inside, key=lambda module: module.ispkg):
        name = f"{package}.{module.name}"
        if name not in sys.modules:
            yield partial(import_module, name)
        if module.ispkg:
            yield from loading(name)


def loading_drawing() -> Iterator[Work]:
    """Load what draws curves, a fifth of a second that the first frame does not need.

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
