"""What keys mean in a picture that the keyboard moves through, the same in each."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent

STEPS = {
    Qt.Key.Key_Left: (0, -1),
    Qt.Key.Key_Right: (0, 1),
    Qt.Key.Key_Up: (-1, 0),
    Qt.Key.Key_Down: (1, 0),
}
PRESSING = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space)


def step_of(event: QKeyEvent) -> tuple[int, int] | None:
    """How many rows and columns an arrow key goes; None for any other key."""
    return STEPS.get(Qt.Key(event.key()))


def sideways(event: QKeyEvent) -> int:
    """-1 for the left arrow key, 1 for the right one, 0 for any other key."""
    step = step_of(event)
    return step[1] if step is not None else 0


def up_or_down(event: QKeyEvent) -> int:
    """-1 for the upper arrow key, 1 for the lower one, 0 for any other key."""
    step = step_of(event)
    return step[0] if step is not None else 0


def presses(event: QKeyEvent) -> bool:
    """Whether a key presses what has the keyboard: Enter or Space."""
    return event.key() in PRESSING


def within(place: int, last: int, first: int = 0) -> int:
    """The nearest place from `first` to `last`."""
    return min(max(place, first), last)
