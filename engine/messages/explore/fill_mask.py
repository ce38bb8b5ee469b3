"""Predictions at masked positions."""

from typing import ClassVar, Literal

from pydantic import Field

from engine.messages.explore.text import (
    LabelProbability,
    PreciseAnswer,
    PreciseQuestion,
    Prediction,
    Token,
)
from engine.messages.question import Answer


class MaskFilled(PreciseAnswer):
    """A prediction for each masked position."""

    kind: Literal["mask_filled"] = "mask_filled"
    tokens: tuple[Token, ...]
    truncated: bool = Field(False, description="The text was longer than the model allows.")
    predictions: tuple[Prediction, ...]
    actual: tuple[LabelProbability, ...] = Field(
        (),
        description=(
            "For each prediction, the token that was typed there and its probability; an empty "
            "label where [MASK] was typed."
        ),
    )
    ranks: tuple[int, ...] = Field(
        (), description="For each of `actual`, its rank among all tokens, from 1; 0 for [MASK]."
    )
    requested: tuple[tuple[LabelProbability, ...], ...] = Field(
        (), description="For each prediction, the requested tokens that the vocabulary has."
    )
    causal: bool = Field(
        False,
        description=(
            "The model is left-to-right: each token is predicted from earlier ones only, and "
            "a masked position shows its top prediction to the next."
        ),
    )
    milliseconds: float = 0


class FillMask(PreciseQuestion):
    """Predict the tokens at the masked positions."""

    answered_by: ClassVar[type[Answer]] = MaskFilled
    kind: Literal["fill_mask"] = "fill_mask"
    top: int = 10
    requested: tuple[str, ...] = Field(
        (), description="Further tokens to score, such as the predictions of a second model."
    )
