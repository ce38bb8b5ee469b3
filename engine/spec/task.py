"""What is learned."""

from typing import Annotated, Literal

from pydantic import Field

from engine.spec import Spec


class Pretraining(Spec):
    """Masked words (Devlin et al. 2019, §3.1, task 1): some tokens are hidden and guessed."""

    kind: Literal["pretraining"] = "pretraining"
    chosen: float = Field(
        0.15,
        gt=0,
        lt=1,
        title="Masked share",
        description="Share of the tokens that are chosen to be guessed; 0.15 in the paper.",
    )
    masked: float = Field(
        0.8,
        ge=0,
        le=1,
        title="Shown as [MASK]",
        description="Of the chosen tokens, the share that is replaced by [MASK]; 0.8 in the paper.",
    )
    randomised: float = Field(
        0.1,
        ge=0,
        le=1,
        title="Shown as another word",
        description=(
            "Of the chosen tokens, the share that is replaced by a random piece; 0.1 in the "
            "paper. The rest stays as it is."
        ),
    )


class Classification(Spec):
    """One label for a sentence or a pair, from the vector of [CLS] (Devlin et al. 2019, §4.1)."""

    kind: Literal["classification"] = "classification"
    labels: tuple[str, ...] = Field(
        (),
        title="Labels",
        description=(
            "The classes in the order of their ids. Empty: all labels of the training rows, sorted."
        ),
    )


TaskSpec = Annotated[Pretraining | Classification, Field(discriminator="kind")]
