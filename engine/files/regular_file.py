"""Safe opening of untrusted files: checked first, read up to a limit.

A name does not show the kind of a file: a pipe blocks for ever, a device never ends, and a sparse
file of terabytes takes no space. Every file that this process did not just write is read through
this module; `tests/test_reading_files.py` checks that.
"""

import errno
import json
import os
import stat
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import Any

MAX_SMALL = 16_000_000  # bytes of a job, a summary, settings: JSON files of ordinary size
MAX_MANIFEST = 64_000_000  # bytes of a list of files
MAX_LINE = 16_000_000  # bytes of a plausible line
NOT_A_FILE = "it is a pipe or a device, not a file"
TOO_LARGE = "it is larger than such a file can be"

FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def open_regular(
    path: Path, max_bytes: int | None = None, follows_links: bool = True
) -> BufferedReader:
    """Open a plain file for reading, without ever blocking.

    Raises:
        OSError: also for a folder, a pipe or a device, more than `max_bytes` bytes, or a link if
            `follows_links` is false.
    """
    no_links = 0 if follows_links else getattr(os, "O_NOFOLLOW", 0)
    descriptor = os.open(path, FLAGS | no_links)
    try:
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.ESPIPE, NOT_A_FILE, str(path))
        if max_bytes is not None and status.st_size > max_bytes:
            raise OSError(errno.EOVERFLOW, TOO_LARGE, str(path))
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def check_regular(path: Path) -> Path:
    """Check that a path is a plain file, for a library that opens it itself. Raises OSError."""
    open_regular(path).close()
    return path


def read_regular(path: Path, max_bytes: int = MAX_SMALL) -> bytes:
    """Read a plain file of at most `max_bytes` bytes. Raises OSError as `open_regular`."""
    with open_regular(path, max_bytes) as file:
        content = file.read(max_bytes + 1)
    if len(content) > max_bytes:  # it grew meanwhile
        raise OSError(errno.EOVERFLOW, TOO_LARGE, str(path))
    return content


def read_json(path: Path, max_bytes: int = MAX_SMALL) -> Any:
    """Parse a JSON file.

    Raises:
        OSError: as `open_regular`.
        ValueError: not JSON, or nested too deeply.
    """
    try:
        return json.loads(read_regular(path, max_bytes).decode("utf-8-sig"))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def iter_lines(file: BufferedReader) -> Iterator[bytes]:
    """The complete lines of an open file, except those longer than `MAX_LINE`."""
    in_long_line = False
    while line := file.readline(MAX_LINE):
        has_end = line.endswith(b"\n")
        if has_end and not in_long_line:
            yield line
        in_long_line = not has_end
