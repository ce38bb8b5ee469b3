"""The logit lens: predictions after each layer."""

from typing import ClassVar, Literal

from pydantic import Field

from engine.messages import Message
from engine.messages.explore.pseudo_perplexity import TokenScore
from engine.messages.explore.text import Prediction, TextQuestion, Token
from engine.messages.question import Answer


class LensLayer(Message):
    """Predictions of the MLM head from the vectors after one layer, or from the embeddings."""

    predictions: tuple[Prediction, ...]
    actual: tuple[TokenScore | None, ...] = Field(
        description="What was typed at each position; None for a mask."
    )


class LensApplied(Answer):
    """The predictions at the embeddings and after each of L layers: L + 1 of `layers`.

    The MLM head was trained on the vectors after the last layer and is applied to the others
    unchanged (the “logit lens”, nostalgebraist 2020).
    """

    kind: Literal["lens_applied"] = "lens_applied"
    tokens: tuple[Token, ...]
    positions: tuple[int, ...]
    layers: tuple[LensLayer, ...]
    milliseconds: float = 0


class ApplyLens(TextQuestion):
    """Predict at these positions after each layer."""

    answered_by: ClassVar[type[Answer]] = LensApplied
    kind: Literal["apply_lens"] = "apply_lens"
    positions: tuple[int, ...]
    top: int = 5
