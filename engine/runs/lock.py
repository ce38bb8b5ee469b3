"""File locks that the system releases when the holder exits, even if it is killed."""

import errno
import os
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from engine.errors import StudioError

LOCK_TIMEOUT = 1.0  # s; longer than any test of the lock, so that a test never blocks a holder

if sys.platform == "win32":
    import msvcrt

    def _acquire(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

    def _test(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
else:
    import fcntl

    def _acquire(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _test(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)


def open_here(path: Path, flags: int) -> int:
    """Open the plain file `path` itself, never the target of a link; returns the descriptor.

    Raises StudioError for a link, a pipe or a device, without waiting for it.
    """
    if path.is_symlink():
        raise StudioError(
            "{path} in {parent} is a symbolic link, and links are not written to.",
            "Remove the link and try again.",
            path=path.name,
            parent=path.parent,
        )
    for name in ("O_NOFOLLOW", "O_BINARY", "O_NONBLOCK"):
        flags |= getattr(os, name, 0)
    try:
        descriptor = os.open(path, flags, 0o600)
    except OSError as error:
        if error.errno == errno.ENXIO:  # a pipe without a reader, or a socket
            raise _not_a_file_error(path) from error
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise _not_a_file_error(path)
    return descriptor


def _not_a_file_error(path: Path) -> StudioError:
    return StudioError(
        "{path} in {parent} is a pipe or a device, not a file.",
        "Remove it and try again.",
        path=path.name,
        parent=path.parent,
    )


def is_held(path: Path) -> bool:
    """True if a living process holds the lock at `path`; the test does not disturb it."""
    if path.is_symlink():
        return False  # a holder never uses a link
    try:
        descriptor = open_here(path, os.O_RDONLY)
    except (FileNotFoundError, StudioError):
        return False  # only a plain file can be held
    try:
        _test(descriptor)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


@contextmanager
def hold(path: Path, busy: StudioError, timeout: float = LOCK_TIMEOUT) -> Iterator[None]:
    """Hold the lock at `path` for the block; raise `busy` if another process has it for longer than
    `timeout` seconds.

    A forked child does not inherit it, so leftover children cannot keep it alive.
    """
    descriptor = open_here(path, os.O_RDWR | os.O_CREAT)
    owner = os.getpid()
    holding = [descriptor]

    def close_in_child() -> None:
        if holding and os.getpid() != owner:
            os.close(holding.pop())

    try:
        _acquire_within(descriptor, timeout, busy)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=close_in_child)
        yield
    finally:
        if holding:
            os.close(holding.pop())


def _acquire_within(descriptor: int, seconds: float, busy: StudioError) -> None:
    deadline = time.monotonic() + seconds
    while True:
        try:
            return _acquire(descriptor)
        except OSError as error:
            if time.monotonic() > deadline:
                raise busy from error
            time.sleep(0.01)
