"""Predictions of a task head, and of the next-sentence head, for a text."""

from typing import ClassVar, Literal

from pydantic import Field

from engine.config.zero_shot import Described
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
    """A span of a text, in characters, with its probability and optional label."""

    text: str
    start: int
    end: int
    probability: float
    label: str = ""


class Passage(Message):
    """A window of a long text, in characters of its first or second text.

    `effect` is the fall of the predicted output if the passage is masked: of a class against the
    next one, of the predicted label, or of the number. `weight` is that of the pooling.
    """

    segment: int
    start: int
    end: int
    effect: float
    weight: float
    label: str = Field("", description="The prediction of this window alone.")
    value: float = Field(0.0, description="Its probability, or the number of this window alone.")


class Predicted(PreciseAnswer):
    """The prediction, in a form that depends on the task.

    Classes, labels: one entry of `predictions` ranks all of them, those in `predicted` first.
    Multiple choice: one entry of `predictions` ranks the choices.
    Regression: `value`. Token classification: `spans` in text order; every word if tags form none.
    Span classification: `spans` in text order, an outer one before those in it.
    Question answering: the first of `spans` is the answer in the second text, if `answered`;
    `value` is the probability of no answer.
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
    passages: tuple[Passage, ...] = Field(
        (), description="The windows of a long text, in its order; none if it is read at once."
    )
    answered: bool = True
    certainty: float | None = Field(
        None, description="The probability of the prediction, the smallest of several."
    )
    unsure_below: float = Field(0.0, description="The prediction is unsure below this certainty.")
    coverage: float | None = Field(
        None, description="The probability of prediction sets to have the true label."
    )
    prediction_set: tuple[str, ...] = Field(
        (), description="The labels of the prediction set, the most likely first; may be empty."
    )


class Predict(PreciseQuestion):
    """Predict with the task head of a fine-tuned model."""

    answered_by: ClassVar[type[Answer]] = Predicted
    kind: Literal["predict"] = "predict"
    endings: tuple[str, ...] = Field((), description="The choices, for multiple choice.")


class PredictByDescriptions(TextQuestion):
    """Choose among labels that were never trained, each described in words (zero-shot)."""

    answered_by: ClassVar[type[Answer]] = Predicted
    kind: Literal["predict_by_descriptions"] = "predict_by_descriptions"
    described: Described


class NextSentencePredicted(Answer):
    """The probability that the second text follows the first (Devlin et al. 2019, §3.1)."""

    kind: Literal["next_sentence_predicted"] = "next_sentence_predicted"
    probability: float


class PredictNextSentence(TextQuestion):
    """Predict if the second text follows the first."""

    answered_by: ClassVar[type[Answer]] = NextSentencePredicted
    kind: Literal["predict_next_sentence"] = "predict_next_sentence"
