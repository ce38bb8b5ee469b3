"""What every picture of predictions gives: it is measured off the thread, shown, kept, clicked."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from app.widgets.figure import Figure
from engine.results.conditions import Conditions
from engine.results.predictions import Predictions


class ResultPicture(QWidget):
    """One picture. `measure` runs off the window's thread and gives what `show_measured` shows.

    Signals:
        chosen: the Conditions of the rows behind what was clicked.
    """

    chosen = Signal(tuple)
    key: ClassVar[str]  # tells it from the others of its task
    title: ClassVar[str]  # marked
    measure: ClassVar[Callable[[Predictions], Any]]

    @abstractmethod
    def show_measured(self, measured: Any) -> None:
        """Show what `measure` gave."""

    @abstractmethod
    def show_chosen(self, conditions: Conditions) -> None:
        """Mark what was clicked for these; nothing where they are empty."""

    @abstractmethod
    def figure(self) -> Figure | None:
        """What is shown now, to be kept; None where there is nothing yet."""
