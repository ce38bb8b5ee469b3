"""A card for each hidden place: what is likely there, as bars."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QStackedWidget, QVBoxLayout, QWidget

from app.pages.explore.bars import Bar, Bars, chance
from app.pages.explore.chips import painted
from app.pages.explore.panel import Panel
from app.pages.explore.panels.words.state import MOST_PLACES, Place, WordsState
from app.theme import SPACE
from app.widgets import buttons
from app.widgets.page import Card, EmptyState
from app.widgets.text import OneLine

NARROWEST, WIDEST = 75 * SPACE, 110 * SPACE  # px of a card


class WordsView(Panel):
    """Signals:
    starter_wanted: the user wants a model that can guess words.
    """

    starter_wanted = Signal()

    def __init__(self, state: WordsState, parent: QWidget | None = None) -> None:
        super().__init__((state.asking,), parent)
        self._state = state
        self.note = OneLine("", "muted")
        self.unmask = buttons.quiet(self.tr("Show all words again"), state.study.unmask_all, "eye")
        self.cards: list[PlaceCard] = []
        self._row = QHBoxLayout()
        self._row.setContentsMargins(0, 0, 0, 2 * SPACE)
        self._row.setSpacing(3 * SPACE)
        self._row.addStretch(1)
        self.stack = QStackedWidget()
        self.stack.addWidget(self._places())
        self.nothing = EmptyState(
            "eye-off", self.tr("Hide a word, and see what the model expects in its place"), ""
        )
        self.stack.addWidget(self.nothing)
        self.stack.addWidget(self._no_head())
        self.problem = EmptyState("circle-alert", self.tr("No answer"), "")
        self.stack.addWidget(self.problem)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 3 * SPACE, 0, 0)
        column.setSpacing(2 * SPACE)
        column.addWidget(self.stack, 1)
        state.changed.connect(self.show_state)
        state.study.tokens_changed.connect(self.show_state)
        state.study.picked_changed.connect(self._on_picked)
        self.show_state()

    def show_state(self) -> None:
        """Bring everything in line with the state."""
        state, asking = self._state, self._state.asking
        if not state.can_guess:
            self.stack.setCurrentIndex(2)
        elif asking.refusal is not None:
            self.problem.title.setText(asking.refusal.problem)
            self.problem.text.setText(asking.refusal.advice)
            self.stack.setCurrentIndex(3)
        elif state.places or asking.is_waiting:
            self._show_places(state.places)
            self.stack.setCurrentIndex(0)
        else:
            self.nothing.text.setText(self._how_to_hide())
            self.stack.setCurrentIndex(1)

    def _show_places(self, places: tuple[Place, ...]) -> None:
        while len(self.cards) < min(len(places), MOST_PLACES):
            card = PlaceCard()
            self.cards.append(card)
            self._row.insertWidget(len(self.cards) - 1, card, 10, Qt.AlignmentFlag.AlignTop)
        study = self._state.study
        for number, card in enumerate(self.cards):
            card.setVisible(number < len(places))
            if number < len(places):
                card.show_place(places[number], places[number].token == study.picked, study.mask)
        self.unmask.setEnabled(bool(study.masked))
        self.note.setText(self._said(places))

    def _said(self, places: tuple[Place, ...]) -> str:
        if not places:
            return self.tr("Asking the model …")
        state = self._state
        parts = [self.tr("Answered in {0} ms.").format(max(1, round(self._state.milliseconds)))]
        if len(places) > MOST_PLACES:
            text = self.tr("The first {0} of {1} hidden places are shown.")
            parts.append(text.format(MOST_PLACES, len(places)))
        elif len(places) > 1 and not state.is_causal:
            parts.append(self.tr("Each place is guessed by itself, with all others hidden."))
        if state.is_causal:
            parts.append(self.tr("This model is left-to-right: it guesses from the words before."))
        return " ".join(parts)

    def _on_picked(self, picked: int) -> None:
        """The picked token's card is marked, and brought into sight."""
        for place, card in zip(self._state.places, self.cards, strict=False):
            card.set_picked(place.token == picked)
            if place.token == picked:
                self.area.ensureWidgetVisible(card, SPACE, 0)

    def _places(self) -> QWidget:
        inner = QWidget()
        inner.setProperty("bare", True)
        inner.setLayout(self._row)
        self.area = QScrollArea()
        self.area.setWidgetResizable(True)
        self.area.setFrameShape(QFrame.Shape.NoFrame)
        self.area.viewport().setAutoFillBackground(False)
        self.area.setAccessibleName(self.tr("Guesses"))
        self.area.setWidget(inner)
        foot = QHBoxLayout()
        foot.addWidget(self.note, 1)
        foot.addWidget(self.unmask)
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.area, 1)
        column.addLayout(foot)
        return page

    def _how_to_hide(self) -> str:
        return self.tr(
            "Double-click a word above, or move to it with the arrow keys and press Enter. "
            "The same again shows it. You can also type {0} in the text."
        ).format(self._state.study.mask)

    def _no_head(self) -> QWidget:
        return EmptyState(
            "message-circle-question-mark",
            self.tr("This model cannot guess words"),
            self.tr(
                "It has no head for masked words, as most fine-tuned models. "
                "Attention can be looked at all the same."
            ),
            buttons.primary(self.tr("Use the starter model"), self.starter_wanted.emit),
        )


class PlaceCard(Card):
    """One hidden place."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__("", parent, padding=4 * SPACE)
        self.setMinimumWidth(NARROWEST)
        self.setMaximumWidth(WIDEST)
        self.head = OneLine("", "strong")
        self.said = OneLine("", "muted")
        self.bars = Bars(self.tr("Likely pieces"))
        self.body.setSpacing(SPACE)
        for part in (self.head, self.said, self.bars):
            self.body.addWidget(part)

    def show_place(self, place: Place, picked: bool, mask: str) -> None:
        """Show a place; the actual piece stands out, at its rank or below the others."""
        self.set_picked(picked)
        actual = place.actual
        if actual is None:
            self.head.setText(mask)
            self.said.setText(self.tr("Token {0}").format(place.token + 1))
        else:
            self.head.setText(f"“{painted(actual.label)}”")
            self.said.setText(self._verdict(place))
        bars = [
            Bar(likely.label, likely.probability, number == place.rank)
            for number, likely in enumerate(place.likely, start=1)
        ]
        if actual is not None and not place.rank:
            bars.append(Bar(actual.label, actual.probability, emphasised=True, apart=True))
        self.bars.show_bars(bars)

    def _verdict(self, place: Place) -> str:
        assert place.actual is not None
        share = chance(place.actual.probability)
        if place.rank == 1:
            return self.tr("Token {0}: the model’s first guess, {1}").format(place.token + 1, share)
        if place.rank:
            text = self.tr("Token {0}: guess number {1}, {2}")
            return text.format(place.token + 1, place.rank, share)
        return self.tr("Token {0}: not among the guesses, {1}").format(place.token + 1, share)
