"""Base of all questions about models with disabled attention heads."""

from pathlib import Path

from pydantic import Field

from engine.messages.question import Question


class AblationQuestion(Question):
    """About a model of which some attention heads may be disabled.

    The output of such a head is replaced before the output matrix of the attention: by zero, or by
    its mean over texts, as `AverageHeads` computes it.
    """

    heads_off: tuple[tuple[int, int], ...] = Field(
        (), description="Layers and heads, from 0, that are switched off."
    )
    head_means: Path | None = Field(
        None, description="File with float32 [L, D], the means in their place; None: zero."
    )
