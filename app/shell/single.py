"""A second start on a home raises its window.

The window listens on a local socket for this user alone, named after the path of the home.
`app.shell.claim` decides which process owns the home.
"""

import hashlib
import os
import time
from collections.abc import Callable

from PySide6.QtCore import QObject
from PySide6.QtNetwork import QLocalServer, QLocalSocket

from engine.files.home import Home

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
