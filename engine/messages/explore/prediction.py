"""Predictions of a task head, and of the next-sentence head, for a text."""

from typing import ClassVar, Literal

from pydantic import Field

from engine.messages import Message
from engine.messages.explore.text import (
    PreciseAnswer,
    PreciseQuestion,
    Prediction,
    TextQuestion,
    Token,
)
from engine.messages.question import Answer


class SpanPrediction(Message):
    """A span of a text, in characters, its probability, and its label if it has one."""

    text: str
    start: int
    end: int
    probability: float
    label: str = ""


class Predicted(PreciseAnswer):
    """The prediction, in a form that depends on the task.

    In `predictions`, classes and labels have one entry over the whole input, with all of them:
    those in `predicted` first, then the most likely; choices have one with the endings. A number is
    in `value`. Tags give `spans` in their order, or every word if the tags form no spans. An answer
    is the first of `spans` in the second text if it was `answered`; `value` is then the probability
    of no answer.
    """

    kind: Literal["predicted"] = "predicted"
    task: str = Field(description="The kind of the task that the model was fine-tuned for.")
    tokens: tuple[Token, ...]
    truncated: bool = False
    predictions: tuple[Prediction, ...] = ()
    predicted: tuple[str, ...] = Field(
        (), description="The predicted class, or all predicted labels."
    )
    value: float | None = None
    range: tuple[float, float] | None = Field(
        None, description="Smallest and largest number of the training rows."
    )
    spans: tuple[SpanPrediction, ...] = ()
    answered: bool = True


class Predict(PreciseQuestion):
    """Predict with the task head of a fine-tuned model."""

    answered_by: ClassVar[type[Answer]] = Predicted
    kind: Literal["predict"] = "predict"
    endings: tuple[str, ...] = Field((), description="To choose from, for multiple choice.")


class NextSentencePredicted(Answer):
    """The probability that the second text follows the first (Devlin et al. 2019, §3.1)."""

    kind: Literal["next_sentence_predicted"] = "next_sentence_predicted"
    probability: float


class PredictNextSentence(TextQuestion):
    """Predict if the second text follows the first."""

    answered_by: ClassVar[type[Answer]] = NextSentencePredicted
    kind: Literal["predict_next_sentence"] = "predict_next_sentence"
