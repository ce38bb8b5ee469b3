"""Question for smaller models of a fine-tuned one, and its answers."""

from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from engine.config.phrases import PhraseField
from engine.messages import Message
from engine.messages.question import Answer, Question

Cost = Literal["milliseconds", "bytes"]
CLOSE = 0.97  # of the score of the teacher


class Shape(Message):
    """Dimensions of a student that was cut out of its teacher.

    Args:
        layers, heads, intermediate_size: as in the spec of a network; the size of a head is that
            of the teacher, so fewer heads are a smaller hidden size.
        max_length: longer inputs are truncated to this many tokens.
    """

    layers: int
    heads: int
    intermediate_size: int
    max_length: int


class ShrinkPoint(Message):
    """A measured model: the teacher or a student, in fp32 or in reduced precision.

    Args:
        name: what it is; a folder in that of the question, or of the teacher.
        checkpoint: its folder.
        computed: precision of its products.
        shape: what it keeps of the teacher; None for the teacher and other students.
        parameters, bytes: of its weights as they are stored.
        milliseconds: processor time per text here, relative to that of the teacher.
        times: how many times as fast as the teacher in fp32, a median; `slowest` and `fastest`
            are the extremes of the rounds.
        score, low, high: of the validation rows, with its 95 % interval.
        is_teacher: false for students.
    """

    name: PhraseField
    checkpoint: Path
    computed: Literal["float32", "bfloat16", "int8"] = "float32"
    shape: Shape | None = None
    layers: int
    hidden_size: int
    intermediate_size: int
    vocabulary: int
    parameters: int
    bytes: int
    max_length: int
    milliseconds: float
    times: float
    slowest: float
    fastest: float
    score: float
    low: float
    high: float
    is_teacher: bool = False

    def cost(self, kind: Cost) -> float:
        return self.milliseconds if kind == "milliseconds" else self.bytes


class Shrunk(Answer):
    """The points so far, in the order in which they were measured; the teacher is the first.

    Args:
        metric, higher_is_better: the score of the points.
        rows: number of validation rows.
        done, trials: of the search.
        ended: no point follows.
    """

    kind: Literal["shrunk"] = "shrunk"
    points: tuple[ShrinkPoint, ...]
    metric: str
    higher_is_better: bool = True
    rows: int
    done: int
    trials: int
    ended: bool = False
    notes: tuple[PhraseField, ...] = ()

    @property
    def is_final(self) -> bool:
        return self.ended

    def frontier(self, kind: Cost = "milliseconds") -> list[ShrinkPoint]:
        """Points that no other beats in both score and cost, the cheapest first."""
        sign = 1 if self.higher_is_better else -1
        ordered = sorted(self.points, key=lambda point: (point.cost(kind), -sign * point.score))
        best, chosen = float("-inf"), list[ShrinkPoint]()
        for point in ordered:
            if sign * point.score > best:
                best = sign * point.score
                chosen.append(point)
        return chosen

    def smallest_close(self) -> ShrinkPoint | None:
        """The smallest student with 97 % of the teacher's score, the fastest use of it."""
        teacher = self.points[0].score if self.points else 0.0
        close = [
            point
            for point in self.points
            if not point.is_teacher
            and (
                point.score >= CLOSE * teacher
                if self.higher_is_better
                else CLOSE * point.score <= teacher
            )
        ]
        return min(close, key=lambda point: (point.bytes, -point.times), default=None)


class Shrink(Question):
    """Train smaller models to copy a fine-tuned one, and measure all of them.

    Work that is finished in `into` is not repeated.
    """

    answered_by: ClassVar[type[Answer]] = Shrunk
    kind: Literal["shrink"] = "shrink"
    run: Path = Field(description="The run whose best checkpoint is the teacher.")
    into: Path = Field(description="A folder for the students, one run each.")
    trials: int = Field(8, ge=1, le=100)
    students: tuple[Path, ...] = Field(
        (), description="Other models that learn from the teacher, each one trial."
    )
    texts: Path | None = Field(None, description="A file of texts without labels.")
    epochs: float | None = Field(None, gt=0, description="None: as recommended for each student.")
    seed: int | None = Field(None, description="Of the students. None: that of the run.")
