"""Base of all pictures of predictions."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

from PySide6.QtCore import QModelIndex, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QTableView, QWidget

from app.widgets.charts.figure import Figure
from app.widgets.keys import is_press
from engine.results.conditions import Conditions
from engine.results.predictions import Predictions


class ResultPicture(QWidget):
    """One picture. `measure` runs outside of the GUI thread; `show_measured` shows its result.

    Signals:
        chosen: the Conditions of the rows behind what was clicked.
        decided: a function from the present PredictionSettings of the model to new ones.
    """

    chosen = Signal(tuple)
    decided = Signal(object)
    key: ClassVar[str]  # unique within a task
    title: ClassVar[str]  # marked for translation
    measure: ClassVar[Callable[[Predictions], Any]]

    @abstractmethod
    def show_measured(self, measured: Any) -> None:
        """Show the result of `measure`."""

    @abstractmethod
    def show_chosen(self, conditions: Conditions) -> None:
        """Mark what was clicked for these conditions; nothing if they are empty."""

    @abstractmethod
    def figure(self) -> Figure | None:
        """The picture as a figure; None if it is empty."""


class ChoosingTable(QTableView):
    """A table whose cells are chosen by click, Enter or Space.

    Not by `activated`, which some desktops also emit for a single click: the second would undo the
    first.

    Signals:
        chosen: the index of the cell.
    """

    chosen = Signal(QModelIndex)

    def __init__(self) -> None:
        super().__init__()
        self.clicked.connect(self.chosen)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if is_press(event):
            if self.currentIndex().isValid():
                self.chosen.emit(self.currentIndex())
        else:
            super().keyPressEvent(event)
