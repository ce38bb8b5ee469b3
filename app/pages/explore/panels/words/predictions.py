"""One card per masked position with its predictions as bars, or pairs of bars for two models."""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QLocale, QRectF, QSize, Qt
from PySide6.QtGui import QFontMetricsF, QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QSizePolicy, QWidget

from app.pages.explore.captions import source
from app.pages.explore.panel import ResultStack
from app.pages.explore.panels.words.part import Column, Part, columns_size, paint_columns
from app.pages.explore.panels.words.state import MAX_POSITIONS, TOP, MaskedPosition, WordsState
from app.resources import mono_font
from app.theme import SIDES, SPACE, Role, colour
from app.translation import tr
from app.widgets import layouts
from app.widgets.charts.bars import (
    AXIS,
    Bar,
    ProbabilityBars,
    paint_axis,
    paint_emphasis,
    paint_track,
    percentage,
    top_of_scale,
)
from app.widgets.charts.figure import Figure, Table
from app.widgets.page import Card, EmptyState
from app.widgets.text import numbers
from app.widgets.text.chips import AS_STORED, token_text
from app.widgets.text.labels import OneLine, Text
from engine.messages.explore.text import PRECISIONS

NARROWEST, WIDEST = 75 * SPACE, 110 * SPACE  # px of a card

ROW = 10 * SPACE
LABEL_SHARE = 0.4  # of the width, at most


class Predictions(Part):
    """Predictions at every masked position."""

    def __init__(self, state: WordsState) -> None:
        super().__init__(state, state.fills)
        self.note = OneLine("", "muted")
        self.models = Text("", "small")
        self.cards: list[PositionCard] = []
        self._row = layouts.row(layouts.STRETCH, spacing=3 * SPACE, margins=(0, 0, 0, 2 * SPACE))
        self.page = self._cards_page()
        self.nothing = EmptyState(
            "eye-off", self.tr("Mask a word to see what the model predicts"), ""
        )
        self.stack = ResultStack(self.page, self.nothing)
        layouts.column((self.stack, 1), parent=self)
        state.explore.picked_changed.connect(self._on_picked)

    def show_state(self) -> None:
        state, query = self.state, self.state.query
        content: QWidget | None = None
        if state.positions():
            self._show_positions(state.positions())
            content = self.page
        elif not query.is_waiting:
            self.nothing.text.setText(self._how_to_hide())
            content = self.nothing
        self.stack.show_query(query, content)

    def _show_positions(self, positions: tuple[MaskedPosition, ...]) -> None:
        while len(self.cards) < min(len(positions), MAX_POSITIONS):
            card = PositionCard()
            self.cards.append(card)
            self._row.insertWidget(len(self.cards) - 1, card, 10, Qt.AlignmentFlag.AlignTop)
        explore, most = self.state.explore, self._scale(positions)
        for number, card in enumerate(self.cards):
            card.setVisible(number < len(positions))
            if number < len(positions):
                position = positions[number]
                is_picked = position.token == explore.picked
                card.show_position(
                    position, self._other(position), is_picked, explore.first.mask, most
                )
        self.note.setText(self._note(positions))
        self.models.setVisible(explore.is_compared)
        self.models.setText(self._models())

    def _other(self, position: MaskedPosition) -> MaskedPosition | None:
        """The second model's predictions there; without predictions until known."""
        if not self.state.explore.is_compared:
            return None
        return self.state.other(position) or MaskedPosition(-1, (), None)

    def _scale(self, positions: tuple[MaskedPosition, ...]) -> float:
        """Full-bar probability of all cards, so that they can be compared; held over a training."""
        shown = [
            value
            for position in positions
            for bar in pairs(position, self._other(position))
            for value in (bar.first, bar.second)
            if value is not None
        ]
        return 1.0 if self.state.explore.is_over_training else top_of_scale(shown)

    def _models(self) -> str:
        first, second = (side.model_name for side in self.state.explore.both)
        text = self.tr(
            "Upper bars: {0}. Lower bars: {1}. Last column: second minus first, in "
            "percentage points. –: the model does not have this token, or tokenises this "
            "word differently."
        )
        return text.format(first, second)

    def _note(self, positions: tuple[MaskedPosition, ...]) -> str:
        if not positions:
            return self.tr("Running the model …")
        state = self.state
        parts = [self.tr("Computed in {0} ms.").format(max(1, round(state.milliseconds)))]
        if len(positions) > MAX_POSITIONS:
            text = self.tr("The first {0} of {1} masked positions are shown.")
            parts.append(text.format(MAX_POSITIONS, len(positions)))
        elif len(positions) > 1 and not state.is_causal:
            parts.append(
                self.tr("Each position is predicted independently, with all others masked.")
            )
        if state.is_causal:
            parts.append(
                self.tr(
                    "This model is left-to-right (causal): it predicts each token from those "
                    "before it."
                )
            )
        return " ".join(parts)

    def _on_picked(self, picked: int) -> None:
        """Mark the selected token's card and scroll to it."""
        for position, card in zip(self.state.positions(), self.cards, strict=False):
            card.set_picked(position.token == picked)
            if position.token == picked:
                self.area.ensureWidgetVisible(card, SPACE, 0)

    def _cards_page(self) -> QWidget:
        inner = QWidget()
        inner.setProperty("bare", True)
        inner.setLayout(self._row)
        self.area = QScrollArea()
        self.area.setWidgetResizable(True)
        self.area.setFrameShape(QFrame.Shape.NoFrame)
        self.area.viewport().setAutoFillBackground(False)
        self.area.setAccessibleName(self.tr("Predictions"))
        self.area.setWidget(inner)
        page = QWidget()
        layouts.column(self.models, (self.area, 1), self.note, parent=page)
        return page

    def _how_to_hide(self) -> str:
        return self.tr(
            "Double-click a word above, or move to it with the arrow keys and press "
            "Enter. Do the same to unmask it. You can also type {0} in the text."
        ).format(self.state.explore.first.mask)

    def figure(self) -> Figure | None:
        """Figure of the exact answers; None until they arrive."""
        exact = [query.require_exact() for query in self.state.fills]  # requests each
        if not all(exact):
            return None
        positions, explore = self.state.positions()[:MAX_POSITIONS], self.state.explore
        if not positions:
            return None
        columns, rows, most = [], [], self._scale(self.state.positions())
        for position in positions:
            typed = position.actual.label if position.actual else ""
            title = f"{position.token + 1} {typed or explore.first.mask}"
            bars = pairs(position, self._other(position))
            columns.append(
                Column(
                    title,
                    tuple((b.label, values(b, explore.is_compared), b.emphasised) for b in bars),
                )
            )
            rows += [
                [position.token + 1, typed, b.label, b.first]
                + ([b.second] if explore.is_compared else [])
                for b in bars
            ]
        header = [
            self.tr("position"),
            self.tr("typed"),
            self.tr("prediction"),
            self.tr("probability"),
        ]
        caption = self.tr(
            "Probability of the top predictions at each masked position, bars from 0 to {0}."
        ).format(numbers.percent(most, 0))
        if explore.is_compared:
            header.append(self.tr("probability, second model"))
            caption += f" {self._models()}"
        header.append(self.tr("precision"))
        rows = [[*row, PRECISIONS["float32"]] for row in rows]
        return Figure(
            name="predictions",
            title=self.tr("Predictions for masked words"),
            caption=f"{caption} {source(explore)}",
            size=columns_size(columns),
            paint=lambda painter, _: paint_columns(painter, columns, most),
            table=lambda: Table(tuple(header), rows),
        )


class PositionCard(Card):
    """One masked position."""

    def __init__(self) -> None:
        super().__init__("", padding=4 * SPACE)
        self.setMinimumWidth(NARROWEST)
        self.setMaximumWidth(WIDEST)
        self.head = OneLine("", "strong")
        self.verdict = OneLine("", "muted")
        self.bars = ProbabilityBars(self.tr("Predictions"))
        self.pairs = PairBars(self.tr("Predictions of two models"))
        self.body.setSpacing(SPACE)
        for widget in (self.head, self.verdict, self.bars, self.pairs):
            self.body.addWidget(widget)

    def show_position(
        self,
        position: MaskedPosition,
        other: MaskedPosition | None,
        picked: bool,
        mask: str,
        most: float = 1.0,
    ) -> None:
        """Show a position; the actual token is emphasised, at its rank or below the others.

        `other` is the same position of a second model, None if not comparing. A full bar is the
        probability `most`.
        """
        self.set_picked(picked)
        actual = position.actual
        if actual is None:
            self.head.setText(mask)
            self.verdict.setText(self.tr("Token {0}").format(position.token + 1))
        else:
            self.head.setText(f"“{token_text(actual.label)}”")
            self.verdict.setText(self._verdict(position))
        self.bars.setVisible(other is None)
        self.pairs.setVisible(other is not None)
        if other is not None:
            self.pairs.show_bars(pairs(position, other), most)
            return
        bars = [
            Bar(likely.label, likely.probability, number == position.rank)
            for number, likely in enumerate(position.likely[:TOP], start=1)
        ]
        if actual is not None and not 0 < position.rank <= TOP:
            bars.append(Bar(actual.label, actual.probability, emphasised=True, apart=True))
        self.bars.show_bars(bars, most)

    def _verdict(self, position: MaskedPosition) -> str:
        assert position.actual is not None
        share = percentage(position.actual.probability)
        if position.rank == 1:
            return self.tr("Token {0}: top prediction, {1}").format(position.token + 1, share)
        text = self.tr("Token {0}: rank {1}, {2}")
        return text.format(position.token + 1, numbers.count(position.rank), share)


@dataclass(frozen=True)
class PairBar:
    """One token; a probability is None if the model does not list it."""

    label: str
    first: float | None
    second: float | None
    emphasised: bool = False


class PairBars(QWidget):
    """Paints pairs of bars on a common scale from 0."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.shown: tuple[PairBar, ...] = ()
        self.most = 1.0
        self.setAccessibleName(name)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_bars(self, bars: Sequence[PairBar], most: float = 1.0) -> None:
        """Show these; a full bar is the probability `most`."""
        if (tuple(bars), most) == (self.shown, self.most):
            return
        self.shown, self.most = tuple(bars), most
        self.setAccessibleDescription(
            ", ".join(
                " ".join(
                    (
                        token_text(b.label),
                        *map(probability_text, (b.first, b.second)),
                        difference(b),
                    )
                )
                for b in self.shown
            )
        )
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(60 * SPACE, len(self.shown) * ROW + AXIS)

    def minimumSizeHint(self) -> QSize:
        return QSize(40 * SPACE, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        metrics = QFontMetricsF(mono_font())
        widest = max(
            (metrics.horizontalAdvance(token_text(b.label)) for b in self.shown), default=0
        )
        label_width = min(widest, self.width() * LABEL_SHARE)
        for number, bar in enumerate(self.shown):
            row = QRectF(0, number * ROW, self.width(), ROW)
            self._paint_row(painter, bar, row, label_width)
        number_width = metrics.horizontalAdvance(f"< {numbers.percent(1.0, 1)}")
        delta = metrics.horizontalAdvance("−100.0")
        left = label_width + 4 * SPACE
        room = self.width() - left - number_width - delta - 5 * SPACE
        if self.shown and room > 0:
            paint_axis(painter, QRectF(left, len(self.shown) * ROW, room, AXIS), self.most)

    def _paint_row(self, painter: QPainter, bar: PairBar, row: QRectF, label_width: float) -> None:
        font = mono_font()
        font.setBold(bar.emphasised)
        painter.setFont(font)
        metrics = QFontMetricsF(font)
        if bar.emphasised:
            paint_emphasis(painter, row)
        row = row.adjusted(SPACE, 0, -SPACE, 0)
        painter.setPen(colour(Role.TEXT))
        middle = Qt.AlignmentFlag.AlignVCenter
        label = metrics.elidedText(
            token_text(bar.label), Qt.TextElideMode.ElideRight, label_width + 1
        )
        painter.drawText(row, middle | Qt.AlignmentFlag.AlignLeft | AS_STORED, label)
        delta = metrics.horizontalAdvance("−100.0")
        painter.drawText(row, middle | Qt.AlignmentFlag.AlignRight, difference(bar))
        number_width = metrics.horizontalAdvance(f"< {numbers.percent(1.0, 1)}")
        left = label_width + 3 * SPACE
        room = row.width() - left - number_width - delta - 4 * SPACE
        halves = zip((bar.first, bar.second), SIDES, strict=True)
        for number, (value, role) in enumerate(halves):
            line = QRectF(row.left() + left, row.top() + 3 + number * 17, room, 16)
            painter.setPen(colour(Role.TEXT if value is not None else Role.MUTED))
            numbered = QRectF(line.left() + room, line.top(), number_width + SPACE, 16)
            painter.drawText(
                numbered, middle | Qt.AlignmentFlag.AlignRight, probability_text(value)
            )
            track = QRectF(line.left(), line.center().y() - 4, max(room, 0), 8)
            paint_track(painter, track, None if value is None else value / self.most, role)


def probability_text(value: float | None) -> str:
    """A probability, or “–”."""
    return "–" if value is None else percentage(value)


def difference(bar: PairBar) -> str:
    """Second minus first in percentage points, with its sign."""
    if bar.first is None or bar.second is None:
        return ""
    points = (bar.second - bar.first) * 100
    sign = "+" if points > 0 else "−" if points < 0 else "±"
    return tr("{0}{1}").format(sign, QLocale().toString(abs(points), "f", 1))


def pairs(position: MaskedPosition, other: MaskedPosition | None) -> list[PairBar]:
    """The top predictions of both models by the larger probability, and the actual token."""
    second = other or MaskedPosition(-1, (), None)
    chances = [
        {one.label: one.probability for one in (*p.wanted, *p.likely)} for p in (position, second)
    ]
    for known, actual in zip(chances, (position.actual, second.actual), strict=True):
        if actual is not None:
            known[actual.label] = actual.probability
    best = {one.label: 0.0 for p in (position, second) for one in p.likely[:TOP]}
    if position.actual is not None:
        best[position.actual.label] = 0.0
    order = sorted(best, key=lambda label: -max(known.get(label, 0.0) for known in chances))
    own = position.actual.label if position.actual else None
    kept = order[:TOP] + [label for label in order[TOP:] if label == own]
    return [
        PairBar(label, chances[0].get(label), chances[1].get(label), label == own) for label in kept
    ]


def values(bar: PairBar, compared: bool) -> tuple[float | None, ...]:
    """Probabilities drawn in a row: of one model, or of two."""
    return (bar.first, bar.second) if compared else (bar.first,)
