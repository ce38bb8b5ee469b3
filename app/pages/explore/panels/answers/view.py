"""What a fine-tuned model says of the text, updated while typing."""

from collections.abc import Callable

from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget

from app.pages.explore.panel import Panel
from app.pages.explore.panels.answers.answer import AnswerInPassage
from app.pages.explore.panels.answers.choices import Choices
from app.pages.explore.panels.answers.classes import Classes
from app.pages.explore.panels.answers.face import Face
from app.pages.explore.panels.answers.labels import Labels
from app.pages.explore.panels.answers.number import Number
from app.pages.explore.panels.answers.state import AnswersState
from app.pages.explore.panels.answers.tags import TagsInText
from app.theme import SPACE
from app.widgets.page import EmptyState, scrolling
from app.widgets.text import Text
from engine.spec.task import HeadKind

FACES: dict[HeadKind, Callable[[AnswersState], Face]] = {
    "classes": Classes,
    "tags": TagsInText,
    "answer": AnswerInPassage,
    "labels": Labels,
    "number": Number,
    "choices": Choices,
}
ASKING: tuple[HeadKind, ...] = ("choices",)  # whose faces ask for more than the text


class AnswersView(Panel):
    """Shows an AnswersState with the face that the model's head has."""

    def __init__(self, state: AnswersState, parent: QWidget | None = None) -> None:
        super().__init__((state.asking,), parent)
        self._state = state
        self.faces: dict[HeadKind, Face] = {}
        self._areas: dict[HeadKind, QWidget] = {}
        self.waiting = Text(self.tr("Asking the model …"), "muted")
        self.problem = EmptyState("circle-alert", self.tr("No answer"), "")
        self.stack = QStackedWidget()
        self.stack.addWidget(self.waiting)
        self.stack.addWidget(self.problem)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 3 * SPACE, 0, 0)
        column.addWidget(self.stack)
        state.changed.connect(self.show_state)
        self.show_state()

    def show_state(self) -> None:
        """Bring everything in line with the state."""
        refusal, answer = self._state.asking.refusal, self._state.answer
        if refusal is not None:
            self.problem.title.setText(refusal.problem)
            self.problem.text.setText(refusal.advice)
            self.stack.setCurrentWidget(self.problem)
        elif answer is None and self._state.study.task_head in ASKING and not self._state.waits:
            head = self._state.study.task_head
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
