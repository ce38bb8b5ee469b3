"""What the parts of the Words panel have in common."""

from collections.abc import Sequence
from typing import Protocol

from PySide6.QtWidgets import QWidget

from app.pages.explore.panels.words.state import WordsState
from app.widgets.figure import Figure


class Asks(Protocol):
    """Asks only while it is seen."""

    def set_seen(self, seen: bool) -> None: ...


class Part(QWidget):
    """One view of what is predicted. It asks only while it is on the screen."""

    def __init__(
        self, state: WordsState, queries: Sequence[Asks], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.state = state
        self._queries = tuple(queries)

    def set_seen(self, seen: bool) -> None:
        for query in self._queries:
            query.set_seen(seen)

    def show_state(self) -> None:
        """Bring everything in line with the state."""
        raise NotImplementedError

    def figure(self) -> Figure | None:
        """What is shown now, to be kept; None where nothing is."""
        raise NotImplementedError
