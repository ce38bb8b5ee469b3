"""Startup and shutdown of the window, and requests from a second start.

The window listens on a local socket, which only this user can reach and which is named after the
home's path, so that a second start raises it. The home's lock decides which process owns the home.
"""

import hashlib
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Callable

from PySide6.QtCore import QObject, QSocketNotifier
from PySide6.QtNetwork import QLocalServer, QLocalSocket
from PySide6.QtWidgets import QApplication

from app import background, library, resources, theme
from app.notices import Notices, catch_exceptions, log_qt_messages, logging_to, one_line
from app.shell.garbage import Collector
from app.studio import Studio
from app.translation import Translator, find_language, tr, translated
from app.widgets.dialogs import Choice, Question
from app.window import MainWindow
from engine.errors import StudioError
from engine.files.atomic_write import keep_files_private
from engine.files.home import Home
from engine.phrases import join
from engine.record.checking import NewerRecord
from engine.record.opening import set_aside
from engine.record.workers import QueueRunner
from engine.runs.lock import hold
from engine.system.errors import explain_error
from engine.system.terminal import echo, echo_error

log = logging.getLogger("studio")
STOP_SIGNALS = [getattr(signal, n) for n in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, n)]
ANSWER_SECONDS = 5.0  # time for the first window to start listening


def run_window() -> int:
    """Run the window of the home until it is closed; return the exit code."""
    keep_files_private()
    try:
        return _claim_and_run(Home())
    except Exception as error:
        if (explained := explain_error(error)) is None:
            raise
        echo_error(f"bert-studio: {explained}")
        return 1


def _claim_and_run(home: Home) -> int:
    home.make()
    already_running = StudioError("BERT Studio is already running with this home folder.")
    try:
        with hold(home.lock, already_running), logging_to(home.log):
            return _run(home)
    except StudioError as error:
        if error is not already_running:
            raise
    echo(
        "BERT Studio is already running; switching to its window."
        if activate_running(home)
        else "BERT Studio is already running, but its window does not respond."
    )
    return 0


def _run(home: Home) -> int:
    app = make_application(sys.argv[:1])
    notices = Notices(app)
    catch_exceptions(notices)
    log_qt_messages()
    studio = _open(home, notices, app)
    if studio is None:
        return 1
    try:
        preferences = studio.settings.preferences
        app.installTranslator(Translator(find_language(preferences.language), app))
        controller = app.findChild(theme.ThemeController)
        assert controller is not None
        controller.choose(preferences.theme)
        theme.set_text_size(app, preferences.text_size)

        def show(name: str) -> None:
            if name == "theme":
                controller.choose(studio.settings.preferences.theme)
            elif name == "text_size":
                theme.set_text_size(app, studio.settings.preferences.text_size)

        studio.settings.changed.connect(show)
        return _show(app, home, studio)
    finally:
        studio.close()


def _show(app: QApplication, home: Home, studio: Studio) -> int:
    window = MainWindow(studio)
    server = InstanceServer(home, window.bring_to_front, studio)
    if not server.is_listening:
        log.warning("no local socket: a second start cannot bring this window to the front")
    handler = SignalHandler(window.end, studio)
    window.show()
    window.begin()
    background.run(studio, lambda: library.remove_leftovers(home), lambda _: None)
    code = app.exec()
    handler.close()
    return code


def make_application(arguments: list[str]) -> QApplication:
    """Create the application with names, fonts and styles; the theme follows the desktop."""
    app = QApplication(arguments)
    app.setApplicationName("bert-studio")
    app.setApplicationDisplayName("BERT Studio")
    app.setDesktopFileName("bert-studio")
    app.installTranslator(Translator(parent=app))  # until the language is known
    resources.load(app)
    Collector(app)
    app.setWindowIcon(resources.app_icon())
    theme.ThemeController(app, "system")
    return app


def _open(home: Home, notices: Notices, app: QApplication) -> Studio | None:
    """Open the studio; None if that fails, after the user was informed."""
    try:
        return Studio(home, notices, app, QueueRunner(home))
    except NewerRecord as error:
        new = Choice("new", tr("&Set aside and rebuild"))
        if _ask(error, [new]) != new.key:
            return None
        set_aside(home.record)
        return _open(home, notices, app)
    except (StudioError, OSError) as error:
        explained = explain_error(error)
        if explained is None:
            raise
        _ask(explained, [])
        return None


def _ask(error: StudioError, choices: list[Choice]) -> str:
    """Show in a dialog why the window cannot open; return the answer."""
    log.error("%s", one_line(str(error)))
    echo_error(f"bert-studio: {error}")
    title, close = "BERT Studio", tr("&Close")
    text = translated(join("\n\n", (error.problem, error.advice)))
    answers: list[str] = []
    Question(
        None, title, text, [*choices, Choice("close", close, "primary")], answers.append
    ).exec()
    return answers[-1] if answers else "close"


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
    deadline = time.monotonic() + ANSWER_SECONDS
    while time.monotonic() < deadline:
        caller = QLocalSocket()
        caller.connectToServer(server_name(home))
        if caller.waitForConnected(500) and (
            caller.bytesAvailable() or caller.waitForReadyRead(2000)
        ):
            return True
        time.sleep(0.05)  # it has the lock but does not listen yet
    return False


class SignalHandler(QObject):
    """Calls `end` in the event loop after SIGINT, SIGTERM or SIGHUP.

    Python runs its handlers between two bytecodes, and an idle window executes none; so the
    interpreter writes the signal to a socket that wakes the event loop.
    """

    def __init__(self, end: Callable[[], object], parent: QObject) -> None:
        super().__init__(parent)
        self._end = end
        self._read, self._write = socket.socketpair()
        for sock in (self._read, self._write):
            sock.setblocking(False)
        self._previous_fd = signal.set_wakeup_fd(self._write.fileno(), warn_on_full_buffer=False)
        self._handlers = {number: signal.signal(number, lambda *_: None) for number in STOP_SIGNALS}
        reads = QSocketNotifier.Type.Read
        self._notifier = QSocketNotifier(self._read.fileno(), reads, self)
        self._notifier.activated.connect(self._on_signal)

    def close(self) -> None:
        """Restore the previous handlers."""
        self._notifier.setEnabled(False)
        signal.set_wakeup_fd(self._previous_fd)
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        self._read.close()
        self._write.close()

    def _on_signal(self) -> None:
        received = self._read.recv(64)
        if set(STOP_SIGNALS) & set(received):
            self._end()
