"""Create timers that are connected to a slot."""

from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer, SignalInstance

Slot = Callable[[], object] | SignalInstance


def debounced(parent: QObject, ms: int, slot: Slot) -> QTimer:
    """Single-shot timer: `slot` runs once, `ms` after the last `start()`."""
    timer = repeated(parent, ms, slot)
    timer.setSingleShot(True)
    return timer


def repeated(parent: QObject, ms: int, slot: Slot) -> QTimer:
    """Timer that runs `slot` every `ms` from `start()` to `stop()`."""
    timer = QTimer(parent)
    timer.setInterval(ms)
    timer.timeout.connect(slot)
    return timer
