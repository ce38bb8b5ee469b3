"""Progress of an upload."""

import io
import threading
from collections.abc import Callable
from pathlib import Path


class Sent:
    """Number of bytes sent of several files, possibly in parallel.

    `tell` gets the sum, which never decreases.
    """

    def __init__(self, tell: Callable[[int], object]) -> None:
        self._tell, self._bytes, self._lock = tell, 0, threading.Lock()

    def add(self, count: int) -> None:
        with self._lock:
            self._bytes += count
            self._tell(self._bytes)


class CountedFile(io.BufferedReader):
    """A file that is read twice: for its checksum, then to be sent.

    Data that is read again after a network error is not counted again.
    """

    def __init__(self, path: Path, sent: Sent) -> None:
        super().__init__(io.FileIO(path))
        self._sent, self._is_summed, self._farthest = sent, False, 0

    def read(self, size: int | None = -1, /) -> bytes:
        found = super().read(size)
        if self._is_summed:
            self._count()
        elif not found:
            self._is_summed = True
        return found

    def _count(self) -> None:
        place = self.tell()
        if place > self._farthest:
            more, self._farthest = place - self._farthest, place
            self._sent.add(more)
