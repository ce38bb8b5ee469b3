"""Recommended settings for a job with their reasons, from a table of measurements.

The runs behind the table are in `benchmarks/defaults`, and a test compares the two. Other
situations have the values of the paper, from the task's info.
"""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol, get_args

from engine.config.features import Features
from engine.config.task import TaskInfo
from engine.config.training import TrainingSpec
from engine.phrases import Phrase, phrase

Recipe = Literal["paper", "quick"]
RECIPES: tuple[Recipe, ...] = get_args(Recipe)
Regime = Literal[
    "fine-tuning",
    "contrastive",
    "LoRA",
    "from scratch",
    "pre-training",
    "pre-training from scratch",
]


class Rate(NamedTuple):
    """A learning rate for networks with at most `max_weights` weights in their layers.

    A rate that was not measured is interpolated between measured rates and the paper's.
    """

    max_weights: float
    rate: float
    is_measured: bool = True


class Epochs(NamedTuple):
    """A number of epochs for at most `max_rows` training rows."""

    max_rows: float
    epochs: int


TINY, SMALL, LARGEST = 1e6, 5e6, 15e6  # weights: up to 2 layers of 128, 4 of 256, 6 of 384
# Larger networks have the paper's values.
RATES: dict[Regime, tuple[Rate, ...]] = {
    "fine-tuning": (Rate(TINY, 5e-4), Rate(SMALL, 3e-4), Rate(LARGEST, 1e-4)),
    "contrastive": (Rate(LARGEST, 1e-4),),  # of pairs; see benchmarks/few
    "LoRA": (Rate(TINY, 3e-3), Rate(SMALL, 1e-3), Rate(LARGEST, 1e-3, is_measured=False)),
    "from scratch": (Rate(TINY, 5e-4), Rate(LARGEST, 3e-4, is_measured=False)),
    "pre-training": (Rate(TINY, 1e-3), Rate(SMALL, 3e-4), Rate(LARGEST, 1e-4, is_measured=False)),
    "pre-training from scratch": (Rate(TINY, 2e-3), Rate(LARGEST, 5e-4, is_measured=False)),
}
EPOCHS: dict[Regime, tuple[Epochs, ...]] = {
    "fine-tuning": (Epochs(1_500, 10), Epochs(10_000, 5), Epochs(math.inf, 3)),
    "contrastive": (Epochs(32, 20), Epochs(128, 10), Epochs(512, 3), Epochs(math.inf, 1)),
    "LoRA": (Epochs(1_500, 10), Epochs(math.inf, 5)),
    "from scratch": (Epochs(1_500, 10), Epochs(math.inf, 5)),
    "pre-training": (Epochs(math.inf, 1),),
    "pre-training from scratch": (Epochs(math.inf, 3),),
}


class Quick(NamedTuple):
    """The changes of the recipe “quick” against “paper”, in fine-tuning a size of network.

    The figures against “paper” are those of `python -m benchmarks score`, medians and ranges.
    """

    rate: float
    batch_size: int
    epochs: float  # fraction of those of “paper”
    frozen: float  # fraction of the layers, the lowest, whose output is cached
    speed: float  # times as fast as “paper”
    points: tuple[float, float]  # lowest and highest difference of the scores, in points
    sets: int  # number of data sets


class FewLabels(NamedTuple):
    """Contrastive fine-tuning of a sentence encoder against other ways, with few rows.

    Its mean score is the best one, and on no data set is it below fine-tuning. The figures are
    those of `python -m benchmarks few`, the lowest and the highest difference of the scores, in
    points.
    """

    rows: int  # at most, for training
    fine_tuning: tuple[int, int]
    linear: tuple[int, int]  # against a linear layer on frozen vectors
    sets: int  # number of data sets


FEW_LABELS = (
    FewLabels(8, fine_tuning=(1, 34), linear=(-2, 21), sets=3),
    FewLabels(16, fine_tuning=(1, 40), linear=(-6, 26), sets=6),
    FewLabels(64, fine_tuning=(1, 23), linear=(0, 20), sets=5),
)
QUICK: dict[float, Quick] = {  # by `Rate.max_weights`
    LARGEST: Quick(2e-4, 16, 0.6, 1 / 3, speed=2.3, points=(-0.5, 4.0), sets=4)
}
DEFAULT_ROWS = 1000  # for unknown numbers of rows
QUICK_EVALUATIONS = 2  # of a run
PROBE_RATES: dict[str, float] = {"bilstm": 1e-3, "linear": 1e-2}
BATCH_SIZE, PAIRS, WARMUP = 32, 16, 0.1  # PAIRS: of contrastive fine-tuning
RECOMMENDED = ("learning_rate", "epochs", "batch_size", "warmup_ratio", "max_length")
QUICK_FIELDS = ("frozen_layers", "cache_frozen_layers", "evaluate_every")  # set by “quick” as well
RECIPE_FIELDS = ("learning_rate", "epochs", "batch_size", *QUICK_FIELDS)  # differ between recipes
MIN_LENGTH = 16  # tokens
WINDOW = 512  # tokens at most of a window over a long text


class Network(Protocol):
    """The size of a network, from its spec or its checkpoint."""

    @property
    def layers(self) -> int: ...
    @property
    def hidden_size(self) -> int: ...
    @property
    def intermediate_size(self) -> int: ...
    @property
    def max_positions(self) -> int: ...


@dataclass(frozen=True)
class Situation:
    """The inputs of a recommendation.

    Args:
        task: the info of the task.
        from_scratch: the network has fresh weights.
        network: None if unknown.
        rows: number of training rows; 0 if unknown.
        typical_length: the 99th percentile of input lengths, in tokens; 0 if unknown.
        lora: adapters are trained, not all weights.
        contrastive: pairs of texts are compared.
        recipe: “quick” falls back to “paper” for jobs for which it was not measured.
        shares_layers: several layers of the network have the same weights.
        encodes_sentences: the base model is a sentence encoder.
        reads_windows: long texts are read in windows.
    """

    task: TaskInfo
    from_scratch: bool = False
    network: Network | None = None
    rows: int = 0
    typical_length: int = 0
    lora: bool = False
    contrastive: bool = False
    recipe: Recipe = "paper"
    shares_layers: bool = False
    encodes_sentences: bool = False
    reads_windows: bool = False

    @property
    def regime(self) -> Regime:
        regime = get_regime(self.task, self.from_scratch, self.lora)
        return "contrastive" if self.contrastive and regime == "fine-tuning" else regime

    @property
    def paper(self) -> TrainingSpec:
        """The settings of the paper, for BERT-Base and -Large."""
        from_scratch = self.task.from_scratch if self.from_scratch else None
        return from_scratch or self.task.training

    @property
    def rate(self) -> Rate | None:
        """The entry of the table for networks of this size in this regime; None if it has none."""
        weights = layer_weights(self.network) if self.network is not None else math.inf
        return rate_for(self.regime, weights)

    @property
    def quick(self) -> Quick | None:
        """The recipe “quick”; None if it was not measured for such runs."""
        can_freeze = self.regime == "fine-tuning" and not self.shares_layers
        row = self.rate if can_freeze else None
        return QUICK.get(row.max_weights) if row is not None else None

    @property
    def is_few(self) -> bool:
        """So few rows of one label per text that contrastive fine-tuning was better."""
        can_learn = self.task.learns_from_pairs and not self.from_scratch
        return can_learn and 0 < self.rows <= FEW_LABELS[-1].rows


@dataclass(frozen=True)
class Recommendation:
    """Settings, with reasons for some fields."""

    training: TrainingSpec
    reasons: dict[str, str]


def recommend(situation: Situation) -> Recommendation:
    """Recommend settings for a job, with reasons by field of `TrainingSpec`."""
    length, why_length = _length(situation)
    values: dict[str, float] = {"max_length": length}
    reasons = {"max_length": why_length}
    is_contrastive = situation.regime == "contrastive"
    batch_size = PAIRS if is_contrastive else BATCH_SIZE
    if situation.rate is not None:
        quick = situation.quick if situation.recipe == "quick" else None
        batch_size = quick.batch_size if quick else batch_size
        values["learning_rate"], reasons["learning_rate"] = _rate(situation, situation.rate)
        fraction = quick.epochs if quick else 1
        values["epochs"], reasons["epochs"] = _epochs(situation, batch_size, fraction)
        values |= {"batch_size": batch_size, "warmup_ratio": WARMUP}
        if quick is not None:
            values |= _quick_values(situation, quick, values["epochs"])
    elif situation.network is not None and situation.regime in RATES:
        reasons["learning_rate"] = phrase(
            "As in the paper, for models of the size of BERT-Base and larger."
        )
    if is_contrastive:
        values["epochs"], reasons["epochs"] = _epochs(situation, batch_size, 1)
        values["batch_size"] = batch_size
    reasons_given = {name: reason for name, reason in reasons.items() if reason}
    return Recommendation(situation.paper.model_copy(update=values), reasons_given)


def few_note(situation: Situation) -> Phrase | None:
    """Advice for few labelled rows; None for more, and for other tasks."""
    if not situation.is_few:
        return None
    row = next(row for row in FEW_LABELS if situation.rows <= row.rows)
    ends = zip(("low", "high", "least", "most"), (*row.fine_tuning, *row.linear), strict=True)
    figures = {name: f"{points:+d}".replace("-", "−").replace("+0", "0") for name, points in ends}
    figures |= {"rows": f"{row.rows}", "sets": f"{row.sets}"}
    if situation.encodes_sentences:
        return phrase(
            "You have {n:,} labelled row(s). On {sets} data sets with {rows} rows, contrastive "
            "fine-tuning is the best way on average: {low} to {high} points against fine-tuning, "
            "and {least} to {most} against a linear layer on frozen vectors, which is faster.",
            n=situation.rows,
            **figures,
        )
    return phrase(
        "You have {n:,} labelled row(s). On {sets} data sets with {rows} rows, contrastive "
        "fine-tuning of a sentence encoder such as MiniLM is the best way on average: {low} to "
        "{high} points against its fine-tuning, and {least} to {most} against a linear layer on "
        "its frozen vectors, which is faster.",
        n=situation.rows,
        **figures,
    )


def with_probe_rate(old: Features, new: Features) -> Features:
    """Use the rate of the new probe, unless the rate was set."""
    is_default = old.learning_rate == new.learning_rate == PROBE_RATES[old.probe]
    if new.probe == old.probe or not is_default:
        return new
    return new.model_copy(update={"learning_rate": PROBE_RATES[new.probe]})


def layer_weights(network: Network) -> int:
    """Approximate number of weights of the layers, without embeddings."""
    per_layer = 4 * network.hidden_size**2 + 2 * network.hidden_size * network.intermediate_size
    return network.layers * per_layer


def recommended_rate(regime: Regime, weights: int) -> float | None:
    """The recommended learning rate for a network with this number of layer weights.

    None for networks that the table does not cover.
    """
    row = rate_for(regime, weights)
    return None if row is None else row.rate


def rate_for(regime: Regime, weights: float) -> Rate | None:
    """The entry of the table for a network of this size; None if it has none."""
    return next((row for row in RATES.get(regime, ()) if weights <= row.max_weights), None)


def get_regime(task: TaskInfo, from_scratch: bool, lora: bool) -> Regime:
    """Return the kind of training."""
    if task.head is None:
        return "pre-training from scratch" if from_scratch else "pre-training"
    if from_scratch:
        return "from scratch"
    return "LoRA" if lora else "fine-tuning"


def _quick_values(situation: Situation, quick: Quick, epochs: float) -> dict[str, float]:
    """Fields that “quick” sets besides batch size and epochs."""
    assert situation.network is not None
    steps = math.ceil(situation.rows / quick.batch_size) * epochs
    return {
        "learning_rate": quick.rate,
        "frozen_layers": max(1, round(quick.frozen * situation.network.layers)),
        "cache_frozen_layers": True,
        "evaluate_every": math.ceil(steps / QUICK_EVALUATIONS),
    }


def _rate(situation: Situation, row: Rate) -> tuple[float, str]:
    network = situation.network
    assert network is not None
    if not row.is_measured:
        return row.rate, phrase(
            "Between the measured rate of smaller models and the usual rate of larger ones."
        )
    return row.rate, phrase(
        "Measured with models of this size ({n} layer(s), hidden size {hidden}).",
        n=network.layers,
        hidden=network.hidden_size,
    )


def _epochs(situation: Situation, batch_size: int, fraction: float) -> tuple[int, str]:
    rows = situation.rows or DEFAULT_ROWS
    full = next(row.epochs for row in EPOCHS[situation.regime] if rows <= row.max_rows)
    epochs = math.ceil(fraction * full)
    if not situation.rows:
        return epochs, ""
    examples = 2 * rows if situation.regime == "contrastive" else rows  # pairs of each row
    return epochs, phrase(
        "{n} epoch(s) over {rows:,} rows are {updates:,} updates.",
        n=epochs,
        rows=rows,
        updates=math.ceil(examples / batch_size) * epochs,
    )


def _length(situation: Situation) -> tuple[int, str]:
    default, typical = situation.paper.max_length, situation.typical_length
    max_length = situation.network.max_positions if situation.network is not None else default
    if situation.task.head is None or not typical:
        return min(max_length, default), ""
    if not situation.task.cuts_long_texts:  # longer texts are read in windows
        max_length = min(max_length, default)
    if situation.reads_windows:
        max_length = min(max_length, WINDOW)
    multiple = 8 if typical <= 64 else 16
    length = max(MIN_LENGTH, min(max_length, -(-typical // multiple) * multiple))
    return length, phrase("99 % of the inputs in the sample have at most {n} token(s).", n=typical)
