"""Meaning of keys in widgets that are navigated by keyboard."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent

STEPS = {
    Qt.Key.Key_Left: (0, -1),
    Qt.Key.Key_Right: (0, 1),
    Qt.Key.Key_Up: (-1, 0),
    Qt.Key.Key_Down: (1, 0),
}
PRESSING = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space)


def arrow_step(event: QKeyEvent) -> tuple[int, int] | None:
    """Rows and columns that an arrow key moves by; None for other keys."""
    return STEPS.get(Qt.Key(event.key()))


def horizontal_step(event: QKeyEvent) -> int:
    """-1 for the left arrow key, 1 for the right one, 0 for others."""
    step = arrow_step(event)
    return step[1] if step is not None else 0


def vertical_step(event: QKeyEvent) -> int:
    """-1 for the up arrow key, 1 for the down one, 0 for others."""
    step = arrow_step(event)
    return step[0] if step is not None else 0


def is_press(event: QKeyEvent) -> bool:
    """True for Enter and Space, which press the focused item."""
    return event.key() in PRESSING


def clamp(index: int, last: int, first: int = 0) -> int:
    """Clamp an index to `first` to `last`."""
    return min(max(index, first), last)
