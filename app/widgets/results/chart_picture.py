"""Pictures that are charts: their zones select rows, and they are saved as figures."""

from app.theme import SPACE
from app.translation import in_language
from app.widgets import layouts
from app.widgets.charts.chart import Chart
from app.widgets.charts.figure import Figure
from app.widgets.charts.painting import figure_of
from app.widgets.charts.view import ZoneChart
from app.widgets.results.picture import ResultPicture
from app.widgets.text.labels import Text
from engine.results.conditions import Conditions


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
        return figure_of(self.key, in_language(self.title), self.caption, chart)

    def _on_pressed(self, number: int) -> None:
        assert self.view.chart is not None
        self.view.mark(-1 if self.view.marked == number else number)
        self.chosen.emit(self.view.chart.zones[number].selection)
