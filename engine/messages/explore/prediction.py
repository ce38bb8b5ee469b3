"""What a fine-tuned model predicts for a text."""

from typing import ClassVar, Literal

from pydantic import Field

from engine.messages import Message
from engine.messages.explore.text import PreciseAnswer, PreciseQuestion, Prediction, Token
from engine.messages.question import Answer


class SpanPrediction(Message):
    """A span of a text, in characters, how likely it is, and its label where it has one."""

    text: str
    start: int
    end: int
    probability: float
    label: str = ""


class Predicted(PreciseAnswer):
    """What is predicted, by the task.

    In `predictions`, classes and labels give one over the whole input, with all of them: those in
    `predicted` first, then the most likely; choices one, with the endings. A number stands in
    `value`. Tags give `spans`, in their order, or every word where they name no spans. An answer is
    the first of `spans` in the second text, if it was `answered`; `value` is then the probability
    that there is none.
    """

    kind: Literal["predicted"] = "predicted"
    task: str = Field(description="The kind of the task that the model was fine-tuned for.")
    tokens: tuple[Token, ...]
    cut: bool = False
    predictions: tuple[Prediction, ...] = ()
    predicted: tuple[str, ...] = Field(
        (), description="Of classes the predicted one, of labels all those that are."
    )
    value: float | None = None
    range: tuple[float, float] | None = Field(
        None, description="Smallest and largest number of the training rows."
    )
    spans: tuple[SpanPrediction, ...] = ()
    answered: bool = True


class Predict(PreciseQuestion):
    """What does a fine-tuned model predict, with the head that it has?"""

    answered_by: ClassVar[type[Answer]] = Predicted
    kind: Literal["predict"] = "predict"
    endings: tuple[str, ...] = Field((), description="To choose from, for multiple choice.")
