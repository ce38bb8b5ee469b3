"""Parallel coordinates (Inselberg 1985): an axis per column, a line per run, brushes as filters.

An axis of texts has a position for each distinct text.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from PySide6.QtCore import QPointF, QRectF, QSize, QSizeF, Qt, Signal
from PySide6.QtGui import QFont, QFontMetricsF, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from app import theme
from app.pages.runs.columns import column_info, known_columns
from app.pages.runs.job_fields import is_number
from app.pages.runs.rows import RunRow
from app.theme import CHART, SPACE, Palette, Role, print_color, px
from app.translation import tr
from app.widgets.charts.chart import tick_text, ticks
from app.widgets.charts.figure import Figure, Table, print_font
from app.widgets.keys import horizontal_step
from app.widgets.text.labels import font, visible

TOP, BOTTOM, SIDE = 44, 16, 70  # px, margins around the axes
MAX_LABELS = 14  # texts labelled on an axis
EXPORT_SIZE = QSize(760, 420)  # px
MARGIN = 0.04  # fraction of an axis beyond each extreme value
BRUSH = 7  # px, half the width of a brush


@dataclass(frozen=True)
class Axis:
    """The axis of a column. `positions` maps the id of each run with a value to 0…1."""

    key: str
    title: str
    positions: dict[str, float]
    labels: tuple[tuple[float, str], ...]  # (position, text)


@dataclass
class Parallel:
    """Contents of the plot; `brushes` has the selected range of each brushed axis, by key."""

    rows: Sequence[RunRow]
    axes: list[Axis]
    brushes: dict[str, tuple[float, float]] = field(default_factory=dict)

    def chosen_rows(self) -> list[RunRow]:
        """The runs within all brushes."""
        return [row for row in self.rows if self._passes(row)]

    def _passes(self, row: RunRow) -> bool:
        for axis in self.axes:
            if (ends := self.brushes.get(axis.key)) is None:
                continue
            position = axis.positions.get(row.id)
            if position is None or not ends[0] <= position <= ends[1]:
                return False
        return True


def make_axis(key: str, rows: Sequence[RunRow]) -> Axis | None:
    """Make the axis of a column; None if no run has a value."""
    info = column_info(key)
    if info is None:
        return None
    values = {row.id: value for row in rows if (value := info.row_value(row)) is not None}
    if not values:
        return None
    if all(map(is_number, values.values())):
        return _number_axis(key, info.title(), {run: float(v or 0) for run, v in values.items()})
    texts = {row.id: info.text(row) or str(values[row.id]) for row in rows if row.id in values}
    names = sorted(set(texts.values()), key=str.casefold)
    positions = {name: (n + 0.5) / len(names) for n, name in enumerate(names)}
    labels = tuple((positions[name], visible(name)) for name in names[:MAX_LABELS])
    return Axis(key, info.title(), {run: positions[text] for run, text in texts.items()}, labels)


def _number_axis(key: str, title: str, values: dict[str, float]) -> Axis:
    low, high = min(values.values()), max(values.values())
    extent = (high - low) or 1.0

    def position(value: float) -> float:
        return MARGIN + (1 - 2 * MARGIN) * (value - low) / extent

    distinct = sorted(set(values.values()))
    marked = distinct if len(distinct) <= 8 else [v for v in ticks(low, high) if low <= v <= high]
    labels = tuple((position(value), tick_text(value)) for value in marked)
    return Axis(key, title, {run: position(value) for run, value in values.items()}, labels)


# ── drawing ──────────────────────────────────────────────────────────────────────────────────


def axis_x(index: int, axis_count: int, width: float) -> float:
    return SIDE + index * (width - 2 * SIDE) / max(1, axis_count - 1)


def paint_parallel(
    painter: QPainter, size: QSizeF, plot: Parallel, palette: Palette, font: QFont, current: int
) -> None:
    """Paint lines of runs, faint outside a brush, and axes; the axis `current` is bold."""
    height = size.height() - TOP - BOTTOM
    chosen = {row.id for row in plot.chosen_rows()}
    painter.setFont(font)
    for faint in (True, False):
        for index, row in enumerate(plot.rows):
            if (row.id in chosen) != faint:
                role, opacity = CHART[index % len(CHART)], 0.12 if faint else 0.9
                painter.setPen(QPen(palette(role, opacity), 1.2 if faint else 1.8))
                _paint_run(painter, size.width(), height, plot, row)
    for index, axis in enumerate(plot.axes):
        x = axis_x(index, len(plot.axes), size.width())
        painter.setPen(QPen(palette(Role.TEXT, 1.0), 2.5 if index == current else 1))
        painter.drawLine(QPointF(x, TOP), QPointF(x, TOP + height))
        _paint_labels(painter, x, height, axis, plot, size.width(), palette)
        if axis.key in plot.brushes:
            low, high = plot.brushes[axis.key]
            band = QRectF(x - BRUSH, TOP + (1 - high) * height, 2 * BRUSH, (high - low) * height)
            painter.fillRect(band, palette(Role.ACCENT, 0.25))
            painter.setPen(QPen(palette(Role.ACCENT, 1.0), 1))
            painter.drawRect(band)


def _paint_run(painter: QPainter, width: float, height: float, plot: Parallel, row: RunRow) -> None:
    """Paint a line from axis to axis, with gaps for missing values."""
    previous: QPointF | None = None
    for index, axis in enumerate(plot.axes):
        position = axis.positions.get(row.id)
        x = axis_x(index, len(plot.axes), width)
        point = QPointF(x, TOP + (1 - position) * height) if position is not None else None
        if previous is not None and point is not None:
            painter.drawLine(previous, point)
        previous = point


def _paint_labels(
    painter: QPainter,
    x: float,
    height: float,
    axis: Axis,
    plot: Parallel,
    width: float,
    palette: Palette,
) -> None:
    metrics = QFontMetricsF(painter.font())
    space = (width - 2 * SIDE) / max(1, len(plot.axes) - 1) - 12 if len(plot.axes) > 1 else width
    title = metrics.elidedText(axis.title, Qt.TextElideMode.ElideRight, max(60.0, space))
    painter.setPen(palette(Role.TEXT, 1.0))
    text_width = metrics.horizontalAdvance(title) + 4
    left = min(max(2.0, x - text_width / 2), width - text_width - 2)
    painter.drawText(QRectF(left, 8, text_width, 24), Qt.AlignmentFlag.AlignCenter, title)
    painter.setPen(palette(Role.MUTED, 1.0))
    middle = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
    for position, label in axis.labels:
        text = metrics.elidedText(label, Qt.TextElideMode.ElideRight, min(space, 64.0))
        y = TOP + (1 - position) * height
        background = QRectF(x + BRUSH, y - 8, metrics.horizontalAdvance(text) + 4, 16)
        painter.fillRect(background, palette(Role.SURFACE, 0.85))  # lines run behind the text
        painter.drawText(QRectF(x + BRUSH + 2, y - 9, 70, 18), middle, text)


class ParallelView(QWidget):
    """Drag along an axis to brush it; a click clears the brush. By keys: left and right select the
    axis, up and down move the brush, Escape clears all.

    Signals:
        brushed: the selected runs changed.
    """

    brushed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.plot = Parallel((), [])
        self.current = 0
        self._pressed: tuple[int, float] | None = None
        self.setAccessibleName(tr("Parallel coordinates"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    def sizeHint(self) -> QSize:
        return QSize(px(140 * SPACE), px(80 * SPACE))

    def minimumSizeHint(self) -> QSize:
        return QSize(px(80 * SPACE), px(50 * SPACE))

    def show_axes(self, rows: Sequence[RunRow], keys: Sequence[str]) -> None:
        """Show an axis for each of these columns; brushes of remaining axes stay."""
        axes = [axis for key in keys if (axis := make_axis(key, rows)) is not None]
        shown_keys = {axis.key for axis in axes}
        brushes = {key: ends for key, ends in self.plot.brushes.items() if key in shown_keys}
        self.plot = Parallel(tuple(rows), axes, brushes)
        self.current = min(self.current, max(0, len(axes) - 1))
        self._update()

    def brush(self, key: str, ends: tuple[float, float] | None) -> None:
        """Select a range of an axis, from 0 to 1; None selects all of it."""
        if ends is None:
            self.plot.brushes.pop(key, None)
        else:
            self.plot.brushes[key] = (max(0.0, ends[0]), min(1.0, ends[1]))
        self._update()

    def _update(self) -> None:
        chosen = self.plot.chosen_rows()
        names = ", ".join(visible(row.name) for row in chosen[:12])
        template = tr("{0} of {1} runs selected: {2}")
        self.setAccessibleDescription(template.format(len(chosen), len(self.plot.rows), names))
        self.update()
        self.brushed.emit()

    def _axis_at(self, x: float) -> int:
        positions = [
            axis_x(n, len(self.plot.axes), self.width()) for n in range(len(self.plot.axes))
        ]
        return min(range(len(positions)), key=lambda n: abs(positions[n] - x), default=-1)

    def _position_at(self, y: float) -> float:
        height = max(1.0, self.height() - TOP - BOTTOM)
        return min(1.0, max(0.0, 1 - (y - TOP) / height))

    def mousePressEvent(self, event: QMouseEvent) -> None:
        axis = self._axis_at(event.position().x())
        if event.button() == Qt.MouseButton.LeftButton and axis >= 0:
            self.current = axis
            self._pressed = axis, self._position_at(event.position().y())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._pressed is not None:
            axis, start = self._pressed
            low, high = sorted((start, self._position_at(event.position().y())))
            if high - low > 0.01:
                self.brush(self.plot.axes[axis].key, (low, high))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if self._pressed is None:
            return
        axis, start = self._pressed
        self._pressed = None
        if abs(self._position_at(event.position().y()) - start) <= 0.01:
            self.brush(self.plot.axes[axis].key, None)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        axes = self.plot.axes
        moves = {Qt.Key.Key_Up: 0.1, Qt.Key.Key_Down: -0.1}
        if axes and (step := horizontal_step(event)):
            self.current = (self.current + (1 if step > 0 else -1)) % len(axes)
            self.update()
        elif axes and event.key() in moves:
            move = moves[Qt.Key(event.key())]
            key = axes[self.current].key
            low, high = self.plot.brushes.get(key, (0.0, 0.3) if move > 0 else (0.7, 1.0))
            if key in self.plot.brushes:
                low, high = low + move, high + move
            if low + 1e-9 >= 0 and high - 1e-9 <= 1:
                self.brush(key, (low, high))
        elif event.key() == Qt.Key.Key_Escape and self.plot.brushes:
            self.plot.brushes.clear()
            self._update()
        else:
            super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        current = self.current if self.hasFocus() else -1
        size = QSizeF(self.size())
        paint_parallel(painter, size, self.plot, theme.colour, font("small"), current)

    def figure(self) -> Figure | None:
        """The plot as shown, with the values of each run as a table."""
        if not self.plot.axes:
            return None
        plot = Parallel(self.plot.rows, list(self.plot.axes), dict(self.plot.brushes))

        def draw(painter: QPainter, size: QSizeF) -> None:
            paint_parallel(painter, size, plot, print_color, print_font(11), -1)

        count = len(plot.chosen_rows())
        caption = tr("{0} of {1} runs are selected.").format(count, len(plot.rows))
        return Figure(
            "compare-parallel",
            tr("Parallel coordinates"),
            caption,
            EXPORT_SIZE,
            draw,
            table=lambda: values_table(plot.rows, [axis.key for axis in plot.axes]),
        )


def values_table(rows: Sequence[RunRow], keys: Sequence[str]) -> Table:
    """Name and values of each run."""
    columns = known_columns(keys)
    header = (tr("Run"), *(info.title() for info in columns))
    values = [(row.name, *(info.row_value(row) for info in columns)) for row in rows]
    return Table(header, [["" if cell is None else cell for cell in cells] for cells in values])
