"""Regression in the window."""

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from app import theme
from app.tasks.part import TaskPart
from app.tasks.picture import Scene
from app.tasks.prediction_view import PredictionInput, PredictionView
from app.theme import SPACE, Role, px
from app.translation import marked, tr
from app.widgets.results.group_table import LengthPicture
from app.widgets.results.regression import ResidualPicture, ScatterPicture
from app.widgets.text.labels import font
from engine.messages.explore.prediction import Predicted
from engine.phrases import number_text

TRACK = 3 * SPACE  # height
MARK = 4 * SPACE  # half the width of the pointer above it


class NumberView(PredictionView):
    """One number, with a gauge if the range of the training set is known."""

    def __init__(self) -> None:
        super().__init__("title")
        self.gauge = Gauge()
        self.lay_out(self.gauge)

    def show_prediction(self, prediction: Predicted, inputs: PredictionInput) -> None:
        assert prediction.value is not None
        self.verdict.setText(_format(prediction.value))
        self.gauge.setVisible(prediction.range is not None)
        if prediction.range is None:
            self.note.setText(self.tr("Prediction for the text above; masked tokens stay masked."))
            return
        self.gauge.show_number(prediction.value, *prediction.range)
        low, high = map(_format, prediction.range)
        in_range = prediction.range[0] <= prediction.value <= prediction.range[1]
        template = (
            self.tr("The model was trained on numbers between {0} and {1}.")
            if in_range
            else self.tr("Outside the range of the training set, {0} to {1}.")
        )
        self.note.setText(template.format(low, high))


class Gauge(QWidget):
    """A track from the lowest to the highest number, filled up to the shown one."""

    def __init__(self) -> None:
        super().__init__()
        self.value, self.low, self.high = 0.0, 0.0, 1.0
        self.setAccessibleName(self.tr("Number on its scale"))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_number(self, value: float, low: float, high: float) -> None:
        """Show `value` between `low` and `high`, clamped to the ends."""
        self.value, self.low, self.high = value, low, high
        text = self.tr("{0}, between {1} and {2}")
        self.setAccessibleDescription(text.format(_format(value), _format(low), _format(high)))
        self.update()

    @property
    def fraction(self) -> float:
        """Position of the number on the track, from 0 to 1."""
        return min(max((self.value - self.low) / (self.high - self.low), 0.0), 1.0)

    def sizeHint(self) -> QSize:
        text = QFontMetricsF(font("small")).height()
        return QSize(px(60 * SPACE), round(MARK + TRACK + 2 * SPACE + text))

    def minimumSizeHint(self) -> QSize:
        return QSize(30 * SPACE, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        track = QRectF(MARK / 2, MARK, self.width() - MARK, TRACK)
        x = track.left() + track.width() * self.fraction
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
        """Ends and middle as numbers below the track."""
        painter.setFont(font("small"))
        painter.setPen(QPen(theme.colour(Role.MUTED)))
        labels = QRectF(0, track.bottom() + SPACE, self.width(), self.height())
        for value, side in (
            (self.low, Qt.AlignmentFlag.AlignLeft),
            ((self.low + self.high) / 2, Qt.AlignmentFlag.AlignHCenter),
            (self.high, Qt.AlignmentFlag.AlignRight),
        ):
            painter.drawText(labels, Qt.AlignmentFlag.AlignTop | side, _format(value))


def _format(value: float) -> str:
    """A number with four significant digits."""
    return number_text(float(f"{value:.4g}"))


class RegressionPart(TaskPart):
    kind = "regression"
    view = NumberView
    pictures = (ScatterPicture, ResidualPicture, LengthPicture)
    purpose = marked(
        "Predict a number for a text or a pair: similarity, readability, a star rating."
    )
    scene = Scene("[CLS] a dog runs [SEP] dogs run [SEP]", 5, 0, marked("number"), "4.6")

    def outputs(self, count: int) -> str:
        return tr("regression head")
