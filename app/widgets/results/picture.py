"""Base of all pictures of predictions."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

from PySide6.QtCore import QModelIndex, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QTableView, QWidget

from app.theme import SPACE
from app.translation import in_language, marked
from app.widgets import layouts
from app.widgets.charts.chart import Chart
from app.widgets.charts.figure import Figure
from app.widgets.charts.painting import chart_figure
from app.widgets.charts.view import ZoneChart
from app.widgets.keys import is_press
from app.widgets.text.labels import Text
from engine.results.conditions import Conditions
from engine.results.predictions import Predictions


class ResultPicture(QWidget):
    """One picture. `measure` runs outside the GUI thread; `show_measured` shows its result.

    Signals:
        chosen: the Conditions of the rows behind the clicked part.
        decided: a function from the current PredictionSettings of the model to new ones.
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
        """Mark the part clicked for these conditions; nothing if they are empty."""

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


DRAG = marked("Drag the line, or use the arrow keys.")


class ChartPicture(ResultPicture):
    """A chart with a note below it, and a hint that figures leave out."""

    def __init__(self) -> None:
        super().__init__()
        self.view = ZoneChart(in_language(self.title))
        self.caption = ""
        self.note = Text("", "small")
        self.column = layouts.column((self.view, 1), self.note, parent=self, spacing=2 * SPACE)
        self.view.pressed.connect(self._on_pressed)

    def show_chart(self, chart: Chart, caption: str, hint: str = "") -> None:
        self.view.show_chart(chart)
        self.set_note(caption, hint)

    def set_note(self, caption: str, hint: str = "") -> None:
        """Change the note and the hint."""
        self.caption = caption
        self.note.setText(f"{caption} {hint}".strip())

    def show_chosen(self, conditions: Conditions) -> None:
        if not conditions:
            self.view.mark(-1)

    def figure(self) -> Figure | None:
        chart = self.view.chart
        if chart is None or not chart.series:
            return None
        return chart_figure(self.key, in_language(self.title), self.caption, chart)

    def _on_pressed(self, index: int) -> None:
        assert self.view.chart is not None
        self.view.mark(-1 if self.view.marked_zone == index else index)
        self.chosen.emit(self.view.chart.zones[index].selection)
