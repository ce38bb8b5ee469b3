"""Places that Back and Forward return to. No widgets."""

from collections.abc import Callable
from dataclasses import dataclass, field

from PySide6.QtCore import QObject

MAX_PLACES = 50


@dataclass(frozen=True)
class Place:
    """A page, the argument with which its `arrive` returns to what it shows, and the marks of
    `app.widgets.marks`."""

    key: str
    argument: object
    marks: dict[str, object] = field(compare=False)


class History(QObject):
    """Places before and after the present one; empty until a window sets `locate` and `show`."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.locate: Callable[[], Place | None] = lambda: None
        self.show: Callable[[Place], None] = lambda _: None
        self._before: list[Place] = []
        self._after: list[Place] = []

    def leave(self) -> None:
        """Remember the present place, which is about to change by an action of the user."""
        if (place := self.locate()) is not None:
            if self._before[-1:] == [place]:
                self._before.pop()  # its marks may have changed
            self._before = [*self._before, place][-MAX_PLACES:]
            self._after.clear()

    def back(self) -> bool:
        """Return to the place before this one; False if there is none."""
        return self._move(self._before, self._after)

    def forward(self) -> bool:
        return self._move(self._after, self._before)

    def _move(self, source: list[Place], target: list[Place]) -> bool:
        here = self.locate()
        while source and source[-1] == here:
            source.pop()
        if not source or here is None:
            return False
        target.append(here)
        self.show(source.pop())
        return True
