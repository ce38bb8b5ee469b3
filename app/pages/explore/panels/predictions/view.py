"""Predictions of a fine-tuned model, updated while typing."""

from functools import partial

from PySide6.QtWidgets import QComboBox, QWidget

from app.notices import Notices
from app.pages.explore.choice_box import ChoiceBox
from app.pages.explore.panel import MakePanel, Panel, PanelContext, PanelDescription, ResultStack
from app.pages.explore.panels.predictions.figure import differences, make_figure
from app.pages.explore.panels.predictions.state import DecidingState, PredictionsState, is_explained
from app.pages.explore.state import ExploreState
from app.tasks import view_class
from app.tasks.prediction_view import Given, PredictionView
from app.theme import SPACE
from app.translation import tr
from app.widgets import layouts
from app.widgets.charts.figure_menu import FigureButton
from app.widgets.page import scrolling
from app.widgets.text.labels import OneLine, Text, visible
from app.widgets.text.word_effects import Words

CHARACTERS = 22  # of a label in the closed box


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
    first, second = (PredictionsState(context.explore, context.explorer, side) for side in (0, 1))
    one, other = (DecidingState(context.explore, context.explorer, side) for side in (0, 1))
    return lambda: PredictionsView((first, second), (one, other), context.notices)


def _has_no_other_head(explore: ExploreState) -> bool:
    return explore.first.task is not None and not explore.first.has_head("mlm")


class PredictionsView(Panel):
    """Predictions of one or two models, and their differences."""

    def __init__(
        self,
        states: tuple[PredictionsState, PredictionsState],
        deciding: tuple[DecidingState, DecidingState],
        notices: Notices,
    ) -> None:
        super().__init__([state.query for state in (*states, *deciding)])
        self._states = states
        self.sides = (OneSide(states[0], deciding[0]), OneSide(states[1], deciding[1]))
        self.titles = (OneLine("", "strong"), OneLine("", "strong"))
        self.difference = Text("", "muted")
        self.figure_buttons: list[FigureButton] = []
        columns = layouts.row(spacing=4 * SPACE)
        for state, side, title in zip(states, self.sides, self.titles, strict=True):
            button = FigureButton(partial(make_figure, state), notices)
            button.offer_on(side)
            head = layouts.row((title, 1), layouts.STRETCH, button)
            part = layouts.column(head, (side, 1), spacing=SPACE)
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
            first.explore.is_compared and task is not None and not view_class(task).asks_for_choices
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
        changes = differences(first.answer, second.answer)
        if not changes:
            return self.tr("The predictions of these two tasks cannot be compared.")
        return self.tr("Second minus first: {0}.").format(", ".join(changes))


class OneSide(QWidget):
    """The prediction in the view of the model's task, and the words that decided."""

    def __init__(self, state: PredictionsState, deciding: DecidingState) -> None:
        super().__init__()
        self._state, self._deciding = state, deciding
        self.views: dict[str, PredictionView] = {}
        self.deciding: dict[str, DecidingView] = {}
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
            self._view(task).show_prediction(answer, self._given())
        elif self._state.lacks_choices:
            task = self._state.side.task
            assert task is not None
            self._view(task).show_nothing()
        self.stack.show_query(self._state.query, self._areas[task] if task is not None else None)

    def _given(self) -> Given:
        side = self._state.side
        return Given(side.text, side.pair, side.labels)

    def _view(self, task: str) -> PredictionView:
        if task not in self.views:
            view = self.views[task] = view_class(task)()
            view.show_choices(self._state.endings)
            view.choices_typed.connect(self._state.set_endings)
            content = QWidget()
            column = layouts.column(view, parent=content)
            if is_explained(task):
                self.deciding[task] = DecidingView(self._deciding)
                column.addWidget(self.deciding[task])
            column.addStretch(1)
            self._areas[task] = scrolling(content)
            self.stack.addWidget(self._areas[task])
        return self.views[task]


class DecidingView(QWidget):
    def __init__(self, state: DecidingState) -> None:
        super().__init__()
        self._state = state
        self.choice = ChoiceBox(self.tr("Class whose words are shown"))
        self.choice.setMinimumContentsLength(CHARACTERS)
        self.choice.setSizeAdjustPolicy(
            QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
        )
        self.choice.chosen.connect(state.explore.choose_label)
        self.words = Words(self.tr("Words and their effects"))
        self.note = Text("", "muted")
        head = layouts.row(
            Text(self.tr("Words that decided for"), "strong", wraps=False),
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
                (None, self.tr("Nothing (not computed)")),
                ("", self.tr("The prediction")),
                *((label, visible(label)) for label in state.side.labels),
            ]
        )
        self.choice.choose(state.label)
        self.words.show_words(state.words)
        self.words.setVisible(bool(state.words))
        self.note.setText(self._note())
        self.note.setVisible(bool(self.note.text()))

    def _note(self) -> str:
        if self._state.query.problem:
            return self._state.query.problem
        if not self._state.words:
            return ""
        if self._state.left:
            return self.tr("%Ln word(s) left …", "", self._state.left)
        if not self._state.explained:
            return self.tr(
                "By how much the number falls when the word is replaced by [MASK]: above 0 the "
                "word raises it, below 0 it lowers it."
            )
        return self.tr(
            "By how much the logit of “{0}” falls when the word is replaced by [MASK]: above 0 the "
            "word speaks for it, below 0 against it."
        ).format(self._state.explained)
