"""Log file of the window: one line for each record, readable by the user alone."""

import logging
import os
from logging.handlers import RotatingFileHandler
from pathlib import Path

MAX_LOG_BYTES = 2_000_000  # bytes of one file; two older ones are kept


class OneLine(logging.Formatter):
    """Formats a record with its traceback on one line, control characters escaped."""

    def format(self, record: logging.LogRecord) -> str:
        whole = super().format(record)
        return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in whole)


def log_to(file: Path) -> logging.Handler:
    """Log to `file` from now on; the caller closes the handler."""
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.close(descriptor)
    handler = RotatingFileHandler(
        file, maxBytes=MAX_LOG_BYTES, backupCount=2, encoding="utf-8", errors="backslashreplace"
    )
    handler.setFormatter(OneLine("%(asctime)s %(levelname)s %(message)s"))
    log = logging.getLogger("studio")
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    log.propagate = False
    return handler
