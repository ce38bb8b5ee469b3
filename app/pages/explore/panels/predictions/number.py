"""A number, and where it lies among those that the model has learned from."""

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from app import theme
from app.pages.explore.panels.predictions.face import Face
from app.pages.explore.panels.predictions.state import PredictionsState
from app.theme import SPACE, Role
from app.widgets.number_field import written
from app.widgets.text import font
from engine.messages.explore.prediction import Predicted

TRACK = 3 * SPACE  # height
MARK = 4 * SPACE  # half the width of the mark above it


class Number(Face):
    """One number, with a gauge where the range of the training rows is known."""

    def __init__(self, state: PredictionsState) -> None:
        super().__init__(state, "title")
        self.gauge = Gauge()
        self.lay_out(self.gauge)

    def show_answer(self, answer: Predicted) -> None:
        assert answer.value is not None
        self.verdict.setText(_short(answer.value))
        self.gauge.setVisible(answer.range is not None)
        if answer.range is None:
            self.note.setText(self.tr("Of the text as it stands above; hidden words stay hidden."))
            return
        self.gauge.show_number(answer.value, *answer.range)
        low, high = map(_short, answer.range)
        self.note.setText(
            self.tr("The model has learned from numbers between {0} and {1}.").format(low, high)
            if answer.range[0] <= answer.value <= answer.range[1]
            else self.tr(
                "This lies outside of {0} to {1}, the numbers that the model has learned from."
            ).format(low, high)
        )


class Gauge(QWidget):
    """A track from the lowest to the highest number, filled up to the one that is shown."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.value, self.low, self.high = 0.0, 0.0, 1.0
        self.setAccessibleName(self.tr("Number on its scale"))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_number(self, value: float, low: float, high: float) -> None:
        """Show `value` between `low` and `high`; outside of these it stands at an end."""
        self.value, self.low, self.high = value, low, high
        said = self.tr("{0}, between {1} and {2}")
        self.setAccessibleDescription(said.format(_short(value), _short(low), _short(high)))
        self.update()

    @property
    def share(self) -> float:
        """How far along the track the number stands, from 0 to 1."""
        return min(max((self.value - self.low) / (self.high - self.low), 0.0), 1.0)

    def sizeHint(self) -> QSize:
        text = QFontMetricsF(font("small")).height()
        return QSize(60 * SPACE, round(MARK + TRACK + 2 * SPACE + text))

    def minimumSizeHint(self) -> QSize:
        return QSize(30 * SPACE, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        track = QRectF(MARK / 2, MARK, self.width() - MARK, TRACK)
        x = track.left() + track.width() * self.share
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.colour(Role.HOVER))
        painter.drawRoundedRect(track, TRACK / 2, TRACK / 2)
        filled = QRectF(track)
        filled.setRight(max(x, track.left() + TRACK))
        painter.setBrush(theme.colour(Role.ACCENT, 0.85))
        painter.drawRoundedRect(filled, TRACK / 2, TRACK / 2)
        painter.setBrush(theme.colour(Role.TEXT))
        tip, half = QPointF(x, track.top() - 2), MARK / 2
        sides = (QPointF(tip.x() - half, tip.y() - half), QPointF(tip.x() + half, tip.y() - half))
        painter.drawPolygon(QPolygonF([tip, *sides]))
        self._paint_scale(painter, track)
        painter.end()

    def _paint_scale(self, painter: QPainter, track: QRectF) -> None:
        """The ends and the middle in numbers below the track."""
        painter.setFont(font("small"))
        painter.setPen(QPen(theme.colour(Role.MUTED)))
        below = QRectF(0, track.bottom() + SPACE, self.width(), self.height())
        for value, side in (
            (self.low, Qt.AlignmentFlag.AlignLeft),
            ((self.low + self.high) / 2, Qt.AlignmentFlag.AlignHCenter),
            (self.high, Qt.AlignmentFlag.AlignRight),
        ):
            painter.drawText(below, Qt.AlignmentFlag.AlignTop | side, _short(value))


def _short(value: float) -> str:
    """A number with four digits that count."""
    return written(float(f"{value:.4g}"))
