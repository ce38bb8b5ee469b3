"""How work that takes long says how far it is."""

from collections.abc import Callable

ProgressCallback = Callable[[int, int], None]
"""Gets how much is done, and how much there is to do; 0 where nobody knows."""


def no_progress(done: int, total: int) -> None:
    """Where nobody wants to know."""
