"""What the explorer is asked."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from engine.messages import Message
from engine.spec.export import Form, Precision
from engine.spec.job import JobSpec


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
