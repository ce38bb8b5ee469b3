"""Scatter plot of runs over any two columns, coloured by a third one."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from PySide6.QtCore import QPointF, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPen

from app import theme
from app.pages.runs.columns import column_info, known_columns
from app.pages.runs.compare.parallel import values_table
from app.pages.runs.job_fields import is_number
from app.pages.runs.rows import RunRow
from app.theme import SPACE, Role, px
from app.translation import tr
from app.widgets.charts.chart import Axis, Chart, Points, value_range, widen
from app.widgets.charts.figure import Figure
from app.widgets.charts.painting import Frame, chart_figure
from app.widgets.charts.view import ChartView
from app.widgets.keys import horizontal_step
from app.widgets.text.labels import visible

HALO = 8.0  # px around the current point
PICK_DISTANCE = 14.0  # px within which a point is picked


@dataclass(frozen=True)
class Scatter:
    """Contents of the plot; `points` has x, y and colour index of each run."""

    x: str
    y: str
    colour: str
    rows: tuple[RunRow, ...]
    points: tuple[tuple[float, float, int], ...]
    names: tuple[str, ...]  # one for each colour
    missing: int  # runs without both values


def make_scatter(rows: Sequence[RunRow], x: str, y: str, colour: str) -> Scatter:
    """Collect the runs with numbers in both columns."""
    columns, third = [column_info(x), column_info(y)], column_info(colour)
    shown: list[RunRow] = []
    points: list[tuple[float, float, int]] = []
    names: dict[str, int] = {}
    for row in rows:
        values = [info.row_value(row) if info is not None else None for info in columns]
        if not all(map(is_number, values)):
            continue
        name = (third.text(row) or tr("none")) if third is not None else ""
        first, second = (float(value or 0) for value in values)
        shown.append(row)
        points.append((first, second, names.setdefault(name, len(names))))
    missing = len(rows) - len(shown)
    return Scatter(x, y, colour, tuple(shown), tuple(points), tuple(names), missing)


class ScatterView(ChartView):
    """A scatter plot. Arrow keys go from run to run; Enter or a double click opens one.

    Signals:
        pointed: description of the hovered or current run, or “”.
        opened: the id of a run.
    """

    pointed = Signal(str)
    opened = Signal(str)

    def __init__(self) -> None:
        super().__init__(tr("Scatter plot of the compared runs"), interactive=True)
        self.scatter: Scatter | None = None
        self.current = -1

    def sizeHint(self) -> QSize:
        return QSize(px(120 * SPACE), px(80 * SPACE))

    def minimumSizeHint(self) -> QSize:
        return QSize(px(60 * SPACE), px(50 * SPACE))

    def show_scatter(self, scatter: Scatter) -> None:
        self.scatter, self.current = scatter, -1
        sentences = [self.sentence(n) for n in range(min(12, len(scatter.points)))]
        self.setAccessibleDescription(". ".join(sentences))
        self.show_chart(_chart(scatter))

    def sentence(self, index: int) -> str:
        """Name and values of a run."""
        assert self.scatter is not None
        row = self.scatter.rows[index]
        columns = known_columns((self.scatter.x, self.scatter.y))
        values = ", ".join(f"{info.title()} {info.text(row)}" for info in columns)
        return f"{visible(row.name)}: {values}"

    def figure(self) -> Figure | None:
        """The plot with the values of each run."""
        scatter = self.scatter
        if scatter is None or self.chart is None or not scatter.points:
            return None
        title = tr("{0} over {1}").format(self.chart.y.title, self.chart.x.title)
        caption = tr("%Ln run(s)", len(scatter.points)) + "."
        keys = [scatter.x, scatter.y, *([scatter.colour] if scatter.colour else [])]
        result = chart_figure("compare-scatter", title, caption, self.chart)
        return replace(result, table=lambda: values_table(scatter.rows, keys))

    def _nearest(self, point: QPointF) -> int:
        if self.scatter is None:
            return -1
        positions = self._positions(self.frame())
        distances = [(QPointF(p - point).manhattanLength(), n) for n, p in enumerate(positions)]
        distance, index = min(distances, default=(PICK_DISTANCE + 1, -1))
        return index if distance <= PICK_DISTANCE else -1

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._set_current(self._nearest(event.position()))

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        index = self._nearest(event.position())
        if self.scatter is not None and index >= 0:
            self.opened.emit(self.scatter.rows[index].id)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = horizontal_step(event)
        count = len(self.scatter.points) if self.scatter is not None else 0
        if step and count:
            self._set_current((self.current + (1 if step > 0 else -1)) % count)
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.current >= 0:
            assert self.scatter is not None
            self.opened.emit(self.scatter.rows[self.current].id)
        else:
            super().keyPressEvent(event)

    def _set_current(self, index: int) -> None:
        if index != self.current:
            self.current = index
            self.pointed.emit(self.sentence(index) if index >= 0 else "")
            self.update()

    def paint_overlay(self, painter: QPainter, frame: Frame) -> None:
        if self.current >= 0:
            painter.setPen(QPen(theme.colour(Role.TEXT), 2))
            position = self._positions(frame)[self.current]
            painter.drawEllipse(position, HALO, HALO)
        if self.hasFocus():
            painter.setPen(QPen(theme.colour(Role.ACCENT), 1))
            painter.drawRect(frame.box)

    def _positions(self, frame: Frame) -> list[QPointF]:
        assert self.scatter is not None
        x, y = (np.array([point[axis] for point in self.scatter.points]) for axis in (0, 1))
        return [QPointF(*point) for point in zip(frame.x(x), frame.y(y), strict=True)]


def _chart(scatter: Scatter) -> Chart:
    titles = [info.title() if (info := column_info(key)) else key for key in (scatter.x, scatter.y)]
    values = np.array([point[:2] for point in scatter.points]).reshape(-1, 2)
    colors = np.array([point[2] for point in scatter.points], dtype=int)
    x, y = (
        Axis(title, widen(*value_range([values[:, n]]), 0.06)) for n, title in enumerate(titles)
    )
    has_colours = len(scatter.names) > 1
    series = []
    for color, name in enumerate(scatter.names):
        points = values[colors == color]
        series.append(Points(name if has_colours else "", points[:, 0], points[:, 1], color))
    return Chart(x, y, tuple(series))
