"""Every message between processes, and its line.

An *event* is a line that a training worker appends to `events.jsonl`. A *question* goes to the
explorer's stdin and each of its *answers* comes from its stdout. A tensor travels as a file that
a message names. Old lines stay readable: a new field has a default, a kind never changes meaning.
"""

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, TypeAdapter

from engine.spec.export import Form, Precision
from engine.spec.job import JobSpec
from engine.spec.task import HeadKind


class Message(BaseModel):
    """One line. Unknown fields of a newer writer are passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    def line(self) -> bytes:
        """The message as one line of JSON, with its newline."""
        return self.model_dump_json().encode("utf-8") + b"\n"


def now() -> datetime:
    return datetime.now(UTC)


# ── what a training worker says ──────────────────────────────────────────────────────────────


class Event(Message):
    at: AwareDatetime = Field(default_factory=now)


class Branched(Event):
    """The run began as a copy of another one at a step, perhaps with other settings."""

    BEGINNING: ClassVar[str] = "Branched from “"

    kind: Literal["branched"] = "branched"
    run: str = Field(description="Name of the other run.")
    folder: Path
    step: int
    changes: tuple[str, ...] = ()

    def sentence(self) -> str:
        changes = "; ".join(self.changes) or "nothing was changed"
        return f"{self.BEGINNING}{self.run}” at step {self.step}; {changes}."


class Started(Event):
    """The worker holds the lock. `step` is the checkpoint it goes on from, 0 for a new run."""

    kind: Literal["started"] = "started"
    pid: int
    step: int = 0
    host: str = ""


class Prepared(Event):
    """Data, network and plan are ready; the first step comes next."""

    kind: Literal["prepared"] = "prepared"
    steps: int
    parameters: int
    examples: int
    device: str
    threads: int
    processes: int = 1
    versions: dict[str, str] = {}
    step: int = Field(0, description="The step that it goes on from.")
    conditions: dict[str, str] = Field({}, description="All that decides the weights, in words.")
    differences: tuple[str, ...] = Field(
        (), description="What is not as it was when the checkpoint was saved that it goes on from."
    )


class Progressed(Event):
    """A stage that is not training: tokens, evaluation. `total` 0 means unknown."""

    kind: Literal["progressed"] = "progressed"
    stage: str
    done: int
    total: int = 0


class Measured(Event):
    """One point of one curve. `value` is None where it was not finite, as `status` says."""

    kind: Literal["measured"] = "measured"
    name: str
    step: int = Field(ge=0)
    value: float | None
    status: Literal["finite", "nan", "inf", "-inf"] = "finite"


def measured(name: str, step: int, value: float) -> Measured:
    """A `Measured` that keeps what was not finite as what it was: JSON has no NaN."""
    if math.isfinite(value):
        return Measured(name=name, step=step, value=value)
    status: Literal["nan", "inf", "-inf"] = (
        "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    )
    return Measured(name=name, step=step, value=None, status=status)


class Saved(Event):
    """A checkpoint is whole and durable: `checkpoints/step-…` below the run folder."""

    kind: Literal["saved"] = "saved"
    step: int
    folder: str = Field(description="Relative to the run folder.")
    best: bool = False
    bytes: int = 0
    weights: str = Field("", description="SHA-256 of the file of the weights.")
    optimiser: str = Field("", description="SHA-256 of what the optimiser remembers.")


class Removed(Event):
    """A checkpoint was deleted by the rule of how many are kept."""

    kind: Literal["removed"] = "removed"
    step: int
    folder: str


class Noted(Event):
    """Something that the user should know and that did not end the run."""

    kind: Literal["noted"] = "noted"
    text: str
    exact: bool = Field(True, description="False: a repetition elsewhere may differ in rounding.")


class Waiting(Event):
    """The worker cannot go on now and waits; what it says next, but for notes, ends the wait."""

    kind: Literal["waiting"] = "waiting"
    problem: str
    advice: str = ""


class Ended(Event):
    """The last word of a worker."""

    kind: Literal["ended"] = "ended"
    outcome: Literal["finished", "stopped", "failed"]
    step: int = 0
    problem: str = ""
    advice: str = ""
    details: str = ""
    bug: bool = Field(False, description="True where the studio is at fault.")
    memory: int = Field(0, description="Most bytes that the worker held; 0: nobody knows.")
    device_memory: int = Field(0, description="Most bytes that it held of a GPU.")


AnyEvent = Annotated[
    Branched
    | Started
    | Prepared
    | Progressed
    | Measured
    | Saved
    | Removed
    | Noted
    | Waiting
    | Ended,
    Field(discriminator="kind"),
]
EVENT: TypeAdapter[AnyEvent] = TypeAdapter(AnyEvent)


# ── what is asked of the explorer, and what it answers ───────────────────────────────────────


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


class Question(Message):
    """Of each kind and side, a newer question takes the place of one that waits."""

    number: int = 0
    side: int = Field(0, description="Of what is compared: 0 the first, 1 the second.")


class TextQuestion(Question):
    """About what a model makes of one text or two, with some tokens hidden.

    [MASK] that is typed in the text counts, and so does `masked`: token numbers as in `Tokens`.
    """

    checkpoint: Path
    text: str
    pair: str | None = None
    masked: tuple[int, ...] = ()


Table = Literal["word", "position", "segment"]
Measure = Literal["weights", "norms", "mean", "rollout"]


class PreciseQuestion(TextQuestion):
    """Answered exactly, or quickly where that is known to agree; see `PreciseAnswer`."""

    exact: bool = True


class Fill(PreciseQuestion):
    """Which pieces fit at the masked places?"""

    kind: Literal["fill"] = "fill"
    top: int = 10


class Attend(PreciseQuestion):
    """The attention of every head."""

    kind: Literal["attend"] = "attend"
    measure: Measure = "weights"


class QueryKey(TextQuestion):
    """How one head comes to one weight: the query of a token, and the key of another."""

    kind: Literal["query_key"] = "query_key"
    layer: int = Field(0, ge=0)
    head: int = Field(0, ge=0)
    row: int = Field(0, ge=0, description="Number of the token that looks.")
    column: int = Field(0, ge=0, description="Number of the token looked at.")


class Weigh(TextQuestion):
    """How likely is each of these words in the place of the tokens from `first` to `last`?"""

    kind: Literal["weigh"] = "weigh"
    first: int
    last: int
    candidates: tuple[str, ...]


class Search(TextQuestion):
    """Which rows of pieces fit together best in the place of the tokens from `first` to `last`?"""

    kind: Literal["search"] = "search"
    first: int
    last: int
    beams: int = Field(20, ge=1, description="Beginnings that are followed at a time.")
    top: int = 10


class Score(Question):
    """How likely is each piece of the text in its place, as far as a moment allows?

    A long text takes long; so an answer covers some places, and says where to go on.
    """

    kind: Literal["score"] = "score"
    checkpoint: Path
    text: str
    pair: str | None = None
    start: int = Field(0, ge=0, description="The first token number that is not yet known.")


class Trace(TextQuestion):
    """What would be guessed at these places after each layer? See `Traced`."""

    kind: Literal["trace"] = "trace"
    places: tuple[int, ...]
    top: int = 5


class Follow(TextQuestion):
    """Does the second text follow the first?"""

    kind: Literal["follow"] = "follow"


class Embed(TextQuestion):
    """The vectors of each token before the first layer, and what they are the sum of."""

    kind: Literal["embed"] = "embed"


class Predict(PreciseQuestion):
    """What a fine-tuned model answers, by the head that it has."""

    kind: Literal["predict"] = "predict"
    endings: tuple[str, ...] = Field((), description="To choose from, for multiple choice.")


class Examine(Question):
    """What is in this folder, and would it load? Changes nothing."""

    kind: Literal["examine"] = "examine"
    folder: Path


class Import(Question):
    """Copy a foreign checkpoint into `into` in our layout; `into` appears whole or not at all."""

    kind: Literal["import"] = "import"
    folder: Path
    into: Path


class Export(Question):
    """Write a checkpoint in another form into `into`, which appears whole and tried, or not at all.

    Besides built-in texts it is tried on the first rows of `texts`, or else on those that the run
    of the checkpoint keeps for judging.
    """

    kind: Literal["export"] = "export"
    checkpoint: Path
    into: Path
    form: Form = "hf"
    precision: Precision = "float32"
    texts: Path | None = None


class Estimate(Question):
    """Time and memory of a job, from one measured worst-case step."""

    kind: Literal["estimate"] = "estimate"
    job: JobSpec


class ShowBatch(Question):
    """What a run's network is given in a step, which counts from 1; made anew from its folder."""

    kind: Literal["show_batch"] = "show_batch"
    run: Path
    step: int


AnyQuestion = Annotated[
    Fill
    | Attend
    | QueryKey
    | Weigh
    | Search
    | Score
    | Trace
    | Follow
    | Embed
    | Predict
    | Examine
    | Import
    | Export
    | Estimate
    | ShowBatch,
    Field(discriminator="kind"),
]
QUESTION: TypeAdapter[AnyQuestion] = TypeAdapter(AnyQuestion)


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
    problem: str = ""

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


class PlaceScore(Message):
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
    places: tuple[PlaceScore, ...]
    next: int | None = None
    total: int = Field(description="Places that there are in the whole text.")
    causal: bool = False
    milliseconds: float = 0


def perplexity(places: Sequence[PlaceScore]) -> float:
    """exp of minus the mean logarithm; the pseudo-perplexity of a text (Salazar et al. 2020, §2.3)
    where each piece was hidden in turn. Not a number where there are no places."""
    if not places:
        return math.nan
    return math.exp(-math.fsum(place.logarithm for place in places) / len(places))


class Height(Message):
    """What the head for masked words says of the vectors at one height of the network."""

    guesses: tuple[Guess, ...]
    actual: tuple[PlaceScore | None, ...] = Field(
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


class LoadReport(Message):
    """What became of the tensors of a checkpoint, in our names where we have one."""

    loaded: tuple[str, ...] = ()
    fresh: tuple[str, ...] = Field((), description="Not in the file: newly initialised.")
    left_over: tuple[str, ...] = Field((), description="In the file and not used.")
    notes: tuple[str, ...] = ()

    def sentence(self) -> str:
        parts = [f"{len(self.loaded)} tensors loaded"]
        if self.fresh:
            parts.append(f"{len(self.fresh)} newly made ({_first_few(self.fresh)})")
        if self.left_over:
            parts.append(f"{len(self.left_over)} left over ({_first_few(self.left_over)})")
        return "; ".join(parts) + "."


def _first_few(names: tuple[str, ...]) -> str:
    return ", ".join(names[:4]) + (", …" if len(names) > 4 else "")


class CheckpointInfo(Message):
    """What is known of a checkpoint folder without loading its weights into a network."""

    family: str = "bert"
    layers: int
    width: int
    heads: int
    inner: int
    positions: int
    vocabulary: int
    parameters: int
    task_heads: tuple[str, ...] = Field(
        (), description="Of “masked words”, “next sentence”, “pooler”, and a `HeadKind`."
    )
    labels: tuple[str, ...] = ()
    lowercase: bool = True
    causal: bool = Field(False, description="Left-to-right: no token looks at a later one.")
    dtype: str = "float32"
    bytes: int = 0


class Examined(Answer):
    kind: Literal["examined"] = "examined"
    info: CheckpointInfo
    report: LoadReport


class Imported(Answer):
    kind: Literal["imported"] = "imported"
    folder: Path
    info: CheckpointInfo
    report: LoadReport


class Comparison(Message):
    """How what an export says differs from what the model says, for one output."""

    output: str
    rows: int = Field(description="How often it was said: for each input, or each token.")
    difference: float = Field(description="The largest, as a share of `scale`.")
    scale: float = Field(description="The largest number that the model said; at least 1.")
    bound: float | None = Field(description="The largest difference allowed; None: picks count.")
    agreement: float | None = Field(None, description="Share of equal picks, where there are any.")
    least_agreement: float = 0
    chance: float | None = Field(None, description="The largest difference of a probability.")

    def sentence(self) -> str:
        off = f"largest difference {self.difference:.1e} of the largest number ({self.scale:.4g})"
        if not self.difference:
            off = "no difference at all"
        elif self.bound is not None:
            off += f", at most {self.bound:.0e} allowed"
        parts = [off]
        if self.agreement is not None:
            parts.append(
                f"{self.agreement:.1%} of {self.rows} picks agree, at least "
                f"{self.least_agreement:.0%} needed"
            )
        if self.chance:
            parts.append(f"probabilities differ by at most {self.chance:.2g}")
        return f"{self.output}: {'; '.join(parts)}."


class ExportReport(Message):
    """What an export was held against, in a process that knew nothing but its files.

    It goes along with the export, so it holds no path and no row of the user's data.
    """

    at: AwareDatetime = Field(default_factory=now)
    checkpoint: str
    form: Form
    precision: Precision
    heads: tuple[str, ...]
    tensors: int
    parameters: int
    labels: tuple[str, ...]
    notes: tuple[str, ...] = Field(
        (), description="What was passed over when the checkpoint itself was loaded."
    )
    weights_equal: bool | None = Field(
        description="Bit for bit, rounded to `precision`; None where they have another form."
    )
    texts: tuple[str, ...] = Field(description="Built-in texts themselves; of others the names.")
    sources: tuple[str, ...] = Field(description="Where the texts come from.")
    comparisons: tuple[Comparison, ...]
    versions: dict[str, str]


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
    stage: str
    done: int = 0
    total: int = 0
    so_far: Attended | None = Field(None, description="What is there to be shown already.")


class Refused(Answer):
    """The question cannot be answered; the explorer lives on."""

    kind: Literal["refused"] = "refused"
    problem: str
    advice: str = ""
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
