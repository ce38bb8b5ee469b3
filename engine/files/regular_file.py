"""Opening a file that somebody else may have put there: looked at first, read within a limit.

A name says nothing of what stands there: a pipe waits for ever, a device never ends, and a file of
terabytes takes no space. This is the one way in which a file is read that this process did not just
write itself; `tests/test_reading_files.py` holds it.
"""

import errno
import json
import os
import stat
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import Any

SMALL = 16_000_000  # bytes of a job, a summary, settings: what people and programs write as JSON
LARGEST_MANIFEST = 64_000_000  # bytes of a list of files
LONGEST_LINE = 16_000_000  # bytes of a line that is no mistake
NOT_A_FILE = "it is a pipe or a device, not a file"
TOO_LARGE = "it is larger than such a file can be"

FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def open_regular(
    path: Path, largest: int | None = None, follows_links: bool = True
) -> BufferedReader:
    """Open a plain file for reading, and never wait for it.

    Raises:
        OSError: also where it is a folder, a pipe or a device, has more than `largest` bytes, or is
            a link that is not to be followed.
    """
    no_links = 0 if follows_links else getattr(os, "O_NOFOLLOW", 0)
    descriptor = os.open(path, FLAGS | no_links)
    try:
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.ESPIPE, NOT_A_FILE, str(path))
        if largest is not None and status.st_size > largest:
            raise OSError(errno.EOVERFLOW, TOO_LARGE, str(path))
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def regular(path: Path) -> Path:
    """The path of a plain file, for a library that opens it itself; raises OSError otherwise."""
    open_regular(path).close()
    return path


def read_regular(path: Path, largest: int = SMALL) -> bytes:
    """The content of a plain file of at most `largest` bytes; raises OSError as `open_regular`."""
    with open_regular(path, largest) as file:
        content = file.read(largest + 1)
    if len(content) > largest:  # it grew meanwhile
        raise OSError(errno.EOVERFLOW, TOO_LARGE, str(path))
    return content


def read_json(path: Path, largest: int = SMALL) -> Any:
    """The value in a JSON file.

    Raises:
        OSError: as `open_regular`.
        ValueError: where it is no JSON, or nested too deeply.
    """
    try:
        return json.loads(read_regular(path, largest).decode("utf-8-sig"))
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def lines_of(file: BufferedReader) -> Iterator[bytes]:
    """The whole lines of an open file; those longer than `LONGEST_LINE` are left out."""
    is_inside = False
    while line := file.readline(LONGEST_LINE):
        ends = line.endswith(b"\n")
        if ends and not is_inside:
            yield line
        is_inside = not ends
