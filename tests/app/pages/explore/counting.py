"""A third-party panel that counts letters with its own kind of question."""

from functools import partial
from typing import Any, ClassVar, Literal

from PySide6.QtWidgets import QLabel, QVBoxLayout

from app.pages.explore.live_query import LiveQuery
from app.pages.explore.panel import MakePanel, Panel, PanelContext, PanelDescription
from engine.messages.explore.text import TextQuestion
from engine.messages.question import Answer


class LettersCounted(Answer):
    kind: Literal["letters_counted"] = "letters_counted"
    letters: int
    layers: int


class CountLetters(TextQuestion):
    """Number of letters of the text and of layers of the model."""

    answered_by: ClassVar[type[Answer]] = LettersCounted
    kind: Literal["count_letters"] = "count_letters"


class CountingView(Panel):
    def __init__(self, context: PanelContext) -> None:
        self.query = LiveQuery(
            context.explore, context.explorer, lambda side: side.question(CountLetters)
        )
        super().__init__([self.query])
        self.label = QLabel("")
        QVBoxLayout(self).addWidget(self.label)
        self.query.changed.connect(self.show_state)

    def show_state(self) -> None:
        answer = self.query.answer
        if isinstance(answer, LettersCounted):
            self.label.setText(f"{answer.letters} letters, {answer.layers} layers")


def panel() -> PanelDescription:
    return PanelDescription("counting", "Counting", "text", "tokens", _make)


def _make(context: PanelContext) -> MakePanel:
    return partial(CountingView, context)


def count(checkpoint: Any, question: CountLetters) -> LettersCounted:
    """The answer of the worker."""
    letters = sum(letter.isalpha() for letter in question.text)
    layers = checkpoint.network.spec.layers
    return LettersCounted(to=question.number, letters=letters, layers=layers)
