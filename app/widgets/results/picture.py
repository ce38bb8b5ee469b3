"""What every picture of predictions gives: it is measured off the thread, shown, kept, clicked."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

from PySide6.QtCore import QModelIndex, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QTableView, QWidget

from app.widgets.charts.figure import Figure
from app.widgets.keys import presses
from engine.results.conditions import Conditions
from engine.results.predictions import Predictions


class ResultPicture(QWidget):
    """One picture. `measure` runs off the window's thread and gives what `show_measured` shows.

    Signals:
        chosen: the Conditions of the rows behind what was clicked.
        decided: a function from the PredictionSettings of the model to those that it shall have.
    """

    chosen = Signal(tuple)
    decided = Signal(object)
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


class ChoosingTable(QTableView):
    """A table whose cells are chosen by a click, by Enter or by Space.

    Not `activated`, which some desktops send with a single click as well: twice is taken back.

    Signals:
        chosen: the index of the cell.
    """

    chosen = Signal(QModelIndex)

    def __init__(self) -> None:
        super().__init__()
        self.clicked.connect(self.chosen)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if presses(event):
            if self.currentIndex().isValid():
                self.chosen.emit(self.currentIndex())
        else:
            super().keyPressEvent(event)
