"""Training and hardware settings."""

from typing import Annotated, Literal

from pydantic import Field, field_validator

from engine.config import Spec
from engine.config.fields import setting
from engine.config.number_ranges import parse_ranges


class TrainingSpec(Spec):
    """The paper's grid (appendix A.3): batch size 16 or 32, 5e-5, 3e-5 or 2e-5, 2 to 4 epochs."""

    batch_size: Annotated[int, Field(ge=1, le=65_536)] = Field(
        32,
        title="Batch size",
        description="Examples per update.",
        json_schema_extra=setting("simple", branch=True, ticks=(16, 32)),
    )
    learning_rate: Annotated[float, Field(gt=0, le=10)] = Field(
        5e-5,
        title="Learning rate",
        description="Peak learning rate, reached at the end of the warm-up.",
        json_schema_extra=setting("simple", branch=True, ticks=(5e-5, 3e-5, 2e-5)),
    )
    epochs: Annotated[float, Field(gt=0, le=10_000)] = Field(
        3,
        title="Epochs",
        description="Number of passes over the training set.",
        json_schema_extra=setting("simple", branch=True, ticks=(2, 3, 4)),
    )
    seed: Annotated[int, Field(ge=0, lt=2**63)] = Field(
        42,
        title="Random seed",
        description="Random seed for initial weights, data order, masking and dropout.",
        json_schema_extra=setting("simple", branch=True),
    )
    seeds: Annotated[int, Field(ge=1, le=100)] = Field(
        1,
        title="Number of seeds",
        description=(
            "Repeat the run with several seeds (42, 43, …) and report mean and standard deviation."
        ),
        json_schema_extra=setting("simple", ticks=(1, 3, 5)),
    )
    max_length: Annotated[int, Field(ge=8, le=65_536)] = Field(
        128,
        title="Max. length (tokens)",
        description="Longer inputs are truncated to this many tokens.",
        json_schema_extra=setting(branch=True, ticks=(64, 128, 256, 512)),
    )
    steps: Annotated[int, Field(ge=0, le=100_000_000)] = Field(
        0,
        title="Steps",
        description="Number of updates; 0 = as many as the epochs need.",
        json_schema_extra=setting(branch=True),
    )
    train_fraction: Annotated[float, Field(gt=0, le=1)] = Field(
        1.0,
        title="Fraction of the training data",
        description="Train on this part of the training set only; 0.1 is a quick trial on 10 %.",
        json_schema_extra=setting(branch=True, fraction=True),
    )
    micro_batch_size: Annotated[int, Field(ge=0, le=65_536)] = Field(
        0,
        title="Micro-batch size (gradient accumulation)",
        description=(
            "Examples computed at once. Smaller values need less memory; gradients are "
            "accumulated, so the update is still that of the whole batch. 0 = the whole batch."
        ),
        json_schema_extra=setting(branch=True),
    )
    gradient_checkpointing: bool = Field(
        False,
        title="Gradient checkpointing",
        description=(
            "Recompute the activations of each layer in the backward pass instead of storing "
            "them: far less memory, about a third more time, identical weights."
        ),
        json_schema_extra=setting(branch=True),
    )
    warmup_ratio: Annotated[float, Field(ge=0, le=1)] = Field(
        0.1,
        title="Warm-up ratio",
        description="Fraction of the steps, rounded up, over which the learning rate rises from 0.",
        json_schema_extra=setting(branch=True, fraction=True),
    )
    lr_schedule: Literal["linear", "cosine", "constant"] = Field(
        "linear",
        title="Learning-rate schedule",
        description=(
            "Course of the learning rate after the warm-up: linear decay to 0, as in the paper; "
            "decay to 0 along half a cosine; or constant."
        ),
        json_schema_extra=setting(branch=True),
    )
    layer_lr_decay: Annotated[float, Field(gt=0, le=1)] = Field(
        1.0,
        title="Layer-wise learning-rate decay",
        description=(
            "Each layer learns at this multiple of the learning rate of the layer above it; 1 = "
            "the same rate for all layers."
        ),
        json_schema_extra=setting(branch=True),
    )
    frozen_layers: Annotated[int, Field(ge=0, le=1000)] = Field(
        0,
        title="Frozen layers",
        description=(
            "Number of lowest layers that are not trained, together with the embeddings; 0 = "
            "train everything, as in the paper."
        ),
        json_schema_extra=setting(branch=True),
    )
    cache_frozen_layers: bool = Field(
        False,
        title="Cache frozen layers",
        description=(
            "Compute the output of the frozen layers once and reuse it in every epoch, with their "
            "dropout turned off. Saves time, above all over several epochs. Needs disk space until "
            "the run has finished: 4 bytes × hidden size per token, 3 KB with a base model."
        ),
        json_schema_extra=setting(branch=True),
    )
    lora_rank: Annotated[int, Field(ge=0, le=1024)] = Field(
        0,
        title="LoRA rank",
        description=(
            "Train low-rank adapters of this rank, and the head, instead of all weights; "
            "checkpoints contain the merged weights. 8 is common, with a learning rate of about "
            "2e-4; 0 = off."
        ),
    )
    lora_alpha: float = Field(
        16, gt=0, le=10_000, title="LoRA alpha", description="Adapters are scaled by alpha / rank."
    )
    lora_dropout: Annotated[float, Field(ge=0, lt=1)] = Field(
        0.0,
        title="LoRA dropout",
        description="Dropout probability on the input of each adapter during training.",
        json_schema_extra=setting(fraction=True),
    )
    lora_layers: Literal["query and value", "all"] = Field(
        "query and value",
        title="LoRA target matrices",
        description=(
            "Matrices of each layer that get an adapter: query and value, as in Hu et al. 2021, "
            "or all six."
        ),
    )
    ema_decay: Annotated[float, Field(ge=0, lt=1)] = Field(
        0.0,
        title="Weight averaging (EMA decay)",
        description=(
            "Evaluate and save an exponential moving average of the weights with this decay, for "
            "example 0.999; 0 = off."
        ),
    )
    weight_decay: Annotated[float, Field(ge=0, le=1)] = Field(
        0.01,
        title="Weight decay",
        description="AdamW weight decay of all weights except biases and LayerNorm.",
        json_schema_extra=setting(branch=True),
    )
    max_grad_norm: Annotated[float, Field(ge=0)] = Field(
        1.0,
        title="Gradient clipping (max. norm)",
        description="Gradients with a larger norm are scaled down to it; 0 = no clipping.",
        json_schema_extra=setting(branch=True),
    )
    dropout: Annotated[float | None, Field(ge=0, lt=1)] = Field(
        None,
        title="Dropout",
        description=(
            "Overrides both dropout probabilities of the model during training; empty = the "
            "model's own."
        ),
        json_schema_extra=setting(branch=True, fraction=True),
    )
    beta1: Annotated[float, Field(ge=0, lt=1)] = Field(
        0.9,
        title="Adam beta 1",
        description="Decay rate of the running mean of the gradients.",
        json_schema_extra=setting(branch=True),
    )
    beta2: Annotated[float, Field(ge=0, lt=1)] = Field(
        0.999,
        title="Adam beta 2",
        description="Decay rate of the running mean of the squared gradients.",
        json_schema_extra=setting(branch=True),
    )
    epsilon: Annotated[float, Field(gt=0, lt=1)] = Field(
        1e-8,
        title="Adam epsilon",
        description="Added to the denominator of the update for numerical stability.",
        json_schema_extra=setting(branch=True),
    )
    evaluate_every: Annotated[int, Field(ge=0)] = Field(
        0,
        title="Evaluate every N steps",
        description=(
            "Steps between two evaluations; 0 = at the end of each epoch, and at least four times "
            "per run."
        ),
        json_schema_extra=setting(branch=True),
    )
    best_metric: Annotated[str, Field(max_length=60)] = Field(
        "",
        title="Metric for the best checkpoint",
        description=(
            "Validation metric that decides which checkpoint is the best, and early stopping; of "
            "equal values, the lower loss decides. Empty = the usual one of the task."
        ),
        json_schema_extra=setting(offered=True),
    )
    early_stopping_patience: Annotated[int, Field(ge=0, le=100_000)] = Field(
        0,
        title="Early stopping: evaluations without improvement",
        description="Stop after this many evaluations without improvement; 0 = no early stopping.",
        json_schema_extra=setting(branch=True),
    )
    save_every: Annotated[int, Field(ge=0)] = Field(
        0,
        title="Save a checkpoint every N steps",
        description="Steps between two checkpoints; 0 = save with each evaluation.",
        json_schema_extra=setting(branch=True),
    )
    keep: Annotated[int, Field(ge=1, le=1000)] = Field(
        2,
        title="Checkpoints to keep",
        description="Number of latest checkpoints to keep, in addition to the best one.",
        json_schema_extra=setting(branch=True),
    )
    keep_every: Annotated[int, Field(ge=0, le=100_000_000)] = Field(
        0,
        title="Also keep every N-th step permanently",
        description=(
            "Checkpoints saved at a multiple of this many steps are never deleted automatically; "
            "0 = none."
        ),
        json_schema_extra=setting(branch=True),
    )
    snapshot_every: Annotated[int, Field(ge=0, le=100_000_000)] = Field(
        0,
        title="Snapshots of the weights every N steps",
        description=(
            "Save only the weights, in fp16, at steps 0, 1, 2, 4, … 512, at every N-th step after "
            "that and at the last one, so that Explore can show what was learned when; 0 = none."
        ),
        json_schema_extra=setting(branch=True),
    )


class HardwareSpec(Spec):
    """Device, precision and resources of a job."""

    device: Literal["auto", "cpu", "cuda", "mps"] = Field(
        "auto",
        title="Device",
        description="Automatic uses a GPU if there is one.",
        json_schema_extra=setting(branch=True),
    )
    precision: Literal["auto", "fp32", "bf16", "fp16"] = Field(
        "auto",
        title="Precision",
        description=(
            "bf16 is faster on hardware that supports it and slightly less precise; fp16 is for "
            "GPUs without bf16. Automatic measures once which is faster; a run keeps the precision "
            "it started with."
        ),
        json_schema_extra=setting(branch=True),
    )
    cuda_graphs: Literal["auto", "on", "off"] = Field(
        "auto",
        title="CUDA graphs",
        description=(
            "Launch all kernels of a forward and backward pass at once, on NVIDIA GPUs: faster "
            "where a step is small. Batches are padded to a few lengths. Automatic measures which "
            "is faster. Not with gradient checkpointing, cached layers, probes or several "
            "processes."
        ),
        json_schema_extra=setting(branch=True),
    )
    threads: Annotated[int, Field(ge=0, le=1024)] = Field(
        0,
        title="CPU threads",
        description=(
            "Number of threads; 0 = as many as were measured to be fastest on this machine, "
            "usually one per core. A run is reproducible bit for bit only with the same number."
        ),
        json_schema_extra=setting(branch=True),
    )
    cores: Annotated[str, Field(max_length=1000)] = Field(
        "",
        title="CPU cores",
        description=(
            "Cores to pin the run to, for example 0-3,8; several processes share them. Empty = any "
            "core. Not available on macOS."
        ),
        json_schema_extra=setting(branch=True),
    )
    processes: Annotated[int, Field(ge=1, le=1024)] = Field(
        1,
        title="Processes",
        description=(
            "Number of processes on this machine that share each batch (data parallelism), one per "
            "GPU; the update is still that of the whole batch. On the CPU, 1 is usually as fast."
        ),
        json_schema_extra=setting(branch=True, ticks=(1, 2, 4, 8)),
    )
    sharded: bool = Field(
        False,
        title="Sharded weights",
        description=(
            "Shard the weights and the optimiser state across the processes, for a model that does "
            "not fit on one GPU; slower than a full copy on each. Checkpoints are the same."
        ),
        json_schema_extra=setting(branch=True),
    )

    @field_validator("cores")
    @classmethod
    def _check_cores(cls, cores: str) -> str:
        parse_ranges(cores)
        return cores
