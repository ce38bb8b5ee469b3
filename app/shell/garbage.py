"""Garbage collection in the GUI thread only.

Python collects cycles in any thread that allocates. In a thread of `app.background` that would
destroy Qt objects and their timers, which crashes the program.
"""

import gc

from PySide6.QtCore import QObject

from app.timers import repeated

COLLECT_INTERVAL_MS = 500  # between checks of the allocation counts


class Collector(QObject):
    """Replaces Python's collector while it exists; create it in the GUI thread.

    Existing objects are frozen, so that a collection is short; collecting them first would take
    longer than drawing the first frame.
    """

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        gc.freeze()
        gc.disable()
        self.destroyed.connect(gc.enable)
        timer = repeated(self, COLLECT_INTERVAL_MS, self.check)
        timer.start()

    def check(self) -> None:
        """Collect the youngest generation, and older ones at Python's usual ratios."""
        exceeded = [c > t for c, t in zip(gc.get_count(), gc.get_threshold(), strict=True)]
        if not exceeded[0]:
            return
        gc.collect(2 if exceeded[1] and exceeded[2] else 1 if exceeded[1] else 0)


def freeze_modules() -> None:
    """Freeze what was just loaded; it stays, and the next collection would traverse it."""
    if not gc.isenabled():  # a Collector has taken over
        gc.freeze()


def collect_and_freeze() -> None:
    """Collect once, then freeze everything.

    For an idle moment: pages and modules stay, and traversing them blocks the GUI thread for a
    fifteenth of a second.
    """
    if not gc.isenabled():  # a Collector has taken over
        gc.collect()
        gc.freeze()
