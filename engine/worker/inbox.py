"""What was asked of a worker and not yet taken: lines that come in while it works."""

import json
import os
import threading
from collections.abc import Callable
from typing import BinaryIO, NamedTuple

QUIET = 1.0  # s without a question, after which something else is done


class Line(NamedTuple):
    """A question as it came; of each kind and side only the newest waits."""

    content: bytes
    kind: str = ""
    side: int = 0
    number: int = 0


class Inbox:
    """The newest question of each kind and side, in the order of asking."""

    def __init__(self) -> None:
        self._waiting: dict[tuple[str, int], Line] = {}
        self._changed = threading.Condition()

    def read(self, lines: BinaryIO) -> None:
        """Take in lines until there are no more; then the process ends at once."""
        for line in lines:
            if line.strip():
                self.put(line)
        os._exit(0)

    def put(self, content: bytes) -> None:
        line = addressed(content)
        place = line.kind, line.side
        with self._changed:
            self._waiting.pop(place, None)
            self._waiting[place] = line
            self._changed.notify()

    def take(self, meanwhile: Callable[[], bool] = lambda: False) -> Line:
        """The question that waits longest; blocks until there is one.

        Where none comes for a while, `meanwhile` is called again and again, as long as it says that
        there is more for it to do. Who types is not made to wait for that.
        """
        with self._changed:
            if not self._waiting:
                self._changed.wait(QUIET)
        while not self._waiting and meanwhile():
            pass
        with self._changed:
            while not self._waiting:
                self._changed.wait()
            return self._waiting.pop(next(iter(self._waiting)))


def addressed(content: bytes) -> Line:
    """A line with what it says of itself, as far as it can be read."""
    try:
        said = json.loads(content)
        kind, side, number = (said.get(name) for name in ("kind", "side", "number"))
    except (ValueError, AttributeError, RecursionError):
        return Line(content)
    return Line(
        content,
        kind if isinstance(kind, str) else "",
        side if isinstance(side, int) else 0,
        number if isinstance(number, int) else 0,
    )
