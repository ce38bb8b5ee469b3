"""Query and key of a pair of tokens: elements, score and weight; on screen and for export.

Shapes: K size of a head.
"""

import numpy as np
from PySide6.QtCore import QEvent, QPoint, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QFont, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.pages.explore.captions import source
from app.pages.explore.panels.attention.state import AttentionState
from app.theme import SIGNS, SPACE, Palette, Role, colour, print_color, px
from app.translation import tr
from app.widgets import buttons, layouts
from app.widgets.charts.figure import Figure, Table, print_font
from app.widgets.keys import clamp, horizontal_step
from app.widgets.page import EmptyState, Stack
from app.widgets.text.chips import token_text
from app.widgets.text.labels import OneLine, Text, font
from app.widgets.text.numbers import decimal
from engine.messages.explore.attention import QueryKeyShown, ScoreTerm

BAND, MIN_BAND = 11 * SPACE, 4 * SPACE  # px, usual and minimum height of a row of elements
NAME_HEIGHT = 6 * SPACE  # px
MAX_ELEMENT_WIDTH = 14  # px
FIGURE_BAND, FIGURE_NAME_HEIGHT, FIGURE_WIDTH = 60.0, 20.0, 640.0  # px


class ElementsView(QWidget):
    """Three rows of K elements: query, key, and their products.

    Positive elements are drawn above the line, negative ones below, so that colour is not needed.
    """

    def __init__(self, readout: OneLine) -> None:
        super().__init__()
        self.shown: QueryKeyShown | None = None
        self._readout, self._hovered = readout, -1
        self.setMouseTracking(True)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Maximum)
        self.setAccessibleName(self.tr("Query and key"))

    def show_pair(self, shown: QueryKeyShown | None) -> None:
        self.shown = shown
        self._hovered = -1
        if shown is not None:
            text = self.tr("{0} elements; their products sum to {1}")
            added = decimal(sum(shown.products))
            self.setAccessibleDescription(text.format(len(shown.query), added))
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(px(120 * SPACE), 3 * (BAND + NAME_HEIGHT) + 2 * SPACE)

    def minimumSizeHint(self) -> QSize:
        return QSize(px(40 * SPACE), 3 * (MIN_BAND + NAME_HEIGHT))

    def band(self) -> float:
        return max(MIN_BAND, min(BAND, self.height() / 3 - NAME_HEIGHT))

    def element(self, index: int) -> QRectF:
        """Column of an element, over all three rows."""
        count = len(self.shown.query) if self.shown else 1
        width = min(MAX_ELEMENT_WIDTH, (self.width() - 2 * SPACE) / count)
        return QRectF(SPACE + index * width, 0, width, self.height())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._hover(self._index_at(event.position().toPoint()))

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self._hover(-1)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = horizontal_step(event)
        if not step or self.shown is None:
            super().keyPressEvent(event)
            return
        self._hover(clamp(self._hovered + step, len(self.shown.query) - 1))

    def _index_at(self, point: QPoint) -> int:
        if self.shown is None:
            return -1
        index = int((point.x() - SPACE) // self.element(0).width())
        return index if 0 <= index < len(self.shown.query) else -1

    def _hover(self, index: int) -> None:
        self._hovered = index
        if self.shown is not None and index >= 0:
            text = self.tr("Element {0}: query {1}, key {2}, product over √K {3}")
            values = (self.shown.query[index], self.shown.key[index], self.shown.products[index])
            self._readout.setText(text.format(index + 1, *(decimal(value) for value in values)))
        else:
            self._readout.setText(self.tr("Hover over an element to see its values."))
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        if self.shown is None:
            return
        painter = QPainter(self)
        area = QRectF(SPACE, 0, self.element(0).width() * len(self.shown.query), self.band())
        paint_elements(painter, area, NAME_HEIGHT, self.shown, colour, font("small"))
        if self._hovered >= 0:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(colour(Role.TEXT), 1))
            painter.drawRect(self.element(self._hovered).adjusted(-0.5, 0.5, -0.5, -1.5))


def paint_elements(
    painter: QPainter,
    row: QRectF,
    name_height: float,
    shown: QueryKeyShown,
    palette: Palette,
    label_font: QFont,
) -> None:
    """Paint the elements of query, key and their products.

    Args:
        row: left, width and height of each of the three rows.
        name_height: px of the name above each row.
    """
    width, half = row.width() / len(shown.query), row.height() / 2 - 2
    for band, (name, values) in enumerate(
        (
            (tr("Query"), shown.query),
            (tr("Key"), shown.key),
            (tr("Query × key ÷ √K"), shown.products),
        )
    ):
        top = band * (row.height() + name_height)
        middle, vmax = top + name_height + row.height() / 2, max(map(abs, values)) or 1.0
        painter.setFont(label_font)
        painter.setPen(palette(Role.MUTED, 1.0))
        text = tr("{0}: up to ±{1}").format(name, decimal(vmax, 2))
        box = QRectF(row.left(), top, FIGURE_WIDTH, name_height)
        painter.drawText(box, Qt.AlignmentFlag.AlignVCenter, text)
        for index, value in enumerate(values):
            height = half * abs(value) / vmax
            y = middle if value < 0 else middle - height
            bar = QRectF(row.left() + index * width, y, 0.9 * width, height)
            painter.fillRect(bar, palette(SIGNS[value < 0], 1.0))
        painter.setPen(palette(Role.BORDER, 1.0))
        painter.drawLine(QPointF(row.left(), middle), QPointF(row.right(), middle))


class PairView(QWidget):
    def __init__(self, state: AttentionState) -> None:
        super().__init__()
        self._state = state
        self.title, self.sum = Text("", "strong"), Text("")
        self.readout = OneLine("", "small")
        self.elements = ElementsView(self.readout)
        parts = self.title, self.readout, self.elements, self.sum, layouts.STRETCH
        page = layouts.page(*parts, spacing=SPACE)
        self.example = buttons.primary(self.tr("Select a &pair"), self._on_example)
        self.empty = EmptyState("scan-search", self.tr("Select a pair of tokens"), "", self.example)
        self.stack = Stack(page, self.empty)
        layouts.column(self.stack, parent=self)
        state.pair_changed.connect(self.show_state)
        state.head_changed.connect(self.show_state)
        self.show_state()

    def _on_example(self) -> None:
        """Select the first two words."""
        explore = self._state.explore
        words = [n for n, token in enumerate(self._state.maps.side.tokens) if not token.special]
        explore.pick(words[0])
        explore.pick_target(words[1 % len(words)])

    def show_state(self) -> None:
        shown = self._state.query_key
        self.example.setVisible(self._state.maps.has_heads)
        self.stack.setCurrentIndex(1 if shown is None else 0)
        if shown is None:
            self.empty.text.setText(
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
        self.sum.setText(score_text(shown))
        self.readout.setText(self.tr("Hover over an element to see its values."))


def score_text(shown: QueryKeyShown) -> str:
    """Explain a score as the sum of its products, or of its terms."""
    known = [score for score in shown.scores if score is not None]
    rank = 1 + sum(score > shown.score for score in known)
    names: dict[ScoreTerm, str] = {
        "content": tr("content–content"),
        "distance": tr("distance"),
        "content to position": tr("content–position"),
        "position to content": tr("position–content"),
    }
    parts = " + ".join(f"{names[part.term]} {decimal(part.value)}" for part in shown.parts)
    text = (
        tr(
            "The attention score {0} (rank {1} of {2}) is the sum of {4}. Softmax over all {2} "
            "scores gives the attention weight {3}."
        )
        if parts
        else tr(
            "The products sum to the attention score {0} (rank {1} of {2}). Softmax over "
            "all {2} scores gives the attention weight {3}."
        )
    )
    return text.format(decimal(shown.score), rank, len(known), decimal(shown.weight), parts)


def pair_figure(state: AttentionState) -> Figure | None:
    """Query and key of the selected pair; None without one."""
    shown = state.query_key
    side = state.maps.side
    if shown is None or max(shown.query_token, shown.key_token) >= len(side.tokens):
        return None
    ends = [token_text(side.model_token(n)) for n in (shown.query_token, shown.key_token)]
    values = np.array([shown.query, shown.key, shown.products], np.float32)  # [3, K]
    row = QRectF(0, 0, FIGURE_WIDTH, FIGURE_BAND)
    head = state.head_name(shown.layer, shown.head)
    text = tr(
        "Elements of the query of “{0}” (token {1}) and the key of “{2}” (token {3}), and their "
        "products divided by √K, which sum to the attention score {4}; attention weight {5}."
    ).format(
        ends[0],
        shown.query_token + 1,
        ends[1],
        shown.key_token + 1,
        decimal(shown.score),
        decimal(shown.weight),
    )
    return Figure(
        name=f"query-key-layer-{shown.layer + 1}-head-{shown.head + 1}",
        title=tr("Query and key: {0}, “{1}” to “{2}”").format(head, *ends),
        caption=f"{text} {source(state.explore, side.index)}",
        size=QSize(round(FIGURE_WIDTH), round(3 * (FIGURE_BAND + FIGURE_NAME_HEIGHT))),
        paint=lambda painter, _: paint_elements(
            painter, row, FIGURE_NAME_HEIGHT, shown, print_color, print_font(11)
        ),
        array=values,
        table=lambda: Table(
            ("element", "query", "key", "product"),
            [(n + 1, *map(float, column)) for n, column in enumerate(values.T)],
        ),
    )
