"""SIGINT, SIGTERM and SIGHUP close the window as a click would, and ask nothing."""

import signal
import socket
from collections.abc import Callable

from PySide6.QtCore import QObject, QSocketNotifier

ENDING = [getattr(signal, n) for n in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, n)]


class Ending(QObject):
    """Calls `end` in the event loop when the process is told to end.

    Python runs its handlers only between two steps of Python, and an idle window takes none; so the
    interpreter writes the signal into a socket that wakes the event loop.
    """

    def __init__(self, end: Callable[[], object], parent: QObject) -> None:
        super().__init__(parent)
        self._end = end
        self._read, self._write = socket.socketpair()
        for each in (self._read, self._write):
            each.setblocking(False)
        self._before = signal.set_wakeup_fd(self._write.fileno(), warn_on_full_buffer=False)
        self._handlers = {number: signal.signal(number, lambda *_: None) for number in ENDING}
        reads = QSocketNotifier.Type.Read
        self._notifier = QSocketNotifier(self._read.fileno(), reads, self)
        self._notifier.activated.connect(self._on_signal)

    def close(self) -> None:
        """Give the signals back."""
        self._notifier.setEnabled(False)
        signal.set_wakeup_fd(self._before)
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        self._read.close()
        self._write.close()

    def _on_signal(self) -> None:
        received = self._read.recv(64)
        if set(ENDING) & set(received):
            self._end()
