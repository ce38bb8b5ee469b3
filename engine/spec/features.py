"""Vectors of a network that stays as it is, read by a small network that is trained instead."""

from pathlib import Path
from typing import Literal

from pydantic import Field

from engine.spec import Spec

FINE_TUNED, LAYER_SWEEP = "fine-tuned", "layer bench"
Vectors = Literal[
    "fine-tuned",
    "embeddings",
    "second-to-last",
    "last",
    "sum of last four",
    "concatenation of last four",
    "sum of all",
    "learned mix",
    "one layer",
    "layer bench",
]
PAPER: tuple[Vectors, ...] = (  # the rows of the layer bench: the paper's six, and fine-tuning
    "embeddings",
    "second-to-last",
    "last",
    "sum of last four",
    "concatenation of last four",
    "sum of all",
    "fine-tuned",
)


class Features(Spec):
    """The feature-based use of a model (Devlin et al. 2019, §5.3)."""

    vectors: Vectors = Field(
        "fine-tuned",
        title="What is trained",
        description=(
            "Fine-tuned trains the model itself. Otherwise it stays as it is, and a small network "
            "learns to read these vectors of it, which are computed once. The layer bench does the "
            "paper's six choices and fine-tuning, a run for each, and puts them side by side."
        ),
    )
    layer: int = Field(
        1,
        ge=0,
        le=1000,
        title="Layer",
        description="Which one, where it is one layer: 1 is the lowest, 0 the embeddings.",
    )
    probe: Literal["bilstm", "linear"] = Field(
        "bilstm",
        title="Reader",
        description=(
            "What reads the vectors: an LSTM of two layers in both directions with a linear layer "
            "on it, as in the paper, or the linear layer alone."
        ),
    )
    probe_size: int = Field(
        768,
        ge=2,
        le=8192,
        multiple_of=2,
        title="Width of the LSTM",
        description="Of both directions together; 768 in the paper.",
    )
    pooling: Literal["mean", "first"] = Field(
        "mean",
        title="Vector of a text",
        description=(
            "Where a text as a whole is judged: the mean of what was read at its tokens, or what "
            "was read at the first, [CLS]."
        ),
    )
    learning_rate: float = Field(
        1e-3,
        gt=0,
        le=10,
        title="Rate of the reader",
        description="The highest rate of the reader, which begins fresh and learns faster.",
    )
    epochs: float = Field(
        10,
        gt=0,
        le=10_000,
        title="Epochs of the reader",
        description="How often the reader sees every training example.",
    )
    cache: Path | None = Field(
        None,
        title="Folder of the vectors",
        description="Where they are kept and found again; safe to delete. Empty: in the run.",
    )

    def plain(self) -> "Features":
        """The reader itself, without how it is trained and where its vectors lie."""
        usual = {name: Features.model_fields[name].default for name in ("learning_rate", "epochs")}
        return self.model_copy(update={**usual, "cache": None})

    @property
    def trains_probe(self) -> bool:
        """Whether a reader is trained, and not the model."""
        return self.vectors not in (FINE_TUNED, LAYER_SWEEP)
