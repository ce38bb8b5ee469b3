"""A picture that is a chart: it is shown, its zones select rows, and it is kept as a figure."""

from PySide6.QtCore import QRectF, QSize, QSizeF
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QVBoxLayout

from app.theme import SPACE
from app.translation import in_language
from app.widgets.figure import Figure, Table, ink, paper_font
from app.widgets.results.chart import Chart, ChartView, paint
from app.widgets.results.picture import ResultPicture
from app.widgets.text import Text
from engine.results.conditions import Conditions

PAPER = QSize(520, 400)  # px


class ChartPicture(ResultPicture):
    """A chart with a note below it."""

    def __init__(self) -> None:
        super().__init__()
        self.view = ChartView(in_language(self.title))
        self.note = Text("", "small")
        self.column = QVBoxLayout(self)
        self.column.setContentsMargins(0, 0, 0, 0)
        self.column.setSpacing(2 * SPACE)
        self.column.addWidget(self.view, 1)
        self.column.addWidget(self.note)
        self.view.pressed.connect(self._on_pressed)

    def show_chart(self, chart: Chart, note: str) -> None:
        self.view.show_chart(chart)
        self.note.setText(note)

    def show_chosen(self, conditions: Conditions) -> None:
        if not conditions:
            self.view.mark(-1)

    def figure(self) -> Figure | None:
        chart = self.view.chart
        if chart is None:
            return None

        def draw(painter: QPainter, size: QSizeF) -> None:
            paint(painter, QRectF(0, 0, size.width(), size.height()), chart, ink, paper_font(12))

        return Figure(
            name=self.key,
            title=in_language(self.title),
            caption=self.note.text(),
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

    def _on_pressed(self, number: int) -> None:
        assert self.view.chart is not None
        self.view.mark(-1 if self.view.marked == number else number)
        self.chosen.emit(self.view.chart.zones[number].conditions)
