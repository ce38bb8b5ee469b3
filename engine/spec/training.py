"""How it is learned, and on what machine."""

from typing import Literal

from pydantic import Field, field_validator

from engine.spec import Spec
from engine.spec.number_ranges import numbers_in


class TrainingSpec(Spec):
    """The paper's grid (appendix A.3) is batch 16 or 32, rate 5e-5, 3e-5 or 2e-5, epochs 2 to 4."""

    epochs: float = Field(
        3,
        gt=0,
        le=10_000,
        title="Epochs",
        description="How often every training example is seen.",
        json_schema_extra={"ticks": [2, 3, 4]},
    )
    steps: int = Field(
        0,
        ge=0,
        le=100_000_000,
        title="Steps",
        description="How many updates are made; 0 means that the epochs decide.",
    )
    batch_size: int = Field(
        32,
        ge=1,
        le=65_536,
        title="Batch",
        description="Examples in each update.",
        json_schema_extra={"ticks": [16, 32]},
    )
    learning_rate: float = Field(
        5e-5,
        gt=0,
        le=10,
        title="Learning rate",
        description="The highest rate, reached at the end of the warm-up.",
        json_schema_extra={"ticks": [5e-5, 3e-5, 2e-5]},
    )
    micro_batch_size: int = Field(
        0,
        ge=0,
        le=65_536,
        title="Micro-batch",
        description=(
            "Examples that are computed at once: fewer need less memory, and the update is still "
            "that of the whole batch. 0 means all."
        ),
    )
    gradient_checkpointing: bool = Field(
        False,
        title="Gradient checkpointing",
        description=(
            "Compute the inside of each layer again on the way back instead of keeping it: far "
            "less memory, about a third more time, and the very same weights."
        ),
    )
    warmup_ratio: float = Field(
        0.1,
        ge=0,
        le=1,
        title="Warm-up",
        description=(
            "Share of the steps in which the rate rises from zero; then it falls to zero in a line."
        ),
    )
    layer_lr_decay: float = Field(
        1.0,
        gt=0,
        le=1,
        title="Layer-wise decay",
        description=(
            "Each layer learns at this share of the rate of the layer above it; 1 means all alike."
        ),
    )
    frozen_layers: int = Field(
        0,
        ge=0,
        le=1000,
        title="Frozen layers",
        description=(
            "How many of the lowest layers stay as they are, and the embeddings with them; 0 means "
            "that everything is trained, as in the paper."
        ),
    )
    lora_rank: int = Field(
        0,
        ge=0,
        le=1024,
        title="LoRA rank",
        description=(
            "Train small adapters of this rank instead of the layers, and the head; checkpoints "
            "hold the sums, as usual. 8 is common, with a rate of about 2e-4; 0 trains the layers."
        ),
    )
    lora_alpha: float = Field(
        16,
        gt=0,
        le=10_000,
        title="LoRA alpha",
        description="An adapter is added alpha / rank times.",
    )
    lora_dropout: float = Field(
        0.0,
        ge=0,
        lt=1,
        title="LoRA dropout",
        description="Share of an adapter's inputs that are set to zero while training.",
    )
    lora_layers: Literal["query and value", "all"] = Field(
        "query and value",
        title="LoRA on",
        description=(
            "Which matrices of each layer get an adapter: those of query and value, as in Hu et "
            "al. 2021, or all six."
        ),
    )
    ema_decay: float = Field(
        0.0,
        ge=0,
        lt=1,
        title="Average of the weights",
        description=(
            "Judge and save a moving average of the weights that keeps this share of itself at "
            "each step, as 0.999; 0 means the weights themselves."
        ),
    )
    weight_decay: float = Field(
        0.01,
        ge=0,
        le=1,
        title="Weight decay",
        description="AdamW's decay of all weights but biases and layer norms.",
    )
    max_grad_norm: float = Field(
        1.0, ge=0, title="Gradient clip", description="Longest allowed gradient; 0 means no limit."
    )
    beta1: float = Field(
        0.9, ge=0, lt=1, title="Adam beta 1", description="Memory of the mean of gradients."
    )
    beta2: float = Field(
        0.999,
        ge=0,
        lt=1,
        title="Adam beta 2",
        description="Memory of the mean of squared gradients.",
    )
    epsilon: float = Field(
        1e-8,
        gt=0,
        lt=1,
        title="Adam epsilon",
        description="Keeps the update finite where gradients vanish.",
    )
    max_length: int = Field(
        128,
        ge=8,
        le=65_536,
        title="Longest input",
        description="Longer inputs are cut to this many word pieces.",
        json_schema_extra={"ticks": [64, 128, 256, 512]},
    )
    dropout: float | None = Field(
        None,
        ge=0,
        lt=1,
        title="Dropout",
        description=(
            "Overrides both dropout shares of the model while training; empty keeps the model's "
            "own."
        ),
    )
    seed: int = Field(
        42,
        ge=0,
        lt=2**63,
        title="Seed",
        description="Decides fresh weights, order of examples, masks and dropout.",
    )
    seeds: int = Field(
        1,
        ge=1,
        le=100,
        title="Seeds",
        description=(
            "Repeat the run with so many seeds, this one and those that follow it; their mean and "
            "spread are told together."
        ),
        json_schema_extra={"ticks": [1, 3, 5]},
    )
    train_fraction: float = Field(
        1.0,
        gt=0,
        le=1,
        title="Share of the data",
        description="Quick look: 0.1 trains on a tenth of the examples.",
    )
    evaluate_every: int = Field(
        0,
        ge=0,
        title="Evaluate every",
        description=(
            "Steps between two looks at the dev examples; 0 means at the end of each epoch, and "
            "at least four times in a run."
        ),
    )
    early_stopping_patience: int = Field(
        0,
        ge=0,
        le=100_000,
        title="Patience",
        description=(
            "The run ends when so many looks at the dev examples in a row found nothing better; 0 "
            "means that it goes on to its end."
        ),
    )
    save_every: int = Field(
        0,
        ge=0,
        title="Save every",
        description="Steps between two checkpoints; 0 means with each evaluation.",
    )
    keep: int = Field(
        2,
        ge=1,
        le=1000,
        title="Checkpoints kept",
        description="How many of the last checkpoints stay besides the best one.",
    )
    keep_every: int = Field(
        0,
        ge=0,
        le=100_000_000,
        title="Keep every",
        description=(
            "Checkpoints of steps that this number divides stay for good, where one is saved; 0 "
            "means none."
        ),
    )


class HardwareSpec(Spec):
    """Where a job runs."""

    device: Literal["auto", "cpu", "cuda", "mps"] = Field(
        "auto", title="Device", description="Auto takes a GPU where there is one."
    )
    precision: Literal["auto", "fp32", "bf16", "fp16"] = Field(
        "auto",
        title="Precision",
        description=(
            "bf16 is faster where the machine has it, and a little coarser; fp16 is for GPUs "
            "without it. Auto measures once what is faster; a run keeps what it began with."
        ),
    )
    threads: int = Field(
        0,
        ge=0,
        le=1024,
        title="Threads",
        description=(
            "Processor threads; 0 means what is measured once to be quickest, in most cases one "
            "for each core. A run repeats bit for bit only with the same number."
        ),
    )
    cores: str = Field(
        "",
        max_length=1000,
        title="Cores",
        description=(
            "The processor cores that the run keeps to, as 0-3,8; several processes share them. "
            "Empty means any. Not on macOS."
        ),
    )
    processes: int = Field(
        1,
        ge=1,
        le=1024,
        title="Processes",
        description=(
            "So many processes on this machine share each batch, one for each GPU; the update is "
            "still that of the whole batch. On processors alone, 1 is as fast in most cases."
        ),
        json_schema_extra={"ticks": [1, 2, 4, 8]},
    )
    sharded: bool = Field(
        False,
        title="Sharded weights",
        description=(
            "Spread the weights and what AdamW remembers over the processes, for a model that does "
            "not fit into one GPU; slower than a copy on each. Checkpoints look the same."
        ),
    )

    @field_validator("cores")
    @classmethod
    def _can_be_read(cls, cores: str) -> str:
        numbers_in(cores)
        return cores
