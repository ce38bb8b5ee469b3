"""Progress of long work, and its cancellation."""

from collections.abc import Callable

ProgressCallback = Callable[[int, int], None]
"""Gets the work done and the total; 0 if the total is unknown."""


def no_progress(done: int, total: int) -> None:
    """No-op progress callback."""


class Cancelled(Exception):
    """The work was cancelled."""


class CancellableProgress:
    """Adds up the work done, reports it, and raises Cancelled once `cancelled()` is true."""

    def __init__(
        self,
        total: int,
        progress: ProgressCallback = no_progress,
        cancelled: Callable[[], bool] | None = None,
    ) -> None:
        self._done, self._total = 0.0, total
        self._progress, self._cancelled = progress, cancelled

    def advance(self, amount: float = 0.0) -> None:
        """Report `amount` more work as done. Raises Cancelled."""
        if self._cancelled is not None and self._cancelled():
            raise Cancelled
        self._done += amount
        self._progress(min(int(self._done), self._total), self._total)
