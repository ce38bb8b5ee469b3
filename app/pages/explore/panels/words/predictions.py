"""One card per masked position with its predictions as bars, or pairs of bars for two models."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QScrollArea, QWidget

from app.pages.explore.captions import source
from app.pages.explore.panel import ResultStack
from app.pages.explore.panels.words.state import (
    MAX_POSITIONS,
    TOP_K,
    MaskedPosition,
    WordsState,
    can_predict,
)
from app.theme import SPACE, px
from app.widgets import buttons, layouts
from app.widgets.charts.bars import Bar, ProbabilityBars, bars_figure, percentage, scale_end
from app.widgets.charts.figure import Figure, Table
from app.widgets.page import Card, EmptyState
from app.widgets.text import numbers
from app.widgets.text.chips import token_text
from app.widgets.text.labels import OneLine, Text
from engine.messages.explore.fill_mask import MaskFilled
from engine.messages.explore.text import PRECISIONS

MIN_WIDTH, MAX_WIDTH = 75 * SPACE, 110 * SPACE  # px of a card


class PredictionsView(QWidget):
    def __init__(self, state: WordsState) -> None:
        super().__init__()
        self.state, self.queries = state, tuple(state.mask_queries)
        self.note = OneLine("", "muted")
        self.models = Text("", "small")
        self.cards: list[PositionCard] = []
        self._row = layouts.row(layouts.STRETCH, spacing=3 * SPACE, margins=(0, 0, 0, 2 * SPACE))
        self.page = self._cards_page()
        self.empty = EmptyState(
            "eye-off",
            self.tr("Mask a word to see what the model predicts"),
            "",
            buttons.primary(self.tr("Mas&k a word"), state.mask_example, "eye-off"),
        )
        self.stack = ResultStack(self.page, self.empty)
        layouts.column((self.stack, 1), parent=self)
        state.explore.picked_changed.connect(self._on_picked)

    def show_state(self) -> None:
        state, query = self.state, self.state.mask_queries[0]
        content: QWidget | None = None
        if state.positions():
            self._show_positions(state.positions())
            content = self.page
        elif not query.is_waiting:
            self.empty.text.setText(self._mask_hint())
            content = self.empty
        self.stack.show_query(query, content)

    def _show_positions(self, positions: tuple[MaskedPosition, ...]) -> None:
        while len(self.cards) < min(len(positions), MAX_POSITIONS):
            card = PositionCard()
            self.cards.append(card)
            self._row.insertWidget(len(self.cards) - 1, card, 10, Qt.AlignmentFlag.AlignTop)
        explore, maximum = self.state.explore, self._scale(positions)
        for index, card in enumerate(self.cards):
            card.setVisible(index < len(positions))
            if index < len(positions):
                position = positions[index]
                card.set_picked(position.token == explore.picked)
                card.show_position(position, explore.first.mask, self._is_paired)
                card.bars.show_bars(self._bars(position), maximum, self._is_paired)
        self.note.setText(self._note(positions))
        self.models.setVisible(explore.is_compared)
        self.models.setText(self._models())

    @property
    def _is_paired(self) -> bool:
        """True if a second model predicts, too."""
        return self.state.explore.is_compared and can_predict(self.state.explore.second)

    def _bars(self, position: MaskedPosition) -> list[Bar]:
        """The bars of a position; the other model has none until its predictions are known."""
        if not self._is_paired:
            return prediction_bars(position)
        other = self.state.counterpart(position) or MaskedPosition(-1, (), None)
        return paired_bars(*self.state.explore.in_order(position, other))

    def _scale(self, positions: tuple[MaskedPosition, ...]) -> float:
        """Probability of a full bar, the same for all cards and all steps of a training."""
        shown = [
            value
            for position in positions
            for bar in self._bars(position)
            for value in (bar.probability, bar.second)
            if value is not None
        ]
        return 1.0 if self.state.explore.is_browsing_snapshots else scale_end(shown)

    def _models(self) -> str:
        explore = self.state.explore
        if not self._is_paired:
            text = self.tr("{0} has no MLM head: the predictions are those of {1}.")
            return text.format(explore.second.model_name, explore.first.model_name)
        names = explore.in_order(explore.first.model_name, explore.second.model_name)
        text = self.tr(
            "Upper bars: {0}. Lower bars: {1}. Last column: {2}, in percentage points. –: the "
            "model does not have this token, or tokenises this word differently."
        )
        return text.format(*names, explore.difference_title.lower())

    def _note(self, positions: tuple[MaskedPosition, ...]) -> str:
        if not positions:
            return self.tr("Running the model …")
        filled = self.state.mask_queries[0].get_answer(MaskFilled)
        assert filled is not None  # it has the positions
        parts = [self.tr("Computed in {0} ms.").format(max(1, round(filled.milliseconds)))]
        if len(positions) > MAX_POSITIONS:
            text = self.tr("The first {0} of {1} masked positions are shown.")
            parts.append(text.format(MAX_POSITIONS, len(positions)))
        elif len(positions) > 1 and not filled.causal:
            parts.append(
                self.tr("Each position is predicted independently, with all others masked.")
            )
        if filled.causal:
            parts.append(
                self.tr(
                    "This model is left-to-right (causal): it predicts each token from the "
                    "tokens before it."
                )
            )
        return " ".join(parts)

    def _on_picked(self, picked: int) -> None:
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
        return layouts.page(self.models, (self.area, 1), self.note)

    def _mask_hint(self) -> str:
        return self.tr(
            "Double-click a word above, or move to it with the arrow keys and press "
            "Enter. Do the same to unmask it. You can also type {0} in the text."
        ).format(self.state.explore.first.mask)

    def figure(self) -> Figure | None:
        """Figure of the exact answers; None until they arrive."""
        exact = [query.require_exact() for query in self.state.mask_queries]  # requests each
        if not all(exact):
            return None
        positions, explore = self.state.positions()[:MAX_POSITIONS], self.state.explore
        if not positions:
            return None
        columns, rows, maximum = [], list[list[object]](), self._scale(self.state.positions())
        for position in positions:
            typed = position.actual.label if position.actual else ""
            title = f"{position.token + 1} {typed or explore.first.mask}"
            bars = self._bars(position)
            columns.append((token_text(title), bars))
            for bar in bars:
                second = [bar.second] if self._is_paired else []
                row = [position.token + 1, typed, bar.label, bar.probability, *second]
                rows.append([*row, PRECISIONS["float32"]])
        header = [
            self.tr("position"),
            self.tr("typed"),
            self.tr("prediction"),
            self.tr("probability"),
        ]
        caption = self.tr(
            "Probability of the top predictions at each masked position, bars from 0 to {0}."
        ).format(numbers.percent(maximum, 0))
        if self._is_paired:
            titles = explore.in_order(*explore.side_titles)
            header[-1:] = [f"{header[-1]}, {title.lower()}" for title in titles]
            caption += f" {self._models()}"
        header.append(self.tr("precision"))
        return bars_figure(
            columns,
            "predictions",
            self.tr("Predictions for masked words"),
            f"{caption} {source(explore)}",
            Table(tuple(header), rows),
            maximum=maximum,
            is_paired=self._is_paired,
        )


class PositionCard(Card):
    def __init__(self) -> None:
        super().__init__("", padding=4 * SPACE)
        self.setMinimumWidth(px(MIN_WIDTH))
        self.setMaximumWidth(px(MAX_WIDTH))
        self.head = OneLine("", "strong")
        self.verdict = OneLine("", "muted")
        self.bars = ProbabilityBars(self.tr("Predictions"))
        self.body.setSpacing(SPACE)
        for widget in (self.head, self.verdict, self.bars):
            self.body.addWidget(widget)

    def show_position(self, position: MaskedPosition, mask: str, is_compared: bool) -> None:
        """Show the heading of a position; its bars are separate."""
        actual = position.actual
        if actual is None:
            self.head.setText(mask)
            self.verdict.setText(self.tr("Token {0}").format(position.token + 1))
        else:
            self.head.setText(f"“{token_text(actual.label)}”")
            self.verdict.setText(self._verdict(position))
        names = self.tr("Predictions"), self.tr("Predictions of two models")
        self.bars.setAccessibleName(names[is_compared])

    def _verdict(self, position: MaskedPosition) -> str:
        assert position.actual is not None
        probability = percentage(position.actual.probability)
        if position.rank == 1:
            return self.tr("Token {0}: top prediction, {1}").format(position.token + 1, probability)
        text = self.tr("Token {0}: rank {1}, {2}")
        return text.format(position.token + 1, numbers.count(position.rank), probability)


def paired_bars(before: MaskedPosition, after: MaskedPosition) -> list[Bar]:
    """The top predictions of both models by the larger probability, and the actual token."""
    pair = before, after
    probabilities = [
        {item.label: item.probability for item in (*p.requested, *p.predictions)} for p in pair
    ]
    for known, position in zip(probabilities, pair, strict=True):
        if position.actual is not None:
            known[position.actual.label] = position.actual.probability
    best = {item.label: 0.0 for p in pair for item in p.predictions[:TOP_K]}
    typed = next((p.actual.label for p in pair if p.actual is not None), None)
    if typed is not None:
        best[typed] = 0.0
    order = sorted(best, key=lambda label: -max(known.get(label, 0.0) for known in probabilities))
    top = order[:TOP_K] + [label for label in order[TOP_K:] if label == typed]
    first, second = probabilities
    return [Bar(name, first.get(name), name == typed, second=second.get(name)) for name in top]


def prediction_bars(position: MaskedPosition) -> list[Bar]:
    """The rows of a card; the actual token is emphasised, at its rank or below the others."""
    bars = [
        Bar(item.label, item.probability, rank == position.rank)
        for rank, item in enumerate(position.predictions[:TOP_K], start=1)
    ]
    actual = position.actual
    if actual is not None and not 0 < position.rank <= TOP_K:
        bars.append(Bar(actual.label, actual.probability, emphasised=True, apart=True))
    return bars
