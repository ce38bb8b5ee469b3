"""Questions about many texts: typed ones, or rows of a part of a data set."""

from pathlib import Path
from typing import ClassVar, Literal, Self

from pydantic import Field, model_validator

from engine.config.dataset import SplitName, StoredData
from engine.messages import Message
from engine.messages.explore.text import AblationQuestion
from engine.messages.question import Answer, Question

MAX_TEXTS = 5_000  # per question; the first ones of a longer part


class TypedText(Message):
    """A text or pair, and its gold label; “” if unknown."""

    text: str
    pair: str | None = None
    label: str = ""


class TextSet(Message):
    """Typed texts, or rows of a part of a stored data set; `rows` selects some of them."""

    typed: tuple[TypedText, ...] = Field((), max_length=MAX_TEXTS)
    data: StoredData | None = None
    part: SplitName = "validation"
    rows: tuple[int, ...] | None = Field(None, description="Numbers from 0; None: all.")

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if bool(self.typed) == (self.data is not None):
            raise ValueError("either typed texts or a data set")
        return self


class SetQuestion(AblationQuestion):
    """A question about many texts, answered in a separate process.

    Results of each text are cached in the folder `cache`, so that the same question continues after
    a cancellation. The cache does not depend on the fields in `free`.
    """

    free: ClassVar[frozenset[str]] = frozenset()
    checkpoint: Path
    texts: TextSet
    cache: Path | None = None


class SetAnswer(Answer):
    """Results after `done` of `total` texts; the last answer has all."""

    done: int
    total: int

    @property
    def is_final(self) -> bool:
        return self.done == self.total


LossKind = Literal["task", "pseudo", "none"]


class TextScore(Message):
    """Scores of one text.

    `probability` is the prediction's. `loss` is the task's loss for the label; for a model without
    a task, the mean −log P of each token while only it is masked. None if unknown.
    """

    prediction: str = ""
    label: str = ""
    probability: float | None = None
    loss: float | None = None
    right: bool | None = None
    tokens: int = Field(description="In the whole text, with special tokens.")


class TextsScored(SetAnswer):
    """The scores of the texts from `first` on, in their order."""

    kind: Literal["texts_scored"] = "texts_scored"
    first: int
    scores: tuple[TextScore, ...]
    loss: LossKind = "task"


class ScoreTexts(SetQuestion):
    """Predict each text, and compute its loss."""

    answered_by = TextsScored
    kind: Literal["score_texts"] = "score_texts"


class HeadsCounted(SetAnswer):
    """Head statistics over texts: `file` has float64 [3, L, H, C], the mean over all query tokens
    that are not special, and the ends of its 95 % interval, NaN until the last answer.

    `columns` are those of `head_measures`, “offset”, which is the most frequent offset of the
    largest weight, “tag NAME” and “head dependent”, “head governor”; see `CountHeads`.
    """

    kind: Literal["heads_counted"] = "heads_counted"
    file: Path
    columns: tuple[str, ...]
    tokens: int = Field(description="Query tokens in the texts.")
    fixed: tuple[int, float] | None = Field(
        None, description="The best fixed offset from a word to its head, and its accuracy."
    )


class CountHeads(SetQuestion):
    """Measure what each head attends to in these texts.

    If the data set has a column of tags, also the lift of each tag: the mean attention to it over
    the fraction of tokens that have it. If it has a column “head”, as CoNLL-U has, the accuracy of
    the largest weight between words: from a word, or to a word, its head.
    """

    answered_by = HeadsCounted
    kind: Literal["count_heads"] = "count_heads"


class HeadsWeighed(SetAnswer):
    """Importance of heads: `file` has float64 [3, L, H, C], means over texts and both ends of their
    95 % intervals, of the `columns` “importance” and “loss off”."""

    kind: Literal["heads_weighed"] = "heads_weighed"
    file: Path
    columns: tuple[str, ...]
    loss: float = Field(description="Mean over the texts, with all heads.")


Replacement = Literal["zero", "mean"]


class WeighHeads(SetQuestion):
    """Measure the importance of each head (Michel et al. 2019).

    With `each_head`, each is also disabled by itself, which takes a pass for every head and text.
    """

    answered_by = HeadsWeighed
    kind: Literal["weigh_heads"] = "weigh_heads"
    each_head: bool = False
    replacement: Replacement = Field(
        "zero", description="Replaces the output of a disabled head; the mean is over the texts."
    )


class HeadsAveraged(SetAnswer):
    """`file` has float32 [L, D], the concatenated mean outputs of the heads; None until the last
    answer."""

    kind: Literal["heads_averaged"] = "heads_averaged"
    file: Path | None = None


class AverageHeads(SetQuestion):
    """Average the output of each head before the output matrix over all tokens."""

    answered_by = HeadsAveraged
    kind: Literal["average_heads"] = "average_heads"


class PruningRound(Message):
    """The heads that were pruned in a round, and the metric without them and earlier ones.

    In the first round, `heads` are those that were disabled from the start.
    """

    heads: tuple[tuple[int, int], ...]
    figure: float | None = Field(description="None: not finite.")


class HeadsPruned(SetAnswer):
    """The rounds so far; `done` and `total` count computed texts over all rounds."""

    kind: Literal["heads_pruned"] = "heads_pruned"
    rounds: tuple[PruningRound, ...]
    metric: str = Field(description="Name of the figure; more is better.")
    pruned: tuple[tuple[int, int], ...] = Field(
        (), description="All heads that can go before the figure falls by more than `max_fall`."
    )


class PruneHeads(SetQuestion):
    """Prune heads until the metric of these texts falls (Michel et al. 2019, §4).

    In each round the importance of all heads is recomputed, and the least important ones are
    pruned.
    """

    answered_by = HeadsPruned
    free: ClassVar[frozenset[str]] = frozenset({"max_fall"})
    kind: Literal["prune_heads"] = "prune_heads"
    max_fall: float = Field(0.01, ge=0, le=1, description="Of the figure: from 0.91 to 0.90.")
    fraction: float = Field(0.1, gt=0, le=1, description="Of all heads, per round.")


class HeadsRemoved(Answer):
    """The checkpoint without these heads."""

    kind: Literal["heads_removed"] = "heads_removed"
    folder: Path


class RemoveHeads(Question):
    """Save a copy of a checkpoint in whose weights these heads add nothing."""

    answered_by = HeadsRemoved
    kind: Literal["remove_heads"] = "remove_heads"
    checkpoint: Path
    heads: tuple[tuple[int, int], ...] = Field(min_length=1)
    into: Path


class ModelsDiffered(SetAnswer):
    """Differences between two models on the same texts: B − A.

    `file` is an `.npz`. If `comparable`: divergence float64 [L, H], the mean Jensen–Shannon
    divergence of attention, and columns float64 [L, H, C], the differences of the means of
    `head_measures.KEYS`. Always: kl float64 [texts], NaN if predictions cannot be compared; cka
    float64 [layers], and layers int [2, layers], their layer indices in A and B.
    """

    kind: Literal["models_differed"] = "models_differed"
    file: Path
    comparable: bool = Field(description="True if heads correspond: A was made from B or B from A.")
    vectors: int = Field(description="Number of compared tokens, or words.")
    of_words: bool = Field(False, description="The models cut texts into different tokens.")
    predictions: tuple[tuple[str, str], ...] = Field(
        (), description="Of A and B for each text; empty until the last answer."
    )


class CompareModels(SetQuestion):
    """Compare model B, `other`, with model A, `checkpoint`, on these texts."""

    answered_by = ModelsDiffered
    kind: Literal["compare_models"] = "compare_models"
    other: Path


Pooling = Literal["cls", "mean", "pooled"]


class TextsPlaced(SetAnswer):
    """Texts as points in a plane, and how well labels separate after each layer.

    `file` has float32 [texts, 2]. `explained` is the fraction of variance of both axes of a PCA.
    `placed` are the texts embedded by t-SNE; the others are put between their neighbours.
    """

    kind: Literal["texts_placed"] = "texts_placed"
    file: Path
    explained: tuple[float, float] | None = None
    placed: tuple[int, ...] | None = None
    labels: tuple[str, ...] = ()
    predictions: tuple[str, ...] = ()
    layers: int = Field(description="Number of layers, including the embeddings.")
    silhouettes: tuple[float, ...] = Field((), description="By label, at each layer.")
    neighbours: tuple[float, ...] = Field((), description="10-NN accuracy at each layer.")
    silhouettes_shuffled: tuple[float, ...] = ()
    neighbours_shuffled: tuple[float, ...] = ()


class PlaceTexts(SetQuestion):
    """Map texts to a plane by their vectors after a layer."""

    answered_by = TextsPlaced
    free: ClassVar[frozenset[str]] = frozenset({"layer", "pooling", "method"})
    kind: Literal["place_texts"] = "place_texts"
    layer: int = Field(-1, ge=-1, description="0: the embeddings; −1: the last layer.")
    pooling: Pooling = "mean"
    method: Literal["pca", "tsne"] = "pca"
