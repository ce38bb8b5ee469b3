"""Base of the Words panel's parts."""

from collections.abc import Sequence
from typing import Protocol

from PySide6.QtWidgets import QWidget

from app.pages.explore.panels.words.state import WordsState
from app.widgets.charts.figure import Figure


class Asks(Protocol):
    """Asks only while visible."""

    def set_seen(self, seen: bool) -> None: ...


class Part(QWidget):
    """One view of the predictions. It asks only while visible."""

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
        raise NotImplementedError

    def figure(self) -> Figure | None:
        """Figure of the current content; None if there is none."""
        raise NotImplementedError
