"""What takes long to load and to make, before it is asked for, while nobody does anything."""

import pkgutil
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module

from PySide6.QtCore import QObject, QPoint, QTimer
from PySide6.QtGui import QCursor
from PySide6.QtWidgets import QApplication, QLineEdit, QPlainTextEdit, QWidget

LOOK_INTERVAL_MS = 500  # between two looks at whether somebody is doing something
PAUSE_MS = 10  # between two works while nobody does
SLICE = 0.03  # s of short works that are done at once

Work = Callable[[], object]


class EarlyWorks(QObject):
    """Does `works`, a few after each while in which nothing moved.

    A work holds the window's thread, the longest for a fifth of a second, so none is begun while
    somebody types, points or is asked something.
    """

    def __init__(self, works: Iterator[Work], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._works = works
        self._seen: tuple[QPoint, QWidget | None] | None = None
        self.is_over = False  # whether all works are done
        self._timer = QTimer(self)
        self._timer.setInterval(LOOK_INTERVAL_MS)
        self._timer.timeout.connect(self._look)

    def begin(self) -> None:
        """Start to look, once the window is on the screen."""
        self._seen = QCursor.pos(), QApplication.focusWidget()
        self._timer.start()

    def _look(self) -> None:
        focused = QApplication.focusWidget()
        before, self._seen = self._seen, (QCursor.pos(), focused)
        types = isinstance(focused, QLineEdit | QPlainTextEdit)
        asked = QApplication.activeModalWidget() or QApplication.activePopupWidget()
        if before != self._seen or types or asked or QApplication.mouseButtons().value:
            self._timer.setInterval(LOOK_INTERVAL_MS)
            return
        self._timer.setInterval(PAUSE_MS)
        end = time.perf_counter() + SLICE
        while time.perf_counter() < end:
            work = next(self._works, None)
            if work is None:
                self._timer.stop()
                self.is_over = True
                return
            work()


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
