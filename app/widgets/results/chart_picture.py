"""A picture that is a chart: it is shown, its zones select rows, and it is kept as a figure."""

from PySide6.QtCore import QRectF, QSize, QSizeF
from PySide6.QtGui import QPainter

from app.theme import SPACE
from app.translation import in_language
from app.widgets import layouts
from app.widgets.charts.figure import Figure, Table, paper_font, print_color
from app.widgets.results.chart import Chart, ChartView, paint
from app.widgets.results.picture import ResultPicture
from app.widgets.text.labels import Text
from engine.results.conditions import Conditions

PAPER = QSize(520, 400)  # px


class ChartPicture(ResultPicture):
    """A chart with a note below it: what it says, and a hint that figures leave out."""

    def __init__(self) -> None:
        super().__init__()
        self.view = ChartView(in_language(self.title))
        self.said = ""
        self.note = Text("", "small")
        self.column = layouts.column((self.view, 1), self.note, parent=self, spacing=2 * SPACE)
        self.view.pressed.connect(self._on_pressed)

    def show_chart(self, chart: Chart, said: str, hint: str = "") -> None:
        self.view.show_chart(chart)
        self.say(said, hint)

    def say(self, said: str, hint: str = "") -> None:
        """Show other words below the chart."""
        self.said = said
        self.note.setText(f"{said} {hint}".strip())

    def show_chosen(self, conditions: Conditions) -> None:
        if not conditions:
            self.view.mark(-1)

    def figure(self) -> Figure | None:
        chart = self.view.chart
        if chart is None or not chart.series:
            return None
        return figure_of(self.key, in_language(self.title), self.said, chart)

    def _on_pressed(self, number: int) -> None:
        assert self.view.chart is not None
        self.view.mark(-1 if self.view.marked == number else number)
        self.chosen.emit(self.view.chart.zones[number].conditions)


def figure_of(name: str, title: str, caption: str, chart: Chart) -> Figure:
    """A chart as a figure."""

    def draw(painter: QPainter, size: QSizeF) -> None:
        paint(
            painter, QRectF(0, 0, size.width(), size.height()), chart, print_color, paper_font(12)
        )

    return Figure(
        name=name,
        title=title,
        caption=caption,
        size=PAPER,
        paint=draw,
        table=lambda: Table(
            ("series", chart.x_title, chart.y_title),
            [
                (number, float(x), float(y))
                for number, one in enumerate(chart.series)
                for x, y in zip(one.x, one.y, strict=True)
            ],
        ),
    )
