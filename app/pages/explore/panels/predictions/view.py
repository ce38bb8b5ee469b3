"""Predictions of a fine-tuned model, updated while typing."""

from collections.abc import Sequence
from functools import partial

import numpy as np
from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QComboBox, QWidget

from app.explorer import Explorer
from app.notices import Notices
from app.pages.explore.captions import source
from app.pages.explore.choice_box import ChoiceBox
from app.pages.explore.live_query import LiveQuery
from app.pages.explore.model_input import ModelInput, clean_text
from app.pages.explore.panel import MakePanel, Panel, PanelContext, PanelDescription, ResultStack
from app.pages.explore.state import ExploreState
from app.pages.explore.word_effects import WordEffectsState
from app.tasks import view_class
from app.tasks.prediction_view import PredictionInput, PredictionView
from app.theme import SPACE
from app.translation import tr
from app.widgets import layouts
from app.widgets.charts.bars import Bar, bars_figure
from app.widgets.charts.figure import Figure, Table
from app.widgets.charts.figure_menu import FigureButton
from app.widgets.page import scrolling
from app.widgets.screen import set_shown
from app.widgets.text.chips import token_text
from app.widgets.text.labels import OneLine, Text, visible
from app.widgets.text.numbers import decimal
from app.widgets.text.passages_view import PassagesView
from app.widgets.text.word_effects import WordRow, tint_effects
from engine.config.tasks import get_head
from engine.messages.explore.attribution import Attribute
from engine.messages.explore.prediction import Passage, Predict, Predicted
from engine.messages.explore.text import PRECISIONS

BOX_CHARACTERS = 22  # width of the closed box
FIGURE_WIDTH = 510  # px
MAX_DRAWN_ROWS = 100
MAX_DIFFERENCES = 5  # in a sentence


def panel() -> PanelDescription:
    title = tr("Task predictions")
    return PanelDescription(
        "predictions",
        title,
        icon="tags",
        help="task-predictions",
        make=_make,
        is_offered=lambda explore: explore.first.task is not None,
        is_best=_has_no_other_head,
    )


def _make(context: PanelContext) -> MakePanel:
    explore, explorer = context.explore, context.explorer
    first, second = (PredictionsState(explore, explorer, side) for side in (0, 1))

    def question(model_input: ModelInput) -> Attribute | None:
        label = explained_label(explore, model_input)
        if label is None or model_input.task is None or not can_be_explained(model_input.task):
            return None
        return model_input.question(Attribute, label=label)

    effects = [WordEffectsState(explore, explorer, question, side) for side in (0, 1)]
    for state in effects:
        explore.label_changed.connect(state.query.invalidate)
    return lambda: PredictionsView((first, second), effects, context.notices)


def _has_no_other_head(explore: ExploreState) -> bool:
    return explore.first.task is not None and not explore.first.has_head("mlm")


class PredictionsState(QObject):
    """The prediction of one side.

    Signals:
        changed: the answer, the error or the pending state changed.
    """

    changed = Signal()

    def __init__(self, explore: ExploreState, explorer: Explorer, side_index: int = 0) -> None:
        super().__init__(explore)
        self.explore, self.side = explore, explore.both[side_index]
        self.choices = _clean(explore.choices)  # for multiple choice
        self.query = LiveQuery(explore, explorer, self._question, side_index)
        self.query.changed.connect(self.changed)
        explore.choices_changed.connect(lambda: self.set_choices(explore.choices))

    @property
    def answer(self) -> Predicted | None:
        return self.query.get_answer(Predicted)

    @property
    def is_pending(self) -> bool:
        """True while an answer or the first question is pending."""
        return self.query.is_waiting or not self.explore.is_settled

    def set_choices(self, choices: tuple[str, ...]) -> None:
        """Set the choices; lone surrogates, which JSON cannot hold, are replaced."""
        clean = _clean(choices)
        if clean != self.choices:
            self.choices = clean
            self.query.ask()

    @property
    def lacks_choices(self) -> bool:
        """True if nothing is asked because fewer than two choices were typed."""
        task = self.side.task
        return task is not None and self._lacks_choices_for(task) and not self.is_pending

    def _lacks_choices_for(self, task: str) -> bool:
        return view_class(task).needs_choices and len(self.choices) < 2

    def _question(self, model_input: ModelInput) -> Predict | None:
        if model_input.task is None or self._lacks_choices_for(model_input.task):
            return None
        return model_input.question(Predict, endings=self.choices, exact=self.explore.is_exact)


def _clean(choices: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(clean_text(choice) for choice in choices)


def explained_label(explore: ExploreState, model_input: ModelInput) -> str | None:
    """The class to explain; “” (the prediction) if the model lacks it; None: nothing."""
    return explore.label if explore.label is None or explore.label in model_input.labels else ""


def can_be_explained(task: str) -> bool:
    """True if the task gives the whole text one score, which words can influence."""
    head = get_head(task)
    return not head.reads_tokens and not head.pools and not view_class(task).needs_choices


class PredictionsView(Panel):
    """Predictions of one or two models, and their differences."""

    def __init__(
        self,
        states: tuple[PredictionsState, PredictionsState],
        effects: Sequence[WordEffectsState],
        notices: Notices,
    ) -> None:
        super().__init__([*(state.query for state in states), *(state.query for state in effects)])
        self._states = states
        self.sides = (PredictionPane(states[0], effects[0]), PredictionPane(states[1], effects[1]))
        self.titles = (OneLine("", "strong"), OneLine("", "strong"))
        self.difference = Text("", "muted")
        self.figure_buttons: list[FigureButton] = []
        columns = layouts.row(spacing=4 * SPACE)
        for state, pane, title in zip(states, self.sides, self.titles, strict=True):
            button = FigureButton(partial(make_figure, state), notices)
            button.offer_on(pane)
            head = layouts.row((title, 1), layouts.STRETCH, button)
            part = layouts.column(head, (pane, 1), spacing=SPACE)
            columns.addLayout(part, 1)
            self.figure_buttons.append(button)
            state.changed.connect(self.show_state)
        layouts.column((columns, 1), self.difference, parent=self, margins=(0, SPACE, 0, 0))
        states[0].explore.sides_changed.connect(self.show_state)
        states[0].explore.model_changed.connect(self.show_state)
        self.show_state()

    def show_state(self) -> None:
        first, second = self._states
        task = second.side.task
        compared = (
            first.explore.is_compared and task is not None and not view_class(task).needs_choices
        )
        for state, title in zip(self._states, self.titles, strict=True):
            title.setText(state.side.model_name)
            title.setVisible(compared)
        self.sides[1].setVisible(compared)
        self.figure_buttons[1].setVisible(compared)
        for button in self.figure_buttons:
            button.refresh()
        self.difference.setVisible(first.explore.is_compared)
        self.difference.setText(self._difference(compared))

    def _difference(self, compared: bool) -> str:
        first, second = self._states
        if not first.explore.is_compared:
            return ""
        if not compared:
            return self.tr("The second model has no predictions to compare with these.")
        if first.answer is None or second.answer is None:
            return ""
        changes = differences(*first.explore.in_order(first.answer, second.answer))
        if not changes:
            return self.tr("The predictions of these two tasks cannot be compared.")
        return f"{first.explore.difference_title}: {', '.join(changes)}."


class PredictionPane(QWidget):
    """The prediction, shown by the view of the model's task, and the effect of each word."""

    def __init__(self, state: PredictionsState, effects: WordEffectsState) -> None:
        super().__init__()
        self._state, self._effects = state, effects
        self.views: dict[str, PredictionView] = {}
        self.effects_views: dict[str, EffectsView] = {}
        self.passages_views: dict[str, PassagesView] = {}
        self._passages: tuple[Passage, ...] = ()
        self._passage = 0  # index of the chosen one
        self._areas: dict[str, QWidget] = {}
        self.stack = ResultStack(waiting=Text(self.tr("Running the model …"), "muted"))
        layouts.column(self.stack, parent=self)
        state.changed.connect(self.show_state)
        state.explore.choices_changed.connect(self._show_choices)
        self.show_state()

    def _show_choices(self) -> None:
        for view in self.views.values():
            view.show_choices(self._state.explore.choices)

    def show_state(self) -> None:
        answer, task = self._state.answer, None
        if answer is not None:
            task = answer.task
            self._view(task).show_prediction(answer, self._input())
            self._show_passages(answer)
        elif self._state.lacks_choices:
            task = self._state.side.task
            assert task is not None
            self._view(task).show_empty()
        self.stack.show_query(self._state.query, self._areas[task] if task is not None else None)

    def _show_passages(self, answer: Predicted) -> None:
        """Show the passages of a long text; first the one with the largest effect."""
        passages = self.passages_views[answer.task]
        set_shown(passages, bool(answer.passages))
        if not answer.passages:
            return
        if answer.passages != self._passages:
            effects = [passage.effect for passage in answer.passages]
            self._passages, self._passage = answer.passages, effects.index(max(effects))
        side = self._state.side
        passages.show_passages((side.text, side.pair or ""), self._passages, self._passage)

    def _choose_passage(self, index: int) -> None:
        self._passage = index
        self.show_state()

    def _input(self) -> PredictionInput:
        side = self._state.side
        return PredictionInput(side.text, side.pair, side.labels)

    def _view(self, task: str) -> PredictionView:
        if task not in self.views:
            view = self.views[task] = view_class(task)()
            view.show_choices(self._state.choices)
            view.choices_typed.connect(self._state.set_choices)
            content = QWidget()
            passages = self.passages_views[task] = PassagesView()
            passages.chosen.connect(self._choose_passage)
            column = layouts.column(view, passages, parent=content)
            if can_be_explained(task):
                self.effects_views[task] = EffectsView(self._effects)
                column.addWidget(self.effects_views[task])
            column.addStretch(1)
            self._areas[task] = scrolling(content)
            self.stack.addWidget(self._areas[task])
        return self.views[task]


class EffectsView(QWidget):
    def __init__(self, state: WordEffectsState) -> None:
        super().__init__()
        self._state = state
        self.choice = ChoiceBox(self.tr("Class to explain"))
        self.choice.setMinimumContentsLength(BOX_CHARACTERS)
        self.choice.setSizeAdjustPolicy(
            QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
        )
        self.choice.chosen.connect(state.explore.choose_label)
        self.words = WordRow(self.tr("Words and their effects"))
        self.note = Text("", "muted")
        head = layouts.row(
            Text(self.tr("Attributions for"), "strong", wraps=False),
            self.choice,
            layouts.STRETCH,
            spacing=2 * SPACE,
        )
        layouts.column(
            head,
            self.words,
            self.note,
            parent=self,
            spacing=2 * SPACE,
            margins=(0, 2 * SPACE, 0, 0),
        )
        state.changed.connect(self.show_state)
        state.explore.label_changed.connect(self.show_state)
        self.show_state()

    def show_state(self) -> None:
        state = self._state
        self.choice.show_entries(
            [
                (None, self.tr("None (not computed)")),
                ("", self.tr("The prediction")),
                *((label, visible(label)) for label in state.side.labels),
            ]
        )
        self.choice.choose(explained_label(state.explore, state.side))
        self.words.show_words(tint_effects(state.words))
        self.words.setVisible(bool(state.words))
        self.note.setText(self._note())
        self.note.setVisible(bool(self.note.text()))

    def _note(self) -> str:
        answer = self._state.answer
        if self._state.query.problem or answer is None or not answer.words:
            return self._state.query.problem
        if answer.done < answer.points:
            return self.tr("%Ln word(s) left …", "", answer.points - answer.done)
        if not answer.explained.label:
            return self.tr(
                "Fall of the number when the word is replaced by [MASK]: above 0, the word "
                "raises it; below 0, it lowers it."
            )
        return self.tr(
            "Fall of the logit of “{0}” when the word is replaced by [MASK]: above 0, "
            "the word supports it; below 0, it opposes it."
        ).format(answer.explained.label)


def make_figure(state: PredictionsState) -> Figure | None:
    """The exact answer of one side as bars; None until there is one."""
    if not state.query.require_exact():  # the exact answer was just requested
        return None
    answer = state.answer
    if answer is None:
        return None
    rows = prediction_rows(answer)
    bars = [
        Bar(token_text(name), value) if 0 <= value <= 1 else Bar(name, None, text=decimal(value))
        for name, value in rows[:MAX_DRAWN_ROWS]
    ]
    source_text = source(state.explore, state.side.index)
    return bars_figure(
        [("", bars)],
        "task-predictions",
        tr("{0}: predictions").format(state.side.model_name),
        tr("Probabilities from 0 to 1; numbers are not scaled. {0}").format(source_text),
        _table(answer, rows),
        np.array([value for _, value in rows], dtype=np.float32),
        width=FIGURE_WIDTH,
    )


def prediction_rows(answer: Predicted) -> list[tuple[str, float]]:
    """Every label, or span of the text, with its probability; or a single number."""
    if answer.predictions:
        return [(item.label, item.probability) for item in answer.predictions[0].ranked]
    rows = [(f"{span.text} {span.label}".strip(), span.probability) for span in answer.spans]
    if answer.value is not None:
        finds_spans = get_head(answer.task).finds_spans
        rows.append((tr("no answer") if finds_spans else tr("value"), answer.value))
    return rows


def differences(first: Predicted, second: Predicted) -> list[str]:
    """Changes from the first to the second answer by shared label, largest first."""
    if get_head(first.task) != get_head(second.task):
        return []
    before, after = dict(prediction_rows(first)), dict(prediction_rows(second))
    common = [name for name in before if name in after]
    common.sort(key=lambda name: -abs(after[name] - before[name]))
    is_number = not first.predictions and get_head(first.task).outputs == 1
    texts = []
    for name in common[:MAX_DIFFERENCES]:
        change = after[name] - before[name]
        points = tr("{0} points").format(f"{100 * change:+.1f}")
        texts.append(f"{token_text(name)} {f'{change:+.3f}' if is_number else points}")
    return texts


def _table(answer: Predicted, rows: list[tuple[str, float]]) -> Table:
    precision = PRECISIONS[answer.computed]
    if answer.predictions or not answer.spans:
        return Table(("label", "value", "precision"), [(*row, precision) for row in rows])
    return Table(
        ("text", "label", "start", "end", "probability", "precision"),
        [
            (span.text, span.label, span.start, span.end, span.probability, precision)
            for span in answer.spans
        ],
    )
