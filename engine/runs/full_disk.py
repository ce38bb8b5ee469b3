"""Events of a worker, and its handling of a full disk: report it, wait, and try again.

Nothing is lost: the step stays in memory until its checkpoint is written. A reserve of a few
kilobytes, freed at that moment, leaves space for the events.
"""

import contextlib
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from engine.errors import DiskFull
from engine.messages.events import Event, Measured, Noted, Prepared, Started, Waiting
from engine.phrases import phrase
from engine.runs.folder import RunFolder
from engine.runs.lock import open_here

RESERVE_SIZE = 64 << 10  # bytes
POLL_SECONDS = 0.5  # between checks of the free space
# a write is tried anyway after this time, since quotas do not show in the free space
RETRY_SECONDS = 30.0

Result = TypeVar("Result")


def retry_when_full(
    write: Callable[[], Result], emit: Callable[[Event], None], stop_requested: Callable[[], bool]
) -> Result:
    """Call `write` until there is space; raises DiskFull only if a stop is requested.

    A failed `write` leaves nothing behind. `emit` gets a `Waiting` once, and a note after it.
    """
    waiting_since = None
    while True:
        try:
            result = write()
        except DiskFull as full:
            if stop_requested():
                raise
            if waiting_since is None:
                waiting_since = time.monotonic()
                emit(Waiting(problem=full.problem, advice=_advice(full)))
            _wait(full, stop_requested)
        else:
            if waiting_since is not None:
                seconds = time.monotonic() - waiting_since
                emit(
                    Noted(
                        text=phrase(
                            "The disk was full for {seconds:.0f} s. Nothing was lost.",
                            seconds=seconds,
                        )
                    )
                )
            return result


@contextmanager
def reserve(run: RunFolder) -> Iterator[None]:
    """Reserve a little space on the disk of a run for the block."""
    try:
        descriptor = open_here(run.reserve_file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        try:
            # random, so that no file system compresses it
            os.write(descriptor, os.urandom(RESERVE_SIZE))
        finally:
            os.close(descriptor)
        yield
    finally:
        run.reserve_file.unlink(missing_ok=True)


def free_bytes(full: DiskFull) -> int:
    """Free space at the path that could not be written."""
    return shutil.disk_usage(full.path).free if full.path is not None else 0


def _wait(full: DiskFull, stop_requested: Callable[[], bool]) -> None:
    """Wait until there is more space than before, or as much as needed; or until RETRY_SECONDS."""
    needed = full.needed or free_bytes(full) + 1
    deadline = time.monotonic() + RETRY_SECONDS
    while time.monotonic() < deadline and not stop_requested() and free_bytes(full) < needed:
        time.sleep(POLL_SECONDS)


def _advice(full: DiskFull) -> str:
    where = phrase(" on the disk of {place}", place=full.path) if full.path is not None else ""
    missing = max(0, full.needed - free_bytes(full))
    amount = f"{missing / 1e6:.0f} MB" if missing else phrase("some space")
    return phrase(
        "Free {amount}{where}. The run then continues by itself; nothing is lost.",
        amount=amount,
        where=where,
    )


class EventWriter:
    """Writes events, waiting for space while the disk is full. `step` is the last event's.

    Args:
        on_event: gets each event after it is written, or None.
        stop_requested: true if the run should stop, which ends the wait for space.
    """

    def __init__(
        self,
        run: RunFolder,
        on_event: Callable[[Event], None] | None,
        stop_requested: Callable[[], bool],
    ) -> None:
        self._run, self._on_event = run, on_event
        self.step = 0
        self.has_listener = on_event is not None
        self.stop_requested = stop_requested

    def forward(self, event: Event) -> None:
        if isinstance(event, Measured | Prepared | Started):
            self.step = event.step
        if self._on_event is not None:
            self._on_event(event)

    def write(self, event: Event) -> None:
        retry_when_full(
            lambda: self._run.append(event), self.write_from_reserve, self.stop_requested
        )
        self.forward(event)

    def write_from_reserve(self, event: Event) -> None:
        """Free the reserve for this event; if even that is too little, it is only passed on."""
        self._run.reserve_file.unlink(missing_ok=True)
        with contextlib.suppress(DiskFull):
            self._run.append(event)
        self.forward(event)
