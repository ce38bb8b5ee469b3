"""Frees what refers to itself in a circle on the window's thread only.

Python looks for such circles in whichever thread happens to make an object. Were it a thread of
`app.background`, Qt objects in a circle would be destroyed there, and their timers with them, which
ends the program.
"""

import gc

from PySide6.QtCore import QObject

from app.timers import repeated

COLLECT_INTERVAL_MS = 500  # ms between two looks at whether there is enough to free


class Collector(QObject):
    """Takes over from Python as long as it lives. Make it on the window's thread.

    What exists already is kept for good, so that a look takes no longer than a blink; to look for
    garbage in it first would take longer than to draw the first frame.
    """

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        gc.freeze()
        gc.disable()
        self.destroyed.connect(gc.enable)
        timer = repeated(self, COLLECT_INTERVAL_MS, self.look)
        timer.start()

    def look(self) -> None:
        """Free the youngest objects, and older ones now and then, as Python would."""
        full = [c > t for c, t in zip(gc.get_count(), gc.get_threshold(), strict=True)]
        if not full[0]:
            return
        gc.collect(2 if full[1] and full[2] else 1 if full[1] else 0)


def keep_modules() -> None:
    """Never look at what was just loaded, which stays; the next look would go through all of it."""
    if not gc.isenabled():  # a Collector has taken over
        gc.freeze()


def keep_what_is_there() -> None:
    """Free what can be freed, and never look at the rest again.

    For a moment in which nobody does anything: all pages and modules stay, and to go through them
    holds the window for a fifteenth of a second whenever the older objects have their turn.
    """
    if not gc.isenabled():  # a Collector has taken over
        gc.collect()
        gc.freeze()
