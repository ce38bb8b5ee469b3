"""What a fine-tuned model says of the text, updated while typing."""

from collections.abc import Callable
from functools import partial

from PySide6.QtWidgets import QHBoxLayout, QStackedWidget, QVBoxLayout, QWidget

from app.notices import Notices
from app.pages.explore.panel import Panel
from app.pages.explore.panels.predictions.answer import AnswerInPassage
from app.pages.explore.panels.predictions.choices import Choices
from app.pages.explore.panels.predictions.classes import Classes
from app.pages.explore.panels.predictions.face import Face
from app.pages.explore.panels.predictions.figure import differences, figure_of
from app.pages.explore.panels.predictions.labels import Labels
from app.pages.explore.panels.predictions.number import Number
from app.pages.explore.panels.predictions.state import PredictionsState
from app.pages.explore.panels.predictions.tags import TagsInText
from app.theme import SPACE
from app.widgets.figure_menu import FigureButton
from app.widgets.page import EmptyState, scrolling
from app.widgets.text import OneLine, Text
from engine.spec.task import HeadKind

FACES: dict[HeadKind, Callable[[PredictionsState], Face]] = {
    "classes": Classes,
    "tags": TagsInText,
    "answer": AnswerInPassage,
    "labels": Labels,
    "number": Number,
    "choices": Choices,
}
ASKING: tuple[HeadKind, ...] = ("choices",)  # whose faces ask for more than the text


class PredictionsView(Panel):
    """What the model says, beside it what a second one says, and how the two differ."""

    def __init__(
        self,
        states: tuple[PredictionsState, PredictionsState],
        notices: Notices,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__([state.query for state in states], parent)
        self._states = states
        self.sides = (OneSide(states[0]), OneSide(states[1]))
        self.titles = (OneLine("", "strong"), OneLine("", "strong"))
        self.difference = Text("", "muted")
        self.keep: list[FigureButton] = []
        columns = QHBoxLayout()
        columns.setSpacing(4 * SPACE)
        for state, side, title in zip(states, self.sides, self.titles, strict=True):
            keep = FigureButton(partial(figure_of, state), notices)
            keep.offer_on(side)
            head = QHBoxLayout()
            head.addWidget(title, 1)
            head.addStretch()
            head.addWidget(keep)
            part = QVBoxLayout()
            part.setSpacing(SPACE)
            part.addLayout(head)
            part.addWidget(side, 1)
            columns.addLayout(part, 1)
            self.keep.append(keep)
            state.changed.connect(self.show_state)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, SPACE, 0, 0)
        column.addLayout(columns, 1)
        column.addWidget(self.difference)
        states[0].study.sides_changed.connect(self.show_state)
        states[0].study.model_changed.connect(self.show_state)
        self.show_state()

    def show_state(self) -> None:
        """Whether there is a second side, and how it differs."""
        first, second = self._states
        head = second.side.task_head
        compared = first.study.is_compared and head is not None and head not in ASKING
        for state, title in zip(self._states, self.titles, strict=True):
            title.setText(state.side.model.name if state.side.model is not None else "")
            title.setVisible(compared)
        self.sides[1].setVisible(compared)
        self.keep[1].setVisible(compared)
        self.difference.setVisible(first.study.is_compared)
        self.difference.setText(self._difference(compared))

    def _difference(self, compared: bool) -> str:
        first, second = self._states
        if not first.study.is_compared:
            return ""
        if not compared:
            return self.tr("The second model has no predictions to compare with these.")
        if first.answer is None or second.answer is None:
            return ""
        found = differences(first.answer, second.answer)
        if not found:
            return self.tr("The predictions of these two tasks cannot be compared.")
        return self.tr("Second minus first: {0}.").format(", ".join(found))


class OneSide(QWidget):
    """Shows an PredictionsState with the face that the model's head has."""

    def __init__(self, state: PredictionsState, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._state = state
        self.faces: dict[HeadKind, Face] = {}
        self._areas: dict[HeadKind, QWidget] = {}
        self.waiting = Text(self.tr("Running the model …"), "muted")
        self.problem = EmptyState("circle-alert", self.tr("No result"), "")
        self.stack = QStackedWidget()
        self.stack.addWidget(self.waiting)
        self.stack.addWidget(self.problem)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.stack)
        state.changed.connect(self.show_state)
        self.show_state()

    def show_state(self) -> None:
        """Bring everything in line with the state."""
        refusal, answer = self._state.query.refusal, self._state.answer
        if refusal is not None:
            self.problem.title.setText(refusal.problem)
            self.problem.text.setText(refusal.advice)
            self.stack.setCurrentWidget(self.problem)
        elif answer is None and self._state.side.task_head in ASKING and not self._state.waits:
            head = self._state.side.task_head
            assert head is not None
            self._face(head).show_nothing()
            self.stack.setCurrentWidget(self._areas[head])
        elif answer is None:
            self.stack.setCurrentWidget(self.waiting)
        else:
            self._face(answer.head).show_answer(answer)
            self.stack.setCurrentWidget(self._areas[answer.head])

    def _face(self, head: HeadKind) -> Face:
        if head not in self.faces:
            self.faces[head] = FACES[head](self._state)
            self._areas[head] = scrolling(self.faces[head])
            self.stack.addWidget(self._areas[head])
        return self.faces[head]
