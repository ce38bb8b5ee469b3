"""Notices and errors for the user, the exception hook and the log file of the window.

A notice disappears after a while; an error stays until closed. The window shows both as banners;
tests read them from `Notices.shown`.
"""

import logging
import os
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from logging.handlers import RotatingFileHandler
from pathlib import Path
from types import TracebackType

from PySide6.QtCore import (
    QMessageLogContext,
    QObject,
    Qt,
    QtMsgType,
    Signal,
    qInstallMessageHandler,
)

from app.translation import translated
from engine.system.errors import explain_error

log = logging.getLogger("studio")

SENTENCE_LENGTH = 300  # characters of a sentence shown in a banner; the rest goes to its details
MAX_LOG_BYTES = 2_000_000  # bytes of one file; two older ones are kept


@dataclass(frozen=True)
class Notice:
    """One banner; `action` labels a button that calls `act` and closes it."""

    problem: str
    advice: str = ""
    details: str = ""
    is_error: bool = False
    action: str = ""
    act: Callable[[], None] | None = field(default=None, compare=False)
    number: int = field(default_factory=count().__next__, compare=False)

    def as_text(self) -> str:
        """Text that “Copy” puts on the clipboard."""
        return "\n".join(part for part in (self.problem, self.advice, self.details) if part)


class Notices(QObject):
    """Notices currently shown.

    Signals:
        added: a Notice to show.
        repeated: a Notice already shown, and its number of occurrences.
        closed: a Notice that is closed.
    """

    added = Signal(object)
    repeated = Signal(object, int)
    closed = Signal(object)
    _arrived = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.shown: list[Notice] = []
        self._counts: dict[int, int] = {}
        # delivered in this object's thread, whichever thread emits it
        self._arrived.connect(self._on_arrived, Qt.ConnectionType.AutoConnection)

    def info(self, text: str, action: str = "", act: Callable[[], None] | None = None) -> None:
        """Show a notice; with `action`, offer a button for it."""
        self._arrived.emit(Notice(translated(text), action=action, act=act))

    def error(
        self,
        problem: str,
        advice: str = "",
        details: str = "",
        action: str = "",
        act: Callable[[], None] | None = None,
    ) -> None:
        """Show an error: the problem in one sentence, the advice in another."""
        log.warning("%s", shorten(f"{problem} {advice} {details}", 4000))
        texts = (translated(problem), translated(advice))
        self._arrived.emit(Notice(*texts, details, True, action, act))

    def show(self, exception: BaseException) -> None:
        """Show an exception: a StudioError in its own words, any other as a bug of the program."""
        explained = explain_error(exception)
        if explained is None:
            self.bug(exception)
        else:
            self.error(explained.problem, explained.advice, explained.details)

    def bug(self, exception: BaseException) -> None:
        """Report a bug of the program: one line for the user, everything in the log."""
        trace = "".join(traceback.format_exception(exception))
        log.error("%s", trace)
        last = traceback.format_exception_only(exception)[-1].strip()
        problem = self.tr("Something went wrong in BERT Studio: {0} (unexpected error)").format(
            shorten(last)
        )
        advice = self.tr(
            "No saved work is lost, and you can continue. Copy the details to report the problem."
        )
        self._arrived.emit(Notice(problem, advice, trace, True))

    def close(self, notice: Notice) -> None:
        if notice in self.shown:
            self.shown.remove(notice)
            self._counts.pop(notice.number, None)
            self.closed.emit(notice)

    def _on_arrived(self, notice: Notice) -> None:
        for old in self.shown:
            if old == notice:
                self._counts[old.number] = self._counts.get(old.number, 1) + 1
                self.repeated.emit(old, self._counts[old.number])
                return
        self.shown.append(notice)
        self.added.emit(notice)


def shorten(text: str, characters: int = SENTENCE_LENGTH) -> str:
    """One line of at most `characters`, without control characters."""
    line = one_line(text)
    return line if len(line) <= characters else line[: characters - 1] + "…"


def one_line(text: str) -> str:
    """Replace control characters and line breaks, so that a log record is one line."""
    return "".join(c if c.isprintable() else " " for c in text).strip()


def catch_exceptions(notices: Notices) -> None:
    """Show uncaught exceptions of slots and threads; the window keeps running."""

    def caught(
        kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        if issubclass(kind, KeyboardInterrupt):
            sys.__excepthook__(kind, error, trace)
        else:
            notices.show(error)

    def caught_in_thread(args: threading.ExceptHookArgs) -> None:
        if args.exc_value is not None and not issubclass(args.exc_type, SystemExit):
            notices.show(args.exc_value)

    sys.excepthook = caught
    threading.excepthook = caught_in_thread


LEVELS = {
    QtMsgType.QtDebugMsg: logging.DEBUG,
    QtMsgType.QtInfoMsg: logging.INFO,
    QtMsgType.QtWarningMsg: logging.WARNING,
    QtMsgType.QtCriticalMsg: logging.ERROR,
    QtMsgType.QtFatalMsg: logging.CRITICAL,
}


def log_qt_messages() -> None:
    """Send Qt's messages to the log instead of the terminal."""

    def log_message(kind: QtMsgType, _context: QMessageLogContext, message: str) -> None:
        log.log(LEVELS.get(kind, logging.WARNING), "Qt: %s", one_line(message))

    qInstallMessageHandler(log_message)


class _OneLine(logging.Formatter):
    """Formats a record with its traceback on one line, control characters escaped."""

    def format(self, record: logging.LogRecord) -> str:
        trace = super().format(record)
        return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in trace)


@contextmanager
def logging_to(file: Path) -> Iterator[None]:
    """Log to `file` within the block: one line for each record, readable only by the user."""
    os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
    handler = RotatingFileHandler(
        file, maxBytes=MAX_LOG_BYTES, backupCount=2, encoding="utf-8", errors="backslashreplace"
    )
    handler.setFormatter(_OneLine("%(asctime)s %(levelname)s %(message)s"))
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    log.propagate = False
    try:
        yield
    finally:
        log.removeHandler(handler)
        handler.close()
