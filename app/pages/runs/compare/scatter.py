"""A point for each run over any two columns, coloured by a third one."""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSize, QSizeF, Qt, Signal
from PySide6.QtGui import QFont, QFontMetricsF, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from app import theme
from app.pages.runs.columns import column_of
from app.pages.runs.compare.parallel import table_of
from app.pages.runs.rows import RunRow
from app.theme import CHART, SPACE, Role
from app.translation import tr
from app.widgets.charts.figure import Figure, paper_font, print_color
from app.widgets.forms.controls import written
from app.widgets.keys import sideways
from app.widgets.lines import Colours, inner, ticks
from app.widgets.text.labels import font, visible

POINT = 5.0  # px
REACH = 14.0  # px within which a point is meant
PAPER = QSize(620, 420)  # px
LEGEND = 8  # texts that are named
SHAPES = ("circle", "square", "diamond", "triangle")  # beside the colour, for every kind of eye


@dataclass(frozen=True)
class Scatter:
    """Two columns of some runs; `points` are x, y and the number of the colour."""

    x: str
    y: str
    colour: str
    rows: tuple[RunRow, ...]
    points: tuple[tuple[float, float, int], ...]
    names: tuple[str, ...]  # of the colours
    missing: int  # runs that do not say both


def scatter_of(rows: Sequence[RunRow], x: str, y: str, colour: str) -> Scatter:
    """The runs that say a number in both columns."""
    one, other, third = column_of(x), column_of(y), column_of(colour)
    there: list[RunRow] = []
    points: list[tuple[float, float, int]] = []
    names: dict[str, int] = {}
    for row in rows:
        at = [facts.value_of(row) if facts is not None else None for facts in (one, other)]
        if not all(isinstance(v, int | float) and not isinstance(v, bool) for v in at):
            continue
        said = (third.text(row, ()) or tr("none")) if third is not None else ""
        there.append(row)
        points.append((float(at[0]), float(at[1]), names.setdefault(said, len(names))))  # type: ignore[arg-type]
    missing = len(rows) - len(there)
    return Scatter(x, y, colour, tuple(there), tuple(points), tuple(names), missing)


class ScatterView(QWidget):
    """Arrow keys go from run to run; Enter or a double click opens one.

    Signals:
        pointed: what the run under the mouse, or the current one, says; “” for none.
        opened: the id of a run.
    """

    pointed = Signal(str)
    opened = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        self.shown: Scatter | None = None
        self.current = -1
        self.setAccessibleName(tr("Scatter plot of the compared runs"))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)

    def sizeHint(self) -> QSize:
        return QSize(120 * SPACE, 80 * SPACE)

    def minimumSizeHint(self) -> QSize:
        return QSize(60 * SPACE, 50 * SPACE)

    def show_scatter(self, scatter: Scatter) -> None:
        self.shown, self.current = scatter, -1
        said = [self.sentence(n) for n in range(min(12, len(scatter.points)))]
        self.setAccessibleDescription(". ".join(said))
        self.update()

    def sentence(self, number: int) -> str:
        """A run with what it says."""
        assert self.shown is not None
        row = self.shown.rows[number]
        said = []
        for key in (self.shown.x, self.shown.y):
            facts = column_of(key)
            if facts is not None:
                said.append(f"{facts.title()} {facts.text(row, ())}")
        return f"{visible(row.name)}: {', '.join(said)}"

    def figure(self) -> Figure | None:
        """As it stands, with the numbers of each run."""
        shown = self.shown
        if shown is None or not shown.points:
            return None

        def draw(painter: QPainter, size: QSizeF) -> None:
            paint_scatter(painter, QRectF(QPointF(), size), shown, print_color, paper_font(12), -1)

        titles = [facts.title() for key in (shown.y, shown.x) if (facts := column_of(key))]
        title = tr("{0} over {1}").format(*titles)
        caption = tr("%Ln run(s)", len(shown.points)) + "."
        keys = [shown.x, shown.y, *([shown.colour] if shown.colour else [])]
        table = lambda: table_of(shown.rows, keys)  # noqa: E731
        return Figure("compare-scatter", title, caption, PAPER, draw, table=table)

    def _nearest(self, at: QPointF) -> int:
        if self.shown is None:
            return -1
        spots = places(QRectF(self.rect()), self.shown)
        near = [(QPointF(spot - at).manhattanLength(), n) for n, spot in enumerate(spots)]
        distance, number = min(near, default=(REACH + 1, -1))
        return number if distance <= REACH else -1

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._go(self._nearest(event.position()))

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        number = self._nearest(event.position())
        if self.shown is not None and number >= 0:
            self.opened.emit(self.shown.rows[number].id)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = sideways(event)
        there = len(self.shown.points) if self.shown is not None else 0
        if step and there:
            self._go((self.current + (1 if step > 0 else -1)) % there)
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter) and self.current >= 0:
            assert self.shown is not None
            self.opened.emit(self.shown.rows[self.current].id)
        else:
            super().keyPressEvent(event)

    def _go(self, number: int) -> None:
        if number != self.current:
            self.current = number
            self.pointed.emit(self.sentence(number) if number >= 0 else "")
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        if self.shown is None:
            return
        painter = QPainter(self)
        whole = QRectF(self.rect())
        paint_scatter(painter, whole, self.shown, theme.colour, font("small"), self.current)
        if self.hasFocus():
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(theme.colour(Role.ACCENT), 1))
            painter.drawRect(inner(whole))
        painter.end()


# ── drawing ──────────────────────────────────────────────────────────────────────────────────


def _ends(values: Sequence[float]) -> tuple[float, float]:
    low, high = (min(values), max(values)) if values else (0.0, 1.0)
    room = 0.06 * (high - low) or abs(low) * 0.1 or 0.5
    return low - room, high + room


def places(whole: QRectF, shown: Scatter) -> list[QPointF]:
    """Where each run is drawn."""
    box = inner(whole)
    x, y = (_ends([point[axis] for point in shown.points]) for axis in (0, 1))
    return [
        QPointF(
            box.left() + (point[0] - x[0]) / (x[1] - x[0]) * box.width(),
            box.bottom() - (point[1] - y[0]) / (y[1] - y[0]) * box.height(),
        )
        for point in shown.points
    ]


def paint_scatter(
    painter: QPainter,
    whole: QRectF,
    shown: Scatter,
    colours: Colours,
    letters: QFont,
    current: int,
) -> None:
    """Axes, a legend of the colours, and the points."""
    box = inner(whole)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setFont(letters)
    _paint_axes(painter, whole, box, shown, colours)
    spots = places(whole, shown)
    for number, (spot, point) in enumerate(zip(spots, shown.points, strict=True)):
        painter.setPen(QPen(colours(Role.TEXT, 1.0), 2) if number == current else Qt.PenStyle.NoPen)
        painter.setBrush(colours(CHART[point[2] % len(CHART)], 0.85))
        _paint_point(painter, spot, SHAPES[point[2] // 2 % len(SHAPES)])
    if len(shown.names) > 1:
        _paint_legend(painter, box, shown, colours)


def _paint_point(painter: QPainter, at: QPointF, shape: str) -> None:
    x, y, r = at.x(), at.y(), POINT
    match shape:
        case "square":
            painter.drawRect(QRectF(x - r, y - r, 2 * r, 2 * r))
        case "diamond":
            corners = ((x, y - r - 1), (x + r + 1, y), (x, y + r + 1), (x - r - 1, y))
            painter.drawPolygon([QPointF(*corner) for corner in corners])
        case "triangle":
            three = ((x, y - r - 1), (x + r + 1, y + r), (x - r - 1, y + r))
            painter.drawPolygon([QPointF(*corner) for corner in three])
        case _:
            painter.drawEllipse(at, r, r)


def _paint_axes(
    painter: QPainter, whole: QRectF, box: QRectF, shown: Scatter, colours: Colours
) -> None:
    high = QFontMetricsF(painter.font()).height()
    centre = Qt.AlignmentFlag.AlignCenter
    right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
    ends = [_ends([point[axis] for point in shown.points]) for axis in (0, 1)]
    for value in ticks(*ends[1]):
        y = box.bottom() - (value - ends[1][0]) / (ends[1][1] - ends[1][0]) * box.height()
        painter.setPen(QPen(colours(Role.BORDER, 1.0), 1))
        painter.drawLine(QPointF(box.left(), y), QPointF(box.right(), y))
        painter.setPen(colours(Role.MUTED, 1.0))
        said = written(float(f"{value:.4g}"))
        painter.drawText(QRectF(box.left() - 54, y - high / 2, 48, high), right, said)
    painter.setPen(colours(Role.MUTED, 1.0))
    for value in ticks(*ends[0], max(2, int(box.width() / 90))):
        x = box.left() + (value - ends[0][0]) / (ends[0][1] - ends[0][0]) * box.width()
        said = written(float(f"{value:.4g}"))
        painter.drawText(QRectF(x - 40, box.bottom() + 3, 80, high), centre, said)
    titles = [facts.title() if (facts := column_of(key)) else key for key in (shown.x, shown.y)]
    below = QRectF(box.left(), box.bottom() + high + 4, box.width(), high)
    painter.drawText(below, centre, titles[0])
    painter.save()
    painter.translate(whole.left(), box.bottom())
    painter.rotate(-90)
    painter.drawText(QRectF(0, -2, box.height(), high), centre, titles[1])
    painter.restore()


def _paint_legend(painter: QPainter, box: QRectF, shown: Scatter, colours: Colours) -> None:
    metrics = QFontMetricsF(painter.font())
    left = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
    for number, name in enumerate(shown.names[:LEGEND]):
        y = box.top() + 10 + 18 * number
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colours(CHART[number % len(CHART)], 0.85))
        _paint_point(painter, QPointF(box.right() - 150, y), SHAPES[number // 2 % len(SHAPES)])
        painter.setPen(colours(Role.TEXT, 1.0))
        said = metrics.elidedText(visible(name), Qt.TextElideMode.ElideRight, 130)
        painter.drawText(QRectF(box.right() - 138, y - 9, 134, 18), left, said)
