"""SIGINT, SIGTERM and SIGHUP close the window without confirmation."""

import signal
import socket
from collections.abc import Callable

from PySide6.QtCore import QObject, QSocketNotifier

ENDING = [getattr(signal, n) for n in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, n)]


class Ending(QObject):
    """Calls `end` in the event loop after a termination signal.

    Python runs its handlers between two bytecodes, and an idle window executes none; so the
    interpreter writes the signal to a socket that wakes the event loop.
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
        """Restore the previous handlers."""
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
