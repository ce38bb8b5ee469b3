"""User command that is started when a run ends."""

import os
import shlex
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

from engine.errors import StudioError
from engine.runs.lock import open_here

PREFIX = "BERT_STUDIO_RUN_"


def split_command(command: str) -> list[str]:
    """Split a command line. Raises StudioError if a quotation mark is missing."""
    try:
        return shlex.split(command, posix=sys.platform != "win32")
    except ValueError as error:
        raise StudioError(
            "The command “{command}” cannot be read: {error}.",
            "Check its quotation marks in Settings.",
            command=command,
            error=error,
        ) from error


def start(command: str, facts: Mapping[str, object], folder: Path, log: Path) -> None:
    """Start the command in `folder` in the background, with its output in `log`.

    No shell is involved: the facts of the run are in the environment, as BERT_STUDIO_RUN_NAME, so
    that a name never becomes part of the command.

    Raises StudioError if it cannot be started.
    """
    words = split_command(command)
    if not words:
        return
    variables = {PREFIX + name.upper(): _value(value) for name, value in facts.items()}
    if log.is_symlink():
        log.unlink()
    out = open_here(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            cwd=folder,
            env={**os.environ, **variables},
            start_new_session=True,
        )
        threading.Thread(target=process.wait, daemon=True).start()  # reaps the zombie
    except OSError as error:
        raise StudioError(
            "The command “{command}” could not be started: {error}.",
            "Check it in Settings.",
            command=words[0],
            error=error.strerror or error,
        ) from error
    finally:
        os.close(out)


def _value(value: object) -> str:
    return "" if value is None else str(value).replace("\0", "")
