"""A job: all that was asked, under one name. It never changes."""

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from engine.spec import Spec
from engine.spec.dataset import DataSource
from engine.spec.features import FINE_TUNED, Features, Vectors
from engine.spec.model import BertSpec
from engine.spec.tasks import AnyTask
from engine.spec.training import HardwareSpec, TrainingSpec


class FromScratch(Spec):
    """Fresh weights, and a vocabulary: a published one, or one that is made from the data."""

    kind: Literal["scratch"] = "scratch"
    model: BertSpec
    tokenizer: Path | None = Field(
        None,
        title="Vocabulary",
        description=(
            "A folder or vocab.txt; empty: a new one of the model's size is trained from the data."
        ),
    )
    lowercase: bool = Field(
        True, title="Lower case", description="Whether a new vocabulary ignores case and accents."
    )
    warm_init: bool = Field(
        False,
        title="Head start",
        description=(
            "Begin with word vectors from counts and with heads that look at the nearest words, "
            "instead of chance alone. Not in the paper; it saves a small budget many steps."
        ),
    )


class FromCheckpoint(Spec):
    """The weights and the vocabulary of a checkpoint folder."""

    kind: Literal["checkpoint"] = "checkpoint"
    path: Path


BaseModelSource = Annotated[FromScratch | FromCheckpoint, Field(discriminator="kind")]


LONGEST_NAME = 200  # characters


class RunGroup(Spec):
    """Which job of several runs this one is a part of; written by the studio, not by users."""

    id: str = Field(min_length=1, description="The same in all parts, and in no others.")
    name: str = Field(description="Of the whole.")
    runs: int = Field(ge=1, description="How many parts there are.")
    vectors: tuple[Vectors, ...] = Field((), description="The rows of a layer sweep.")


class JobSpec(Spec):
    """Task, start, data, training and hardware under one name."""

    name: str = Field(min_length=1, max_length=LONGEST_NAME)
    task: AnyTask
    base_model: BaseModelSource
    data: DataSource
    training: TrainingSpec = TrainingSpec()
    features: Features = Features()
    hardware: HardwareSpec = HardwareSpec()
    group: RunGroup | None = None

    @model_validator(mode="after")
    def _task_fits_model(self) -> Self:
        """The settings of the task go together, and a new network has the direction it needs."""
        if problem := self.task.invalid():
            raise ValueError(problem)
        causal = self.task.causal
        if causal is None or not isinstance(self.base_model, FromScratch):
            return self
        if self.base_model.model.causal != causal:
            raise ValueError(
                f"this objective needs base_model.model.causal to be {str(causal).lower()}"
            )
        if causal and self.base_model.warm_init:
            raise ValueError("warm initialisation is for the objective mlm, not for clm")
        return self

    @model_validator(mode="after")
    def _vectors_have_a_model(self) -> Self:
        if self.features.vectors == FINE_TUNED:
            return self
        if isinstance(self.base_model, FromScratch) or self.task.is_pretraining:
            raise ValueError(
                "the vectors of a model can be read for a task on labels, from a checkpoint; set "
                "features.vectors to fine-tuned for all else"
            )
        if self.features.trains_probe and self.training.lora_rank:
            raise ValueError("a reader trains no adapters: set the LoRA rank to 0")
        return self

    @model_validator(mode="after")
    def _adapters_have_a_model(self) -> Self:
        if self.training.lora_rank and isinstance(self.base_model, FromScratch):
            raise ValueError(
                "LoRA adapts a model that has learned already: start from a checkpoint, or set the "
                "LoRA rank to 0"
            )
        return self

    @model_validator(mode="after")
    def _each_process_has_examples(self) -> Self:
        processes, batch = self.hardware.processes, self.training.batch_size
        if processes > batch:
            raise ValueError(
                f"a batch of {batch} cannot be shared by {processes} processes: give "
                "training.batch_size at least as many examples as there are processes"
            )
        if processes > 1 and self.hardware.device == "mps":
            raise ValueError("a Mac has one GPU: set hardware.processes to 1")
        return self

    @model_validator(mode="after")
    def _shards_are_whole_weights(self) -> Self:
        if not self.hardware.sharded:
            return self
        if self.hardware.processes == 1:
            raise ValueError(
                "weights are spread over several processes: set hardware.processes to 2 or more, "
                "or hardware.sharded to false"
            )
        reads = self.features.vectors != FINE_TUNED
        if self.training.ema_decay or self.training.lora_rank or reads:
            raise ValueError(
                "sharded weights are trained as they are: set training.ema_decay and "
                "training.lora_rank to 0 and features.vectors to fine-tuned, or hardware.sharded "
                "to false"
            )
        return self
