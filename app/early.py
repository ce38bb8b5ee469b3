"""What takes long to load and to make, before it is asked for."""

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

LOOK_INTERVAL_MS = 500  # between two looks at whether somebody is doing something
PAUSE_MS = 10  # between two works
SLICE = 0.03  # s of short works that are done at once

Work = Callable[[], object]


class EarlyWorks(QObject):
    """Loads `modules` at once, a few after each, and then makes `pages` while nothing moves.

    A module holds the window's thread for a tenth of a second at most, and most do for less than
    a hundredth. A page holds it longer, so none is begun while somebody types, points or is asked
    something.
    """

    def __init__(
        self, modules: Iterator[Work], pages: Iterator[Work], parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._modules, self._pages = modules, pages
        self._seen: tuple[QPoint, QWidget | None] | None = None
        self._is_loaded = False
        self.is_over = False  # whether all works are done
        self._timer = repeated(self, PAUSE_MS, self._go_on)

    def begin(self) -> None:
        """Start, once the window is on the screen."""
        self._timer.start()

    def _go_on(self) -> None:
        self._seen = self._seen or _here()  # the window has the keyboard by now
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
    """Do a few short works, or one long one; whether none is left."""
    end = time.perf_counter() + SLICE
    while time.perf_counter() < end:
        work = next(works, None)
        if work is None:
            return True
        work()
    return False


def _here() -> tuple[QPoint, QWidget | None]:
    """Where the pointer is, and the keyboard."""
    return QCursor.pos(), QApplication.focusWidget()


def _is_busy() -> bool:
    """Whether somebody types, presses a button of the mouse or is asked something."""
    types = isinstance(QApplication.focusWidget(), QLineEdit | QPlainTextEdit)
    asked = QApplication.activeModalWidget() or QApplication.activePopupWidget()
    return bool(types or asked or QApplication.mouseButtons().value)


def loading(package: str) -> Iterator[Work]:
    """A work for each module below a package, which is then loaded, and so in short pieces."""
    inside = pkgutil.iter_modules(import_module(package).__path__)
    for module in sorted(inside, key=lambda module: module.ispkg):
        name = f"{package}.{module.name}"
        if name not in sys.modules:
            yield partial(import_module, name)
        if module.ispkg:
            yield from loading(name)


def loading_drawing() -> Iterator[Work]:
    """Load what curves are drawn with, a fifth of a second that the first frame need not wait for.

    It touches every class of Qt, and PySide makes each when it is touched first: done on another
    thread while the window was opening, that ended one start in fifteen with a segmentation fault.
    So it is done on the window's thread, and the classes are touched module by module before.
    """
    for module in ("QtCore", "QtGui", "QtWidgets"):
        yield partial(_touch, f"PySide6.{module}")
    yield partial(import_module, "pyqtgraph")


def _touch(module: str) -> None:
    """Have PySide make the classes of a module."""
    loaded = import_module(module)
    for name in dir(loaded):
        getattr(loaded, name)
