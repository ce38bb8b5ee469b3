"""What the explorer answers."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from engine.messages import Message
from engine.messages.questions import Measure, Table
from engine.messages.reports import CheckpointInfo, ExportReport, LoadReport
from engine.spec.phrases import PhraseField
from engine.spec.task import HeadKind


class Token(Message):
    """One word piece, and the characters of the typed text that it stands for."""

    text: str
    id: int
    segment: int = 0
    start: int = Field(
        0, description="First character in its text; equal to `end` for [CLS] and [SEP]."
    )
    end: int = 0
    word: int | None = Field(
        None, description="Which word of its text it belongs to; None for special tokens."
    )
    special: bool = False


class Likely(Message):
    """A label with its probability."""

    label: str
    probability: float


class Guess(Message):
    """A stretch of tokens and ranked (label, probability) pairs: pieces for a mask, classes, …"""

    first: int = 0
    last: int = 0
    ranked: tuple[Likely, ...]


class ArrayFile(Message):
    """A `.npy` file to be mapped."""

    path: Path
    shape: tuple[int, ...]
    dtype: str


class Answer(Message):
    """`to` is the number of the question."""

    to: int = 0


class PreciseAnswer(Answer):
    """In what numbers it was computed: float32 is exact.

    Shorter numbers are used where they are quicker and were found to agree on built-in texts.
    `why_exact` says why they were not where they were allowed: the quick way is still being looked
    for, there is none that is quicker and agrees, or there is none for the device.
    """

    computed: Literal["float32", "float16", "bfloat16", "int8"] = "float32"
    why_exact: Literal["", "preparing", "none", "device"] = ""


class Filled(PreciseAnswer):
    kind: Literal["filled"] = "filled"
    tokens: tuple[Token, ...]
    cut: bool = Field(False, description="The text was longer than the model allows.")
    guesses: tuple[Guess, ...]
    actual: tuple[Likely, ...] = Field(
        (),
        description=(
            "For each guess, the piece that stood there and its probability; an empty label "
            "where [MASK] was typed."
        ),
    )
    causal: bool = Field(
        False,
        description=(
            "The model is left-to-right: each place is guessed from the words before it alone, "
            "and a guessed place shows its first guess to the next."
        ),
    )
    milliseconds: float = 0


class Attended(PreciseAnswer):
    """float32 [L, H, T, T], query rows over key columns, of one `measure`.

    weights: the attention itself; rows sum to 1. mean: the mean over the heads of each layer, H is
    1. rollout: how much of each typed token is in a vector after each layer if attention alone
    mixes them, with the residual as half (Abnar and Zuidema 2020, §3); H is 1, rows sum to 1.
    norms: the length of what a token takes from another, ‖α f(x)‖ (Kobayashi et al. 2020, §3.2).
    """

    kind: Literal["attended"] = "attended"
    tokens: tuple[Token, ...]
    cut: bool = False
    weights: ArrayFile
    measure: Measure = "weights"
    layers: int | None = Field(
        None, description="How many of L, from the first, are there by now; None: all."
    )
    most: float = Field(1.0, description="The largest number there is; 1 where rows sum to 1.")
    milliseconds: float = 0


class QueryKeyed(Answer):
    """A query and a key of width K, and what comes of them (Vaswani et al. 2017, §3.2.1).

    `products` are query · key / √K, one by one; their sum is the score before the softmax, and
    `weight` is the score's share after it.
    """

    kind: Literal["query_key_shown"] = "query_key_shown"
    layer: int
    head: int
    row: int
    column: int
    query: tuple[float, ...]
    key: tuple[float, ...]
    products: tuple[float, ...]
    score: float
    scores: tuple[float | None, ...] = Field(
        description="Of the same token with every token; None where it may not look."
    )
    weight: float


class Weighed(Message):
    """A word that was asked for, and its joint score, or why it has none.

    The word stands as so many masks as it has pieces. The score is the sum of the natural
    logarithms of the probabilities of its pieces, from left to right: each is guessed with those
    before it shown, and those after it hidden. So over all rows of as many pieces it is a
    distribution; words of other lengths are asked for in another number of masks.
    """

    text: str
    pieces: tuple[str, ...] = ()
    logarithms: tuple[float, ...] = Field((), description="Of each piece.")
    problem: PhraseField = ""

    @property
    def score(self) -> float:
        return math.fsum(self.logarithms)

    @property
    def probability(self) -> float:
        return math.exp(self.score)


class CandidatesWeighed(Answer):
    """The candidates in the order in which they were asked for."""

    kind: Literal["weighed"] = "weighed"
    candidates: tuple[Weighed, ...]
    milliseconds: float = 0


class Searched(Answer):
    """Rows of pieces with the joint score that `Weighed` explains, the best first.

    A beam search: a row whose beginning is unlikely may be missed.
    """

    kind: Literal["searched"] = "searched"
    first: int
    last: int
    found: tuple[Weighed, ...]
    actual: Weighed | None = Field(None, description="What was typed there, if anything was.")
    milliseconds: float = 0


class PositionScore(Message):
    """The piece at a place, guessed while it alone is hidden."""

    place: int
    logarithm: float = Field(description="Natural, of its probability.")
    rank: int = Field(description="1: the model's first guess.")
    best: Likely


class Scored(Answer):
    """Some of the places, from left to right; `next` is where to go on, None at the end.

    A left-to-right model has each piece guessed from those before it.
    """

    kind: Literal["scored"] = "scored"
    tokens: tuple[Token, ...]
    cut: bool = False
    places: tuple[PositionScore, ...]
    next: int | None = None
    total: int = Field(description="Places that there are in the whole text.")
    causal: bool = False
    milliseconds: float = 0


def perplexity(places: Sequence[PositionScore]) -> float:
    """exp of minus the mean logarithm; the pseudo-perplexity of a text (Salazar et al. 2020, §2.3)
    where each piece was hidden in turn. Not a number where there are no places."""
    if not places:
        return math.nan
    return math.exp(-math.fsum(place.logarithm for place in places) / len(places))


class Height(Message):
    """What the head for masked words says of the vectors at one height of the network."""

    guesses: tuple[Guess, ...]
    actual: tuple[PositionScore | None, ...] = Field(
        description="What was typed at each place; None for a mask."
    )


class Traced(Answer):
    """The guesses at the embeddings and after each of L layers: L + 1 heights.

    The head for masked words was trained on the vectors after the last layer and is put on the
    others as it is (the “logit lens”, nostalgebraist 2020).
    """

    kind: Literal["traced"] = "traced"
    tokens: tuple[Token, ...]
    places: tuple[int, ...]
    heights: tuple[Height, ...]
    milliseconds: float = 0


class Followed(Answer):
    """The probability that the second text follows the first (Devlin et al. 2019, §3.1)."""

    kind: Literal["followed"] = "followed"
    probability: float
    milliseconds: float = 0


class Addend(Message):
    """A row of a learned table for each token, and the length of each of these vectors."""

    table: Table
    rows: tuple[int, ...]
    norms: tuple[float, ...]


class Embedded(Answer):
    """Euclidean norms of T tokens: of each addend, their sum, and what the first layer reads.

    The last is the sum after its normalisation, in ALBERT also widened to the width of the layers.
    """

    kind: Literal["embedded"] = "embedded"
    tokens: tuple[Token, ...]
    cut: bool = False
    addends: tuple[Addend, ...] = Field(description="Two where the family has no segments.")
    sums: tuple[float, ...]
    outcome: tuple[float, ...]
    milliseconds: float = 0


class Found(Message):
    """A stretch of a text, in characters, how likely it is, and what it is where that is told."""

    text: str
    start: int
    end: int
    probability: float
    label: str = ""


class Predicted(PreciseAnswer):
    """What is said, by the head.

    In `guesses`, classes and labels give one over the whole input, with all of them, most likely
    first; choices one, with the endings. A number stands in `value`. Tags give the spans in
    `found`, in their order, or every word where they name no spans. An answer is the first of
    `found` in the second text, if it was `answered`; `value` is then the probability that there is
    none.
    """

    kind: Literal["predicted"] = "predicted"
    head: HeadKind
    tokens: tuple[Token, ...]
    cut: bool = False
    guesses: tuple[Guess, ...] = ()
    value: float | None = None
    range: tuple[float, float] | None = Field(
        None, description="Between which numbers those of the training rows were."
    )
    found: tuple[Found, ...] = ()
    answered: bool = True


class Examined(Answer):
    kind: Literal["examined"] = "examined"
    info: CheckpointInfo
    report: LoadReport


class Imported(Answer):
    kind: Literal["imported"] = "imported"
    folder: Path
    info: CheckpointInfo
    report: LoadReport


class Exported(Answer):
    kind: Literal["exported"] = "exported"
    folder: Path
    bytes: int
    report: ExportReport


class Estimated(Answer):
    kind: Literal["estimated"] = "estimated"
    steps: int
    seconds_per_step: float
    seconds: float
    memory: int = Field(description="Peak bytes of the measuring process.")
    available: int = Field(description="Bytes of memory that are free on the device.")
    parameters: int
    device: str
    precision: str = Field("", description="fp32, bf16 or fp16; empty: not known.")
    threads: int = Field(0, description="Of each process; 0: not known.")
    checkpoint: int = Field(0, description="Bytes of one checkpoint on the disk; 0: not known.")
    checkpoints: int = Field(0, description="How many of them there are at the most.")
    disk_free: int | None = Field(None, description="Bytes that are free where runs lie.")


class Asked(Message):
    """A place of an input at which something is wanted, and what is shown there instead."""

    place: int
    wanted: str = Field(description="The piece that stood there, or the label of the token.")
    shown_as: Literal["mask", "another", "itself", "label"] = Field(
        description="[MASK], a random piece, the piece that is wanted; or a label is wanted of it."
    )


class Input(Message):
    """One row of a batch, with its padding."""

    pieces: tuple[str, ...] = Field(description="As the network is given them.")
    ids: tuple[int, ...]
    segments: tuple[int, ...]
    real: int = Field(description="Tokens before the padding.")
    asked: tuple[Asked, ...] = ()
    wanted: str = Field("", description="What is wanted of the input as a whole.")


class BatchShown(Answer):
    """Exactly what the network is given in the step."""

    kind: Literal["batch_shown"] = "batch_shown"
    step: int
    steps: int
    inputs: tuple[Input, ...]


class Working(Answer):
    """More is to come for this question."""

    kind: Literal["working"] = "working"
    stage: PhraseField
    done: int = 0
    total: int = 0
    so_far: Attended | None = Field(None, description="What is there to be shown already.")


class Refused(Answer):
    """The question cannot be answered; the explorer lives on."""

    kind: Literal["refused"] = "refused"
    problem: PhraseField
    advice: PhraseField = ""
    details: str = ""
    bug: bool = False


AnyAnswer = Annotated[
    Filled
    | Attended
    | QueryKeyed
    | CandidatesWeighed
    | Searched
    | Scored
    | Traced
    | Followed
    | Embedded
    | Predicted
    | Examined
    | Imported
    | Exported
    | Estimated
    | BatchShown
    | Working
    | Refused,
    Field(discriminator="kind"),
]
ANSWER: TypeAdapter[AnyAnswer] = TypeAdapter(AnyAnswer)
