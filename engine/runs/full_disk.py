"""What a worker does while the disk is full: it says so, waits, and writes again.

Nothing is lost: the step stays in memory until its checkpoint is written. A reserve of a few
kilobytes, given back in that moment, leaves room for the lines that say so.
"""

import contextlib
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from engine.errors import DiskFull
from engine.messages.events import Event, Noted, Waiting
from engine.phrases import phrase
from engine.runs.folder import RunFolder
from engine.runs.lock import open_here

RESERVE = 64 << 10  # bytes
LOOK = 0.5  # s between two looks at what is free
RETRY = 30.0  # s after which a write is tried anyway: quotas do not show in what is free

Written = TypeVar("Written")


def patiently(
    write: Callable[[], Written], say: Callable[[Event], None], stop_wanted: Callable[[], bool]
) -> Written:
    """Do `write`, and again when there is room; raises DiskFull only where a stop is wanted.

    `write` leaves nothing behind where it fails. `say` hears a `Waiting` once, and a note after it.
    """
    waiting_since = None
    while True:
        try:
            written = write()
        except DiskFull as full:
            if stop_wanted():
                raise
            if waiting_since is None:
                waiting_since = time.monotonic()
                say(Waiting(problem=full.problem, advice=_advice(full)))
            _wait(full, stop_wanted)
        else:
            if waiting_since is not None:
                seconds = time.monotonic() - waiting_since
                say(
                    Noted(
                        text=phrase(
                            "The disk was full for {seconds:.0f} s; nothing was lost by it.",
                            seconds=seconds,
                        )
                    )
                )
            return written


class EventWriter:
    """The events of a worker: each is written, however long that takes, then heard."""

    def __init__(
        self, run: RunFolder, hear: Callable[[Event], None], stop_wanted: Callable[[], bool]
    ) -> None:
        self._run, self.hear = run, hear
        self.stop_wanted = stop_wanted

    def tell(self, event: Event) -> None:
        patiently(lambda: self._run.append(event), self.tell_at_last, self.stop_wanted)
        self.hear(event)

    def tell_at_last(self, event: Event) -> None:
        """Write into the reserve, and where even that is taken, be heard without being written."""
        self._run.reserve_file.unlink(missing_ok=True)
        with contextlib.suppress(DiskFull):  # nothing can be written: the run is silent
            self._run.append(event)
        self.hear(event)


@contextmanager
def reserve(run: RunFolder) -> Iterator[None]:
    """Keep a little room on the disk of a run for the block."""
    try:
        descriptor = open_here(run.reserve_file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        try:
            os.write(descriptor, os.urandom(RESERVE))  # noise: no disk can make it smaller
        finally:
            os.close(descriptor)
        yield
    finally:
        run.reserve_file.unlink(missing_ok=True)


def free_bytes(full: DiskFull) -> int:
    """What is free where something could not be written."""
    return shutil.disk_usage(full.place).free if full.place is not None else 0


def _wait(full: DiskFull, stop_wanted: Callable[[], bool]) -> None:
    """Until there is more room than there was, or as much as is needed; or until RETRY."""
    wanted = full.needed or free_bytes(full) + 1
    end = time.monotonic() + RETRY
    while time.monotonic() < end and not stop_wanted() and free_bytes(full) < wanted:
        time.sleep(LOOK)


def _advice(full: DiskFull) -> str:
    where = phrase(" on the disk of {place}", place=full.place) if full.place is not None else ""
    missing = max(0, full.needed - free_bytes(full))
    amount = f"{missing / 1e6:.0f} MB" if missing else phrase("some space")
    return phrase(
        "Free {amount}{where}: the run then goes on by itself, and nothing is lost.",
        amount=amount,
        where=where,
    )
