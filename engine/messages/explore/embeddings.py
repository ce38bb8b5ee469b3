"""What a token is before the first layer: the embeddings that are summed, and how long each is."""

from typing import ClassVar, Literal

from pydantic import Field

from engine.messages import Message
from engine.messages.explore.text import TextQuestion, Token
from engine.messages.question import Answer

Table = Literal["token", "position", "segment"]


class Addend(Message):
    """A row of a learned table for each token, and the length of each of these vectors."""

    table: Table
    rows: tuple[int, ...]
    norms: tuple[float, ...]


class Embedded(Answer):
    """Euclidean norms of T tokens: of each addend, their sum, and what the first layer reads.

    The last is the sum after its normalisation, in ALBERT also widened to the hidden size.
    """

    kind: Literal["embedded"] = "embedded"
    tokens: tuple[Token, ...]
    cut: bool = False
    addends: tuple[Addend, ...] = Field(
        description="The token, and of position and segment what the family has."
    )
    sums: tuple[float, ...]
    outcome: tuple[float, ...]
    milliseconds: float = 0


class Embed(TextQuestion):
    """The vectors of each token before the first layer, and what they are the sum of."""

    answered_by: ClassVar[type[Answer]] = Embedded
    kind: Literal["embed"] = "embed"
