"""Labels with their probabilities as bars and numbers, on screen and for export."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QLocale, QRectF, QSize, QSizeF, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.resources import mono_font
from app.theme import SIDES, SPACE, Palette, Role, colour, print_color, px, text_scale
from app.widgets.charts.figure import Figure, Table, print_font
from app.widgets.drawing import fill
from app.widgets.text import numbers
from app.widgets.text.chips import AS_STORED
from app.widgets.text.labels import font, one_line

ROW, LINE = 6 * SPACE, 17  # heights in px: a row with one bar, a line in a row with two bars
MAX_PAINTED_CHARACTERS = 80  # per label
AXIS = 4 * SPACE  # height of the scale's labels in px
SCALES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)  # possible ends of a scale of probabilities
MAX_LABEL, MAX_PAIRED_LABEL = 0.5, 0.4  # fractions of the width; in rows of one bar, of two


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


def scale_end(probabilities: Sequence[float]) -> float:
    """The round number at the end of the scale of these probabilities."""
    largest = max(probabilities, default=1.0)
    return next((scale for scale in SCALES if largest <= scale), 1.0)


class ProbabilityBars(QWidget):
    """Bars over a common scale from 0, one or a pair in each row."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.shown: tuple[Bar, ...] = ()
        self.maximum: float | None = None
        self.is_paired = False
        self.setAccessibleName(name)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_bars(
        self, bars: Sequence[Bar], maximum: float | None = None, is_paired: bool = False
    ) -> None:
        """Show bars on a scale from 0 to `maximum`, labelled below; None: to 1, without labels."""
        if (tuple(bars), maximum, is_paired) == (self.shown, self.maximum, self.is_paired):
            return
        self.shown, self.maximum, self.is_paired = tuple(bars), maximum, is_paired
        self.setAccessibleDescription(", ".join(map(self._description, self.shown)))
        self.updateGeometry()
        self.update()

    def _description(self, bar: Bar) -> str:
        text = f"{_one_line(bar.label)} {percentage(bar.probability)}"
        return f"{text} {percentage(bar.second)} {bar.difference}" if self.is_paired else text

    def sizeHint(self) -> QSize:
        height = bars_height(self.shown, self.maximum, self.is_paired, text_scale())
        return QSize(px(60 * SPACE), height)

    def minimumSizeHint(self) -> QSize:
        return QSize(40 * SPACE, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        fonts = mono_font(), font("small")
        painter.scale(text_scale(), text_scale())
        for font_ in fonts:
            font_.setPointSizeF(font_.pointSizeF() / text_scale())
        width = self.width() / text_scale()
        paint_bars(painter, self.shown, width, self.maximum, self.is_paired, colour, fonts)


def bars_height(
    bars: Sequence[Bar], maximum: float | None, is_paired: bool, scale: float = 1.0
) -> int:
    """Height in px that `paint_bars` needs."""
    row = 2 * LINE + 6 if is_paired else ROW
    gaps = 2 * SPACE * sum(bar.apart for bar in bars)
    return round(scale * (len(bars) * row + gaps + (AXIS if maximum is not None else 0)))


def paint_bars(
    painter: QPainter,
    bars: Sequence[Bar],
    width: float,
    maximum: float | None,
    is_paired: bool,
    palette: Palette,
    fonts: tuple[QFont, QFont],
) -> None:
    """Paint rows from the top, and the ends of the scale below them unless `maximum` is None.

    Args:
        fonts: of the labels and numbers, and of the scale.
    """
    metrics = QFontMetricsF(fonts[0])
    widest = max((metrics.horizontalAdvance(_one_line(b.label)) for b in bars), default=0)
    label_width = min(widest, width * (MAX_PAIRED_LABEL if is_paired else MAX_LABEL))
    number_width = metrics.horizontalAdvance(f"< {numbers.percent(1.0, 1)}")
    delta_width = metrics.horizontalAdvance("−100.0") + 2 * SPACE if is_paired else 0
    left = label_width + 4 * SPACE
    bar_width = width - left - number_width - delta_width - 3 * SPACE
    height, thickness = (LINE, 8) if is_paired else (ROW, 10)
    middle = Qt.AlignmentFlag.AlignVCenter
    right = middle | Qt.AlignmentFlag.AlignRight
    top = 0.0
    for bar in bars:
        top += 2 * SPACE if bar.apart else 0
        row = QRectF(0, top, width, 2 * LINE + 6 if is_paired else ROW)
        top = row.bottom()
        label_font = QFont(fonts[0])
        label_font.setBold(bar.emphasised)
        painter.setFont(label_font)
        if bar.emphasised:
            fill(painter, row.adjusted(0, 1, 0, -1), palette(Role.ACCENT_SOFT, 1.0), 4)
        row.adjust(SPACE, 0, -SPACE, 0)
        painter.setPen(palette(Role.TEXT, 1.0))
        label = QFontMetricsF(label_font).elidedText(
            _one_line(bar.label), Qt.TextElideMode.ElideMiddle, label_width + 1
        )
        painter.drawText(row, middle | Qt.AlignmentFlag.AlignLeft | AS_STORED, label)
        if is_paired:
            painter.drawText(row, right, bar.difference)
        single = Role.ACCENT if bar.emphasised else Role.CHART_1
        lines = zip((bar.probability, bar.second), SIDES, strict=True)
        for index, (value, role) in enumerate(lines if is_paired else [(bar.probability, single)]):
            line_top = row.center().y() - height * (0.5 if not is_paired else 1 - index)
            line = QRectF(left, line_top, bar_width, height)
            is_missing = value is None and not bar.text
            painter.setPen(palette(Role.MUTED if is_missing else Role.TEXT, 1.0))
            text_box = QRectF(line.right(), line.top(), number_width + 2 * SPACE, height)
            painter.drawText(text_box, right, bar.text or percentage(value))
            if bar_width > 0 and (is_paired or value is not None):
                track = QRectF(left, line.center().y() - thickness / 2, bar_width, thickness)
                _paint_track(painter, track, value, maximum or 1.0, role, palette)
    if maximum is not None and bars and bar_width > 0:
        painter.setFont(fonts[1])
        painter.setPen(palette(Role.MUTED, 1.0))
        axis = QRectF(left, top, bar_width, AXIS)
        painter.drawText(axis, Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft, "0")
        end = numbers.percent(maximum, 0)
        painter.drawText(axis, Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignRight, end)


def _paint_track(
    painter: QPainter, track: QRectF, value: float | None, end: float, role: Role, palette: Palette
) -> None:
    fill(painter, track, palette(Role.HOVER, 1.0), 3)
    if value is not None:
        filled = QSizeF(max(1.5, track.width() * min(1.0, value / end)), track.height())
        fill(painter, QRectF(track.topLeft(), filled), palette(role, 0.85), 3)


def _one_line(label: str) -> str:
    return one_line(label, MAX_PAINTED_CHARACTERS)


# ── figures ──────────────────────────────────────────────────────────────────────────────────

HEAD, COLUMN, GAP = 26, 250, 18  # px: height of a title, width of a column, between columns
MAX_COLUMNS = 4  # side by side


def bars_figure(
    columns: Sequence[tuple[str, Sequence[Bar]]],
    name: str,
    title: str,
    caption: str,
    table: Table,
    array: np.ndarray | None = None,
    maximum: float | None = None,
    is_paired: bool = False,
    width: int = COLUMN,
) -> Figure:
    """Columns of bars with titles, a few side by side, each `width` px wide; see `paint_bars`."""
    lines = [columns[n : n + MAX_COLUMNS] for n in range(0, len(columns), MAX_COLUMNS)]
    heights = [
        max(HEAD * bool(heading) + bars_height(bars, maximum, is_paired) for heading, bars in line)
        for line in lines
    ]
    fonts = print_font(12), print_font(10)

    def paint(painter: QPainter, _: QSizeF) -> None:
        top = 0
        for line, height in zip(lines, heights, strict=True):
            for index, (heading, bars) in enumerate(line):
                painter.save()
                painter.translate(index * (width + GAP), top)
                painter.setFont(print_font(13, bold=True))
                painter.setPen(print_color(Role.TEXT))
                end = Qt.TextElideMode.ElideRight
                shown = painter.fontMetrics().elidedText(heading, end, width)
                middle = Qt.AlignmentFlag.AlignVCenter | AS_STORED
                painter.drawText(QRectF(0, 0, width, HEAD), middle, shown)
                painter.translate(0, HEAD * bool(heading))
                paint_bars(painter, bars, width, maximum, is_paired, print_color, fonts)
                painter.restore()
            top += height + GAP

    column_count = max(len(line) for line in lines)
    return Figure(
        name=name,
        title=title,
        caption=caption,
        size=QSize(column_count * (width + GAP) - GAP, sum(heights) + GAP * (len(heights) - 1)),
        paint=paint,
        array=array,
        table=lambda: table,
    )
