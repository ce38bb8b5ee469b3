"""Pages that take long to make are made before they are asked for, while nobody does anything."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QObject, QPoint, QTimer
from PySide6.QtGui import QCursor
from PySide6.QtWidgets import QApplication, QLineEdit, QPlainTextEdit, QWidget

LOOK_INTERVAL_MS = 1500  # between two looks at whether somebody is doing something


class EarlyPages(QObject):
    """Calls `make` with one key after another, each after a while in which nothing moved.

    Making a page holds the window's thread for half a second, so none is made while somebody
    types, points or is asked something.
    """

    def __init__(
        self, keys: Sequence[str], make: Callable[[str], object], parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._left, self._make = list(keys), make
        self._seen: tuple[QPoint, QWidget | None] | None = None
        self._timer = QTimer(self)
        self._timer.setInterval(LOOK_INTERVAL_MS)
        self._timer.timeout.connect(self._look)

    def begin(self) -> None:
        """Start to look, once the window is on the screen."""
        if self._left:
            self._timer.start()

    def _look(self) -> None:
        focused = QApplication.focusWidget()
        before, self._seen = self._seen, (QCursor.pos(), focused)
        types = isinstance(focused, QLineEdit | QPlainTextEdit)
        asked = QApplication.activeModalWidget() or QApplication.activePopupWidget()
        if before != self._seen or types or asked or QApplication.mouseButtons().value:
            return
        key = self._left.pop(0)
        if not self._left:
            self._timer.stop()
        self._make(key)
