"""Evaluate a fine-tuned model on labelled rows, and baselines on the same rows."""

from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from engine.config.dataset import DataSource, SplitName
from engine.config.phrases import PhraseField
from engine.config.tasks.pretraining import Pretraining
from engine.messages.question import Answer, Question

Part = SplitName | Literal["file"]


class Evaluated(Answer):
    """The predictions are written to `file`.

    Args:
        metrics: of all rows together, by name; empty if the rows have no labels.
        looks: how often test rows of this data set have been scored; 0 for other rows.
        computed: precision; float32 is exact.
        notes: remarks about the rows of a file.
    """

    kind: Literal["evaluated"] = "evaluated"
    file: Path
    rows: int
    metrics: dict[str, float]
    looks: int = 0
    computed: str = "float32"
    notes: tuple[PhraseField, ...] = ()


class Evaluate(Question):
    """Predict the rows of a part of a data set, or all rows of a file, and store the predictions.

    The file appears complete in the folder `into`, named after its part. Scoring test rows is noted
    in the results folder that `into` is or belongs to.
    """

    answered_by: ClassVar[type[Answer]] = Evaluated
    kind: Literal["evaluate"] = "evaluate"
    checkpoint: Path
    data: DataSource
    part: Part = Field("validation", description="“file”: all rows of all parts.")
    into: Path
    model: str = Field(description="Name of the run or of the model.")
    source: str = Field("", description="Name of the data; empty: its own name.")
    step: int | None = None
    best_metric: str = Field("", description="The metric that chose it; empty: the default.")
    max_length: int | None = Field(None, description="None: the model's, at most 512.")
    batch_size: int = 32
    exact: bool = True
    pretraining: Pretraining | None = Field(
        None, description="Predict masked tokens, sampled by these settings; None: the task head."
    )
    seed: int = Field(0, description="Of the sampling; the run's seed gives its own rows.")


class BaselinesFitted(Answer):
    """The predictions of each baseline are written to a file."""

    kind: Literal["baselines_fitted"] = "baselines_fitted"
    files: tuple[Path, ...]


class FitBaselines(Question):
    """Fit simple models on the training rows, and store their predictions for a part.

    Their files appear in the folder `into`, each named after its baseline and the part.
    """

    answered_by: ClassVar[type[Answer]] = BaselinesFitted
    kind: Literal["fit_baselines"] = "fit_baselines"
    data: DataSource
    part: SplitName = "validation"
    into: Path
    task: str = Field(description="Kind of the task.")
    labels: tuple[str, ...] = Field((), description="The model's labels, in order; or empty.")
    source: str = Field("", description="Name of the data; empty: its own name.")
