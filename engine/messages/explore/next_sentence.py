"""Next-sentence prediction."""

from typing import ClassVar, Literal

from engine.messages.explore.text import TextQuestion
from engine.messages.question import Answer


class NextSentencePredicted(Answer):
    """The probability that the second text follows the first (Devlin et al. 2019, §3.1)."""

    kind: Literal["next_sentence_predicted"] = "next_sentence_predicted"
    probability: float
    milliseconds: float = 0


class PredictNextSentence(TextQuestion):
    """Predict if the second text follows the first."""

    answered_by: ClassVar[type[Answer]] = NextSentencePredicted
    kind: Literal["predict_next_sentence"] = "predict_next_sentence"
