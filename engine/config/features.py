"""Feature extraction: a small probe is trained on the vectors of a frozen network."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from engine.config import Spec
from engine.config.fields import setting

FINE_TUNED, CONTRASTIVE, LAYER_SWEEP = "fine-tuned", "contrastive", "layer sweep"
Vectors = Literal[
    "fine-tuned",
    "contrastive",
    "embeddings",
    "second-to-last",
    "last",
    "sum of last four",
    "concatenation of last four",
    "sum of all",
    "learned mix",
    "one layer",
    "layer sweep",
]
# the rows of the layer sweep: the paper's six, and fine-tuning
PAPER_VECTORS: tuple[Vectors, ...] = (
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
        title="Fine-tuning or feature extraction",
        description=(
            "Fine-tuning trains the model itself. Contrastive fine-tuning, for few labels, trains "
            "it with pairs of texts with equal or different labels, and fits a linear classifier. "
            "Feature extraction freezes it and trains a small probe on these hidden states, which "
            "are computed once. The layer probing sweep runs the paper's six choices and "
            "fine-tuning, one run each, and compares them."
        ),
    )
    layer: Annotated[int, Field(ge=0, le=1000)] = Field(
        1,
        title="Layer",
        description="Layer to use for “one layer”: 1 is the lowest, 0 the embeddings.",
    )
    probe: Literal["bilstm", "linear"] = Field(
        "bilstm",
        title="Probe",
        description=(
            "Classifier on the frozen features: a bidirectional LSTM of two layers followed by a "
            "linear layer, as in the paper, or only a linear layer."
        ),
    )
    probe_size: Annotated[int, Field(ge=2, le=8192, multiple_of=2)] = Field(
        768,
        title="Probe hidden size",
        description="Hidden size of the LSTM, both directions together; 768 in the paper.",
    )
    pooling: Literal["mean", "first"] = Field(
        "mean",
        title="Pooling",
        description=(
            "Pooling of the token vectors into one for the text: their mean, or that "
            "of the first token, [CLS]."
        ),
    )
    learning_rate: Annotated[float, Field(gt=0, le=10)] = Field(
        1e-3,
        title="Probe learning rate",
        description=(
            "Peak learning rate of the probe, which starts from random weights and learns faster."
        ),
    )
    epochs: Annotated[float, Field(gt=0, le=10_000)] = Field(
        10,
        title="Probe epochs",
        description="Number of passes over the training set for the probe.",
    )
    cache: Path | None = Field(
        None,
        title="Feature cache",
        description=(
            "Folder that keeps the computed features; safe to delete. Empty = in the run folder."
        ),
        json_schema_extra=setting("elsewhere"),
    )

    def probe_only(self) -> "Features":
        """The settings of the probe itself, without its training and caching."""
        reset = {name: Features.model_fields[name].default for name in ("learning_rate", "epochs")}
        return self.model_copy(update={**reset, "cache": None})

    @property
    def trains_probe(self) -> bool:
        """True if a probe is trained, not the model."""
        return self.vectors not in (FINE_TUNED, CONTRASTIVE, LAYER_SWEEP)
