"""Labels with their probabilities as bars, always with the numbers."""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QRectF, QSize, QSizeF, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.resources import mono_font
from app.theme import SPACE, Role, colour
from app.widgets.drawing import fill, write
from app.widgets.tables import AT_LEFT, AT_RIGHT
from app.widgets.text import numbers
from app.widgets.text.chips import AS_STORED
from app.widgets.text.labels import font, one_line

ROW = 6 * SPACE
MAX_PAINTED_CHARACTERS = 80  # of a label, painted
AXIS = 4 * SPACE  # px for the ends of the scale
SCALES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)  # possible ends of a scale of probabilities
LABEL_SHARE = 0.5  # of the width, at most


@dataclass(frozen=True)
class Bar:
    """One row. An emphasised one differs in weight and colour; `apart` leaves a gap above."""

    label: str
    probability: float
    emphasised: bool = False
    apart: bool = False


def percentage(probability: float) -> str:
    """62.1 %, 0.31 %, or below 0.01 %."""
    if 0 < probability < 0.0001:
        return f"< {numbers.percent(0.0001, 2)}"
    return numbers.percent(probability, 1 if probability >= 0.01 else 2)


def top_of_scale(probabilities: Sequence[float]) -> float:
    """The round number at which the scale of these probabilities ends."""
    largest = max(probabilities, default=1.0)
    return next((scale for scale in SCALES if largest <= scale), 1.0)


class ProbabilityBars(QWidget):
    """ProbabilityBars over a common scale from 0."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.shown: tuple[Bar, ...] = ()
        self.most: float | None = None
        self.setAccessibleName(name)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_bars(self, bars: Sequence[Bar], most: float | None = None) -> None:
        """Show bars on a scale from 0 to `most`, written below; without it the scale ends at 1."""
        if (tuple(bars), most) == (self.shown, self.most):
            return
        self.shown, self.most = tuple(bars), most
        text = ", ".join(f"{_line(b.label)} {percentage(b.probability)}" for b in self.shown)
        self.setAccessibleDescription(text)
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        gaps = sum(bar.apart for bar in self.shown)
        axis = AXIS if self.most is not None else 0
        return QSize(60 * SPACE, round(len(self.shown) * ROW + gaps * 2 * SPACE) + axis)

    def minimumSizeHint(self) -> QSize:
        return QSize(40 * SPACE, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        metrics = QFontMetricsF(mono_font())
        widest = max(
            (metrics.horizontalAdvance(_line(b.label)) for b in self.shown),
            default=0,
        )
        label_width = min(widest, self.width() * LABEL_SHARE)
        number_width = metrics.horizontalAdvance(f"< {numbers.percent(1.0, 1)}")
        top = 0.0
        for bar in self.shown:
            top += 2 * SPACE if bar.apart else 0
            self._paint_row(painter, bar, top, label_width, number_width)
            top += ROW
        left = label_width + 4 * SPACE
        room = self.width() - left - number_width - 3 * SPACE
        if self.most is not None and self.shown and room > 0:
            paint_axis(painter, QRectF(left, top, room, AXIS), self.most)

    def _paint_row(
        self, painter: QPainter, bar: Bar, top: float, label_width: float, number_width: float
    ) -> None:
        font = mono_font()
        font.setBold(bar.emphasised)
        row = QRectF(0, top, self.width(), ROW)
        if bar.emphasised:
            paint_emphasis(painter, row)
        row.adjust(SPACE, 0, -SPACE, 0)
        place = QRectF(row.left(), row.top(), label_width + 1, ROW)
        middle = Qt.TextElideMode.ElideMiddle
        write(
            painter,
            place,
            _line(bar.label),
            font,
            Role.TEXT,
            AT_LEFT | AS_STORED,
            middle,
        )
        write(painter, row, percentage(bar.probability), font, Role.TEXT, AT_RIGHT)
        left = label_width + 4 * SPACE
        room = self.width() - left - number_width - 3 * SPACE
        if room > 0:
            track = QRectF(left, row.center().y() - 5, room, 10)
            role = Role.ACCENT if bar.emphasised else Role.CHART_1
            paint_track(painter, track, bar.probability / (self.most or 1.0), role)


def paint_emphasis(painter: QPainter, row: QRectF) -> None:
    """Background of an emphasised row."""
    fill(painter, row.adjusted(0, 1, 0, -1), colour(Role.ACCENT_SOFT), 4)


def paint_axis(painter: QPainter, line: QRectF, most: float) -> None:
    """The ends of the scale, below the tracks."""
    top, small = Qt.AlignmentFlag.AlignTop, font("small")
    write(painter, line, "0", small, Role.MUTED, top)
    end = numbers.percent(most, 0)
    write(painter, line, end, small, Role.MUTED, top | Qt.AlignmentFlag.AlignRight)


def paint_track(painter: QPainter, track: QRectF, share: float | None, role: Role) -> None:
    """A track from 0 to 1, filled up to `share`; None leaves it empty."""
    fill(painter, track, colour(Role.HOVER), 3)
    if share is not None and track.width() > 0:
        filled = QSizeF(max(1.5, track.width() * min(1.0, share)), track.height())
        fill(painter, QRectF(track.topLeft(), filled), colour(role, 0.85), 3)


def _line(label: str) -> str:
    return one_line(label, MAX_PAINTED_CHARACTERS)
