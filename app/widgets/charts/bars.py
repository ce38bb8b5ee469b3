"""Labels with their probabilities as bars, always with the numbers; on screen and on paper."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QLocale, QRectF, QSize, QSizeF, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.resources import mono_font
from app.theme import SIDES, SPACE, Palette, Role, colour, print_color
from app.widgets.charts.figure import Figure, Table, paper_font
from app.widgets.drawing import fill
from app.widgets.text import numbers
from app.widgets.text.chips import AS_STORED
from app.widgets.text.labels import font, one_line

ROW, LINE = 6 * SPACE, 17  # px of a row with one bar, and of each line of a row with two
MAX_PAINTED_CHARACTERS = 80  # of a label, painted
AXIS = 4 * SPACE  # px for the ends of the scale
SCALES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)  # possible ends of a scale of probabilities
LABEL_SHARE, PAIRED_SHARE = 0.5, 0.4  # of the width, at most, in rows of one bar and of two


@dataclass(frozen=True)
class Bar:
    """One row. An emphasised one differs in weight and colour; `apart` leaves a gap above.

    With two models `second` is the probability of the second one; None if a model has none.
    `text` replaces the probability as a percentage, such as “0.87” for a cosine.
    """

    label: str
    probability: float | None
    emphasised: bool = False
    apart: bool = False
    second: float | None = None
    text: str = ""

    @property
    def difference(self) -> str:
        """Second minus first in percentage points, with its sign; “” if one is missing."""
        if self.probability is None or self.second is None:
            return ""
        points = (self.second - self.probability) * 100
        return f"{numbers.sign(points)}{QLocale().toString(abs(points), 'f', 1)}"


def percentage(probability: float | None) -> str:
    """62.1 %, 0.31 %, or below 0.01 %; “–” for None."""
    if probability is None:
        return "–"
    if 0 < probability < 0.0001:
        return f"< {numbers.percent(0.0001, 2)}"
    return numbers.percent(probability, 1 if probability >= 0.01 else 2)


def top_of_scale(probabilities: Sequence[float]) -> float:
    """The round number at which the scale of these probabilities ends."""
    largest = max(probabilities, default=1.0)
    return next((scale for scale in SCALES if largest <= scale), 1.0)


class ProbabilityBars(QWidget):
    """Bars over a common scale from 0, one or a pair in each row."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.shown: tuple[Bar, ...] = ()
        self.most: float | None = None
        self.is_paired = False
        self.setAccessibleName(name)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_bars(
        self, bars: Sequence[Bar], most: float | None = None, is_paired: bool = False
    ) -> None:
        """Show bars on a scale from 0 to `most`, written below; without it the scale ends at 1."""
        if (tuple(bars), most, is_paired) == (self.shown, self.most, self.is_paired):
            return
        self.shown, self.most, self.is_paired = tuple(bars), most, is_paired
        self.setAccessibleDescription(", ".join(map(self._description, self.shown)))
        self.updateGeometry()
        self.update()

    def _description(self, bar: Bar) -> str:
        text = f"{_line(bar.label)} {percentage(bar.probability)}"
        return f"{text} {percentage(bar.second)} {bar.difference}" if self.is_paired else text

    def sizeHint(self) -> QSize:
        return QSize(60 * SPACE, bars_height(self.shown, self.most, self.is_paired))

    def minimumSizeHint(self) -> QSize:
        return QSize(40 * SPACE, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        fonts = mono_font(), font("small")
        paint_bars(painter, self.shown, self.width(), self.most, self.is_paired, colour, fonts)


def bars_height(bars: Sequence[Bar], most: float | None, is_paired: bool) -> int:
    """px that `paint_bars` needs."""
    row = 2 * LINE + 6 if is_paired else ROW
    gaps = 2 * SPACE * sum(bar.apart for bar in bars)
    return len(bars) * row + gaps + (AXIS if most is not None else 0)


def paint_bars(
    painter: QPainter,
    bars: Sequence[Bar],
    width: float,
    most: float | None,
    is_paired: bool,
    palette: Palette,
    fonts: tuple[QFont, QFont],
) -> None:
    """Paint rows from the top, and the ends of the scale below them unless `most` is None.

    Args:
        fonts: of the labels and numbers, and of the scale.
    """
    metrics = QFontMetricsF(fonts[0])
    widest = max((metrics.horizontalAdvance(_line(b.label)) for b in bars), default=0)
    label_width = min(widest, width * (PAIRED_SHARE if is_paired else LABEL_SHARE))
    number_width = metrics.horizontalAdvance(f"< {numbers.percent(1.0, 1)}")
    delta_width = metrics.horizontalAdvance("−100.0") + 2 * SPACE if is_paired else 0
    left = label_width + 4 * SPACE
    room = width - left - number_width - delta_width - 3 * SPACE
    height, thick = (LINE, 8) if is_paired else (ROW, 10)
    middle = Qt.AlignmentFlag.AlignVCenter
    right = middle | Qt.AlignmentFlag.AlignRight
    top = 0.0
    for bar in bars:
        top += 2 * SPACE if bar.apart else 0
        row = QRectF(0, top, width, 2 * LINE + 6 if is_paired else ROW)
        top = row.bottom()
        letters = QFont(fonts[0])
        letters.setBold(bar.emphasised)
        painter.setFont(letters)
        if bar.emphasised:
            fill(painter, row.adjusted(0, 1, 0, -1), palette(Role.ACCENT_SOFT, 1.0), 4)
        row.adjust(SPACE, 0, -SPACE, 0)
        painter.setPen(palette(Role.TEXT, 1.0))
        label = QFontMetricsF(letters).elidedText(
            _line(bar.label), Qt.TextElideMode.ElideMiddle, label_width + 1
        )
        painter.drawText(row, middle | Qt.AlignmentFlag.AlignLeft | AS_STORED, label)
        if is_paired:
            painter.drawText(row, right, bar.difference)
        own = Role.ACCENT if bar.emphasised else Role.CHART_1
        lines = zip((bar.probability, bar.second), SIDES, strict=True)
        for number, (value, role) in enumerate(lines if is_paired else [(bar.probability, own)]):
            line_top = row.center().y() - height * (0.5 if not is_paired else 1 - number)
            line = QRectF(left, line_top, room, height)
            is_missing = value is None and not bar.text
            painter.setPen(palette(Role.MUTED if is_missing else Role.TEXT, 1.0))
            beside = QRectF(line.right(), line.top(), number_width + 2 * SPACE, height)
            painter.drawText(beside, right, bar.text or percentage(value))
            if room > 0 and (is_paired or value is not None):
                track = QRectF(left, line.center().y() - thick / 2, room, thick)
                _paint_track(painter, track, value, most or 1.0, role, palette)
    if most is not None and bars and room > 0:
        painter.setFont(fonts[1])
        painter.setPen(palette(Role.MUTED, 1.0))
        axis = QRectF(left, top, room, AXIS)
        painter.drawText(axis, Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft, "0")
        end = numbers.percent(most, 0)
        painter.drawText(axis, Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignRight, end)


def _paint_track(
    painter: QPainter, track: QRectF, value: float | None, most: float, role: Role, palette: Palette
) -> None:
    fill(painter, track, palette(Role.HOVER, 1.0), 3)
    if value is not None:
        filled = QSizeF(max(1.5, track.width() * min(1.0, value / most)), track.height())
        fill(painter, QRectF(track.topLeft(), filled), palette(role, 0.85), 3)


def _line(label: str) -> str:
    return one_line(label, MAX_PAINTED_CHARACTERS)


# ── figures ──────────────────────────────────────────────────────────────────────────────────

HEAD, COLUMN, GAP = 26, 250, 18  # px of a title, of a column, and between columns
MOST_COLUMNS = 4  # side by side


def bars_figure(
    columns: Sequence[tuple[str, Sequence[Bar]]],
    name: str,
    title: str,
    caption: str,
    table: Table,
    array: np.ndarray | None = None,
    most: float | None = None,
    is_paired: bool = False,
    width: int = COLUMN,
) -> Figure:
    """Columns of bars with titles, a few side by side, each `width` px wide; see `paint_bars`."""
    lines = [columns[n : n + MOST_COLUMNS] for n in range(0, len(columns), MOST_COLUMNS)]
    heights = [
        max(HEAD * bool(heading) + bars_height(bars, most, is_paired) for heading, bars in line)
        for line in lines
    ]
    fonts = paper_font(12), paper_font(10)

    def paint(painter: QPainter, _: QSizeF) -> None:
        top = 0
        for line, height in zip(lines, heights, strict=True):
            for number, (heading, bars) in enumerate(line):
                painter.save()
                painter.translate(number * (width + GAP), top)
                painter.setFont(paper_font(13, bold=True))
                painter.setPen(print_color(Role.TEXT))
                end = Qt.TextElideMode.ElideRight
                shown = painter.fontMetrics().elidedText(heading, end, width)
                middle = Qt.AlignmentFlag.AlignVCenter | AS_STORED
                painter.drawText(QRectF(0, 0, width, HEAD), middle, shown)
                painter.translate(0, HEAD * bool(heading))
                paint_bars(painter, bars, width, most, is_paired, print_color, fonts)
                painter.restore()
            top += height + GAP

    wide = max(len(line) for line in lines)
    return Figure(
        name=name,
        title=title,
        caption=caption,
        size=QSize(wide * (width + GAP) - GAP, sum(heights) + GAP * (len(heights) - 1)),
        paint=paint,
        array=array,
        table=lambda: table,
    )
