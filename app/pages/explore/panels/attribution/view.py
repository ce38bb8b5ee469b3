"""Word effects, their faithfulness and edits of the text."""

from collections.abc import Sequence
from functools import partial

import numpy as np
from PySide6.QtCore import QSize, QSizeF
from PySide6.QtGui import QPainter, QResizeEvent
from PySide6.QtWidgets import QLineEdit, QSizePolicy, QWidget

from app.notices import Notices
from app.pages.explore.captions import source
from app.pages.explore.choice_box import ChoiceBox
from app.pages.explore.panel import MakePanel, Panel, PanelContext, PanelDescription
from app.pages.explore.panels.attribution.edits import EditsState, EditsView
from app.pages.explore.panels.attribution.faithfulness import FaithfulnessState, FaithfulnessView
from app.pages.explore.panels.attribution.state import ENDS, Choice, has_target
from app.pages.explore.state import TYPING_PAUSE_MS, ExploreState
from app.pages.explore.word_effects import WordEffectsState
from app.resources import mono_font
from app.theme import SPACE, print_color, px
from app.timers import debounced
from app.translation import in_language, marked, tr
from app.widgets import layouts
from app.widgets.charts.figure import Figure, Table, print_font
from app.widgets.charts.figure_menu import FigureButton
from app.widgets.page import scrolling
from app.widgets.text.chips import token_text
from app.widgets.text.labels import OneLine, Text, visible
from app.widgets.text.numbers import count, decimal, percent
from app.widgets.text.word_effects import MAX_WORDS, WordRow, flow_words, paint_words, tint_effects
from app.widgets.text.wrapping import WrapArea
from engine.messages.explore.attribution import Attribute, Attributed, Baseline, Method

MIN_WORDS_HEIGHT = 20 * SPACE  # px; longer texts scroll
MASK = "mask"  # box entry for the prediction at a mask

METHODS: dict[Method, str] = {
    "occlusion": marked("Occlusion"),
    "integrated_gradients": marked("Integrated gradients"),
    "input_x_gradient": marked("Gradient × input"),
    "rollout": marked("Attention rollout (not an explanation)"),
}
BASELINES: dict[Baseline, str] = {
    "mask": marked("Baseline: [MASK]"),
    "pad": marked("Baseline: [PAD]"),
    "zero": marked("Baseline: zero vectors"),
}

FIGURE_WIDTH = 760  # px


def panel() -> PanelDescription:
    title = tr("Attributions")
    return PanelDescription(
        "attribution", title, icon="flag", help="attribution", make=_make, is_offered=_has_logits
    )


def _make(context: PanelContext) -> MakePanel:
    explore, explorer = context.explore, context.explorer
    choice = Choice(explore)
    states = tuple(WordEffectsState(explore, explorer, choice.question, side) for side in (0, 1))
    for state in states:
        choice.changed.connect(state.query.invalidate)
        explore.picked_changed.connect(state.query.invalidate)
    faithfulness = FaithfulnessState(states[0], explorer)
    edits = EditsState(states[0], choice, explorer, context.home)
    return lambda: AttributionView(states, choice, faithfulness, edits, context.notices)


def _has_logits(explore: ExploreState) -> bool:
    return explore.first.has_head("mlm") or has_target(explore.first)


class AttributionView(Panel):
    def __init__(
        self,
        states: Sequence[WordEffectsState],
        choice: Choice,
        faithfulness: FaithfulnessState,
        edits: EditsState,
        notices: Notices,
    ) -> None:
        queries = [*(state.query for state in states), faithfulness.query, edits.query]
        super().__init__(queries)
        self._states, self.explore = states, choice.explore
        self.controls = Controls(choice)
        self.sides = tuple(OneSide(state, choice, notices) for state in states)
        self.faithfulness = FaithfulnessView(faithfulness)
        self.edits = EditsView(edits)
        lower = layouts.row((self.edits, 3), (self.faithfulness, 2), spacing=6 * SPACE)
        layouts.column(
            self.controls,
            *self.sides,
            (lower, 1),
            parent=self,
            spacing=2 * SPACE,
            margins=(0, SPACE, 0, 0),
        )
        self.explore.sides_changed.connect(self.show_state)
        self.explore.model_changed.connect(self.show_state)
        self.show_state()

    def show_state(self) -> None:
        self.sides[1].setVisible(self.explore.is_compared)
        for side in self.sides:
            side.show_state()


class Controls(WrapArea):
    def __init__(self, choice: Choice) -> None:
        super().__init__()
        self._choice = choice
        self.target = ChoiceBox(self.tr("Target to explain"))
        self.against = ChoiceBox(self.tr("Compared with"))
        self.method = ChoiceBox(
            self.tr("Method"), [(key, in_language(title)) for key, title in METHODS.items()]
        )
        self.baseline = ChoiceBox(
            self.tr("Baseline of the path"),
            [(key, in_language(title)) for key, title in BASELINES.items()],
        )
        for box in (self.target, self.against, self.method, self.baseline):
            box.setMaximumWidth(px(47 * SPACE))
        self.token, self.other = QLineEdit(), QLineEdit()
        self.token.setAccessibleName(self.tr("Token to explain"))
        self.token.setPlaceholderText(self.tr("top prediction"))
        self.other.setAccessibleName(self.tr("Token to compare with"))
        self.other.setPlaceholderText(self.tr("rather than …"))
        for line in (self.token, self.other):
            line.setFixedWidth(px(30 * SPACE))
        target_label = Text(self.tr("Ex&plain"), "strong", wraps=False)
        target_label.setBuddy(self.target)
        self.add(target_label, self.target, self.token)
        self.against_part = self.add(
            Text(self.tr("rather than"), "muted", wraps=False), self.against
        )
        self.other_part = self.add(self.other)
        method_label = Text(self.tr("&by"), "muted", wraps=False)
        method_label.setBuddy(self.method)
        self.add(method_label, self.method)
        self.baseline_part = self.add(self.baseline)
        self._pause = debounced(self, 2 * TYPING_PAUSE_MS, self._on_typed)
        self.target.chosen.connect(self._on_target)
        self.against.chosen.connect(lambda label: choice.set(against=label))
        self.method.chosen.connect(lambda method: choice.set(method=method))
        self.baseline.chosen.connect(lambda baseline: choice.set(baseline=baseline))
        for line in (self.token, self.other):
            line.textEdited.connect(lambda _: self._pause.start())
            line.returnPressed.connect(self._on_typed)
        choice.changed.connect(self.show_state)
        choice.explore.model_changed.connect(self.show_state)
        self.show_state()

    def _on_target(self, target: str) -> None:
        choice, side = self._choice, self._choice.explore.first
        choice.request_mask(target == MASK)
        if target == MASK:
            return
        if choice.finds_spans(side):
            choice.set(end=target.removeprefix("="))
        elif side.labels:
            choice.explore.choose_label(target.removeprefix("="))

    def _on_typed(self) -> None:
        self._pause.stop()
        self._choice.set(token=self.token.text(), against=self.other.text())

    def show_state(self) -> None:
        choice = self._choice
        side = choice.explore.first
        explains_mask = choice.explains_mask(side)
        self.target.show_entries(self._targets())
        labels = [(label, visible(label)) for label in side.labels]
        self.against.show_entries([("", self.tr("nothing")), *labels])
        self.target.choose(self._target())
        self.against.choose(choice.against)
        self.method.choose(choice.method)
        self.baseline.choose(choice.baseline)
        finds_spans = choice.finds_spans(side)
        self.token.setVisible(explains_mask)
        self.other_part.setVisible(explains_mask)
        self.against_part.setVisible(not explains_mask and len(side.labels) > 1 and not finds_spans)
        self.baseline_part.setVisible(choice.method == "integrated_gradients")
        if explains_mask and not self._pause.isActive():
            for line, text in ((self.token, choice.token), (self.other, choice.against)):
                if line.text().strip() != text:
                    line.setText(text)

    def _target(self) -> str:
        choice, explore = self._choice, self._choice.explore
        side = explore.both[0]
        if choice.explains_mask(side):
            return MASK
        if choice.finds_spans(side):
            return f"={choice.end}"
        return f"={explore.label or ''}"

    def _targets(self) -> list[tuple[str, str]]:
        """Keys and titles of the possible targets; keys of classes begin with “=”."""
        choice = self._choice
        side = choice.explore.both[0]
        targets: list[tuple[str, str]] = []
        if has_target(side):
            if choice.finds_spans(side):
                titles = (self.tr("the start of the answer"), self.tr("the end of the answer"))
                targets += [(f"={end}", title) for end, title in zip(ENDS, titles, strict=True)]
            elif side.labels:
                targets.append(("=", self.tr("the prediction")))
                targets += [(f"={label}", visible(label)) for label in side.labels]
            else:
                targets.append(("=", self.tr("the predicted number")))
        if side.has_head("mlm"):
            targets.append((MASK, self.tr("the token at a mask")))
        return targets


class OneSide(QWidget):
    def __init__(self, state: WordEffectsState, choice: Choice, notices: Notices) -> None:
        super().__init__()
        self._state, self._choice = state, choice
        self.title = OneLine("", "strong")
        self.figure_button = FigureButton(partial(make_figure, state), notices)
        self.words = WordRow(self.tr("Words and their effects"), selectable=True)
        self.note = Text("", "small")
        self.figure_button.offer_on(self.words)
        self.area = scrolling(self.words)
        head = layouts.row((self.title, 1), self.figure_button)
        layouts.column(head, (self.area, 1), self.note, parent=self, spacing=SPACE)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self.words.word_picked.connect(self._on_word)
        state.changed.connect(self.show_state)
        state.explore.picked_changed.connect(lambda _: self.show_state())
        self.show_state()

    def _on_word(self, index: int) -> None:
        token = self._token(index)
        if token >= 0:
            explore = self._state.explore
            explore.pick(explore.from_side(self._state.side.index, token))

    def _token(self, index: int) -> int:
        """First token of a displayed word, or -1."""
        side, words = self._state.side, self._state.words
        if index >= len(words):
            return -1
        word = words[index]
        return next(
            (
                n
                for n, token in enumerate(side.tokens)
                if not token.special and (token.segment, token.start) == (word.segment, word.start)
            ),
            -1,
        )

    def show_state(self) -> None:
        state = self._state
        answer = state.answer
        words = tint_effects(state.words, largest_effect(state))
        self.words.show_words(words, self._picked(answer))
        self._fit()
        self.title.setText(self._title(answer))
        self.note.setText(self._note(answer))
        self.figure_button.refresh()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        needed = self.words.heightForWidth(max(1, self.area.viewport().width()))
        self.area.setMinimumHeight(min(needed, MIN_WORDS_HEIGHT))
        self.area.setMaximumHeight(max(1, needed))

    def _picked(self, answer: Attributed | None) -> int:
        explore, side = self._state.explore, self._state.side
        picked = explore.on_side(side.index, explore.picked)
        if answer is None or not 0 <= picked < len(side.tokens):
            return -1
        token = side.tokens[picked]
        return next(
            (
                n
                for n, word in enumerate(answer.words)
                if word.segment == token.segment and word.start <= token.start < word.end
            ),
            -1,
        )

    def _title(self, answer: Attributed | None) -> str:
        state, question = self._state, self._state.answered_question
        text = explained_text(answer, question.head) if answer is not None and question else ""
        model = state.side.model
        if state.explore.is_compared and model is not None:
            text = f"{model.name} · {text}" if text else model.name
        return text

    def _note(self, answer: Attributed | None) -> str:
        state, question = self._state, self._state.answered_question
        if state.query.problem:
            return state.query.problem
        if state.question is None:
            if self._choice.explains_mask(state.side):
                return self.tr("Double-click a word above to mask it and explain its prediction.")
            return ""
        if answer is None or question is None:
            return self.tr("Running the model …")
        if not answer.words:
            return self.tr("There are no words to attribute the prediction to.")
        if answer.next is not None:
            return self.tr("{0} of {1} computed …").format(count(answer.done), count(answer.points))
        text = note(answer, question)
        if len(answer.words) > MAX_WORDS:
            text += " " + self.tr("The first %Ln word(s) are shown.", "", MAX_WORDS)
        return text


def largest_effect(state: WordEffectsState) -> float:
    """The effect with the strongest tint; 0 without effects."""
    question = state.answered_question
    largest = max((abs(word.effect) for word in state.words), default=0.0)
    if question is None:
        return largest
    return state.explore.running_max(f"attributions {question.method}", largest)


def explained_text(answer: Attributed, head: str) -> str:
    """Name and value of the logit, e.g. Logit of “good” rather than “bad”: 1.234."""
    shown = answer.explained
    score = decimal(shown.score, 3)
    if not shown.label:
        return tr("Predicted number: {0}").format(score)
    label = token_text(shown.label)
    token = ""
    if shown.position is not None and head == "task":
        token = token_text(answer.tokens[shown.position].text)
    if shown.against:
        against = token_text(shown.against)
        if token:
            return tr("Logit of “{0}” rather than “{1}” at “{2}”: {3}").format(
                label, against, token, score
            )
        return tr("Logit of “{0}” rather than “{1}”: {2}").format(label, against, score)
    if token:
        return tr("Logit of “{0}” at “{1}”: {2}").format(label, token, score)
    return tr("Logit of “{0}”: {1}").format(label, score)


def note(answer: Attributed, question: Attribute) -> str:
    """Meaning of the numbers and how reliable they are."""
    others = decimal(answer.others, 3)
    match question.method:
        case "occlusion":
            return tr(
                "Fall of the logit, or of the number, when the word is replaced by [MASK]: "
                "above 0, the word supports it; below 0, it opposes it."
            )
        case "rollout":
            return tr(
                "Attention rollout: the fraction of each token that attention passes on, "
                "if half of every vector comes from the residual connection. Not an "
                "explanation: no sign, and the same for every class. Special tokens: {0}."
            ).format(others)
        case "input_x_gradient":
            return tr(
                "Token embedding × gradient, summed over the tokens of a word: above 0, "
                "the word supports the logit; below 0, it opposes it. Special and masked "
                "tokens: {0}. Valid for very small changes only."
            ).format(others)
        case "integrated_gradients":
            return _path_note(answer)


def _path_note(answer: Attributed) -> str:
    assert answer.baseline_score is not None and answer.difference is not None
    change = answer.explained.score - answer.baseline_score
    error = percent(abs(answer.difference / change), 2) if change else "–"
    return tr(
        "The effects sum to {0}. From the baseline ({1}) to the text ({2}) the logit changes by "
        "{3}: the sum differs by {4} with {5} points on the path."
    ).format(
        decimal(sum(answer.effects), 3),
        decimal(answer.baseline_score, 3),
        decimal(answer.explained.score, 3),
        decimal(change, 3),
        error,
        answer.points,
    )


def make_figure(state: WordEffectsState) -> Figure | None:
    """Figure of the effects of one side; None until all are computed."""
    answer, question = state.answer, state.answered_question
    if answer is None or question is None or not state.is_complete or not answer.words:
        return None
    words = tint_effects(answer.words, largest_effect(state))
    word_font = mono_font()
    word_font.setPixelSize(13)
    fonts = word_font, print_font(10)
    boxes = flow_words(words, FIGURE_WIDTH, fonts)

    def paint(painter: QPainter, _size: QSizeF) -> None:
        paint_words(painter, words, boxes, print_color, fonts)

    method = in_language(METHODS[question.method])
    return Figure(
        name=f"attributions-{question.method.replace('_', '-')}",
        title=f"{state.side.model_name}: {explained_text(answer, question.head)} · {method}",
        caption=f"{note(answer, question)} {source(state.explore, state.side.index)}",
        size=QSize(FIGURE_WIDTH, round(boxes[-1].bottom()) + 2),
        paint=paint,
        array=np.array([word.effect for word in answer.words], dtype=np.float32),
        table=lambda: make_table(answer),
    )


def make_table(answer: Attributed) -> Table:
    """One row per word, then per token if the method scores tokens; counted from 1."""
    rows: list[tuple[object, ...]] = [
        ("word", n, word.text, word.segment, word.effect)
        for n, word in enumerate(answer.words, start=1)
    ]
    if answer.effects:
        rows += [
            ("token", n, token.text, token.segment, effect)
            for n, (token, effect) in enumerate(
                zip(answer.tokens, answer.effects, strict=True), start=1
            )
        ]
    return Table(("of", "number", "text", "segment", "effect"), rows)
