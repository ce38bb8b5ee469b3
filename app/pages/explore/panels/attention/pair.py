"""Query and key of a pair of tokens: from their elements to score and weight.

Shapes: K size of a head.
"""

import numpy as np
from PySide6.QtCore import QEvent, QPoint, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.pages.explore.panels.attention.state import AttentionState
from app.theme import SIGNS, SPACE, Role, colour
from app.widgets import layouts
from app.widgets.keys import clamp, horizontal_step
from app.widgets.page import EmptyState, Stack
from app.widgets.text.chips import token_text
from app.widgets.text.labels import OneLine, Text, font
from app.widgets.text.numbers import decimal
from engine.messages.explore.attention import QueryKeyShown, ScoreTerm

BAND, LEAST_BAND = 11 * SPACE, 4 * SPACE  # px of a row of elements, normally and at least
HEAD = 6 * SPACE  # px of its name
WIDEST = 14  # largest px of an element


class Elements(QWidget):
    """Three rows of K elements: query, key, and their products.

    Positive elements rise above the line and negative ones hang below: not by colour alone.
    """

    def __init__(self, said: OneLine) -> None:
        super().__init__()
        self.shown: QueryKeyShown | None = None
        self._said, self._at = said, -1
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Maximum)
        self.setAccessibleName(self.tr("Query and key"))

    def show_pair(self, shown: QueryKeyShown | None) -> None:
        self.shown = shown
        self._at = -1
        if shown is not None:
            text = self.tr("{0} elements; their products sum to {1}")
            added = decimal(sum(shown.products))
            self.setAccessibleDescription(text.format(len(shown.query), added))
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(120 * SPACE, 3 * (BAND + HEAD) + 2 * SPACE)

    def minimumSizeHint(self) -> QSize:
        return QSize(40 * SPACE, 3 * (LEAST_BAND + HEAD))

    def band(self) -> float:
        """px of a row of elements."""
        return max(LEAST_BAND, min(BAND, self.height() / 3 - HEAD))

    def element(self, number: int) -> QRectF:
        """Column of an element, over all three rows."""
        count = len(self.shown.query) if self.shown else 1
        wide = min(WIDEST, (self.width() - 2 * SPACE) / count)
        return QRectF(SPACE + number * wide, 0, wide, self.height())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._point(self._number_at(event.position().toPoint()))

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._point(-1)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = horizontal_step(event)
        if not step or self.shown is None:
            super().keyPressEvent(event)
            return
        self._point(clamp(self._at + step, len(self.shown.query) - 1))

    def _number_at(self, point: QPoint) -> int:
        if self.shown is None:
            return -1
        number = int((point.x() - SPACE) // self.element(0).width())
        return number if 0 <= number < len(self.shown.query) else -1

    def _point(self, at: int) -> None:
        self._at = at
        if self.shown is not None and at >= 0:
            text = self.tr("Element {0}: query {1}, key {2}, product over √K {3}")
            values = (self.shown.query[at], self.shown.key[at], self.shown.products[at])
            self._said.setText(text.format(at + 1, *(decimal(value) for value in values)))
        else:
            self._said.setText(self.tr("Hover over an element to see its values."))
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        if self.shown is None:
            return
        painter = QPainter(self)
        names = (self.tr("Query"), self.tr("Key"), self.tr("Query × key ÷ √K"))
        rows = (self.shown.query, self.shown.key, self.shown.products)
        for number, (name, row) in enumerate(zip(names, rows, strict=True)):
            top = number * (self.band() + HEAD)
            painter.setPen(colour(Role.MUTED))
            painter.setFont(font("small"))
            most = float(np.abs(row).max()) or 1.0
            text = self.tr("{0}: up to ±{1}").format(name, decimal(most, 2))
            box = QRectF(SPACE, top, self.width(), HEAD)
            painter.drawText(box, Qt.AlignmentFlag.AlignVCenter, text)
            self._paint_row(painter, row, top + HEAD, most)
        if self._at >= 0:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(colour(Role.TEXT), 1))
            painter.drawRect(self.element(self._at).adjusted(-0.5, 0.5, 0.5, -1.5))

    def _paint_row(
        self, painter: QPainter, row: tuple[float, ...], top: float, most: float
    ) -> None:
        middle, half = top + self.band() / 2, self.band() / 2 - 2
        painter.setPen(Qt.PenStyle.NoPen)
        for number, value in enumerate(row):
            box = self.element(number)
            high = half * abs(value) / most
            line = QRectF(box.left(), middle if value < 0 else middle - high, box.width() - 1, high)
            painter.fillRect(line, sign_ink(value))
        painter.setPen(colour(Role.BORDER))
        painter.drawLine(
            round(SPACE), round(middle), round(self.element(len(row) - 1).right()), round(middle)
        )


def sign_ink(value: float) -> QColor:
    """Colour by sign."""
    return colour(SIGNS[value < 0])


class PairView(QWidget):
    """The selected pair in the current head."""

    def __init__(self, state: AttentionState) -> None:
        super().__init__()
        self._state = state
        self.title, self.sum = Text("", "strong"), Text("")
        self.said = OneLine("", "small")
        self.elements = Elements(self.said)
        page = QWidget()
        column = layouts.column(parent=page, spacing=SPACE)
        for part in (self.title, self.said, self.elements, self.sum):
            column.addWidget(part)
        column.addStretch()
        self.stack = Stack()
        self.stack.addWidget(page)
        self.nothing = EmptyState("scan-search", self.tr("Select a pair of tokens"), "")
        self.stack.addWidget(self.nothing)
        layouts.column(self.stack, parent=self)
        state.pair_changed.connect(self.show_state)
        state.head_changed.connect(self.show_state)
        self.show_state()

    def show_state(self) -> None:
        shown = self._state.query_key
        self.stack.setCurrentIndex(1 if shown is None else 0)
        if shown is None:
            self.nothing.text.setText(
                self.tr(
                    "Click a cell of the matrix, or a query token on the left and a key token on "
                    "the right of the lines."
                )
                if self._state.maps.has_heads
                else self.tr(
                    "Head average and attention rollout have no query and key. Choose attention "
                    "weights or value-weighted norms."
                )
            )
            return
        self.elements.show_pair(shown)
        side = self._state.maps.side
        if max(shown.query_token, shown.key_token) >= len(side.tokens):
            return
        row, column = (
            token_text(side.model_token(n)) for n in (shown.query_token, shown.key_token)
        )
        text = self.tr("Layer {0}, head {1}: “{2}” attends to “{3}”")
        self.title.setText(text.format(shown.layer + 1, shown.head + 1, row, column))
        self.sum.setText(self._told(shown))
        self.said.setText(self.tr("Hover over an element to see its values."))

    def _told(self, shown: QueryKeyShown) -> str:
        known = [score for score in shown.scores if score is not None]
        rank = 1 + sum(score > shown.score for score in known)
        if shown.parts:
            text = self.tr(
                "The attention score {0} (rank {1} of {2}) is the sum of {4}. Softmax over all {2} "
                "scores gives the attention weight {3}."
            )
            named = self._terms()
            parts = " + ".join(f"{named[part.term]} {decimal(part.value)}" for part in shown.parts)
            return text.format(decimal(shown.score), rank, len(known), decimal(shown.weight), parts)
        text = self.tr(
            "The products sum to the attention score {0} (rank {1} of {2}). Softmax over "
            "all {2} scores gives the attention weight {3}."
        )
        return text.format(decimal(shown.score), rank, len(known), decimal(shown.weight))

    def _terms(self) -> dict[ScoreTerm, str]:
        """Names of the terms of a score."""
        return {
            "content": self.tr("content–content"),
            "distance": self.tr("distance"),
            "content to position": self.tr("content–position"),
            "position to content": self.tr("position–content"),
        }
