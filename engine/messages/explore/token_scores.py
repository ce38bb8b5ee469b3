"""Probability of each token of a text, also after each layer, and the perplexity of the text."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from engine.messages import Message
from engine.messages.explore.text import (
    AblationQuestion,
    LabelProbability,
    Prediction,
    TextQuestion,
    Token,
)
from engine.messages.question import Answer, PartAnswer


class TokenScore(Message):
    """The token at a position, predicted while only it is masked."""

    position: int
    log_probability: float = Field(description="Natural.")
    rank: int = Field(description="1: the model's top prediction.")
    top: LabelProbability = Field(description="The model's top prediction.")


class TokensScored(PartAnswer):
    """Some of the tokens, from left to right; `next` is where to continue, None at the end.

    A left-to-right model predicts each token from the earlier ones.
    """

    kind: Literal["tokens_scored"] = "tokens_scored"
    scores: tuple[TokenScore, ...]
    total: int = Field(description="Tokens to score in the whole text.")
    causal: bool = False


class ScoreTokens(AblationQuestion):
    """Score each token of the text.

    A long text is slow, so an answer covers some tokens and says where to continue.
    """

    answered_by: ClassVar[type[Answer]] = TokensScored
    kind: Literal["score_tokens"] = "score_tokens"
    checkpoint: Path
    text: str
    pair: str | None = None
    start: int = Field(0, ge=0, description="The first token without a score so far.")


class LensLayer(Message):
    """Predictions of the MLM head from the vectors after one layer, or from the embeddings."""

    predictions: tuple[Prediction, ...]
    actual: tuple[TokenScore | None, ...] = Field(
        description="The typed token at each position; None for a mask."
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


class ApplyLens(TextQuestion):
    """Predict at these positions after each layer."""

    answered_by: ClassVar[type[Answer]] = LensApplied
    kind: Literal["apply_lens"] = "apply_lens"
    positions: tuple[int, ...]
    top: int = 5


def perplexity(scores: Sequence[TokenScore]) -> float:
    """exp of minus the mean log-probability; NaN without tokens.

    If each token was masked in turn, it is the pseudo-perplexity (Salazar et al. 2020, §2.3).
    """
    if not scores:
        return math.nan
    return math.exp(-math.fsum(score.log_probability for score in scores) / len(scores))
