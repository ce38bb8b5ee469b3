"""Requests of other processes: a second start raises the window, a termination signal closes it.

The window listens on a local socket for this user alone, named after the path of the home; its lock
decides which process owns the home.
"""

import hashlib
import os
import signal
import socket
import time
from collections.abc import Callable

from PySide6.QtCore import QObject, QSocketNotifier
from PySide6.QtNetwork import QLocalServer, QLocalSocket

from engine.files.home import Home

ENDING = [getattr(signal, n) for n in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, n)]
ANSWER_SECONDS = 5.0  # s for the first window to start listening


def server_name(home: Home) -> str:
    """Socket name of a home, the same in every process of this user."""
    user = os.environ.get("USERNAME", "") if os.name == "nt" else str(os.getuid())
    path = f"{user}\0{os.path.realpath(home.root)}".encode("utf-8", "surrogateescape")
    return f"bert-studio-{hashlib.sha256(path).hexdigest()[:24]}"


class InstanceServer(QObject):
    """Listens for a second start and calls `answer`."""

    def __init__(self, home: Home, answer: Callable[[], None], parent: QObject) -> None:
        super().__init__(parent)
        self._answer = answer
        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        QLocalServer.removeServer(server_name(home))  # left over from a killed window
        self._server.newConnection.connect(self._on_connection)
        self.is_listening = self._server.listen(server_name(home))

    def _on_connection(self) -> None:
        while (caller := self._server.nextPendingConnection()) is not None:
            caller.write(b"here\n")
            caller.flush()
            caller.disconnected.connect(caller.deleteLater)
            caller.disconnectFromServer()
            self._answer()


def activate_running(home: Home) -> bool:
    """Ask the window that owns the home to come to the front; return True if it answered."""
    end = time.monotonic() + ANSWER_SECONDS
    while time.monotonic() < end:
        caller = QLocalSocket()
        caller.connectToServer(server_name(home))
        if caller.waitForConnected(500) and (
            caller.bytesAvailable() or caller.waitForReadyRead(2000)
        ):
            return True
        time.sleep(0.05)  # it has the lock but does not listen yet
    return False


class Ending(QObject):
    """Calls `end` in the event loop after SIGINT, SIGTERM or SIGHUP.

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
