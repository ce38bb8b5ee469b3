"""Token vectors before the first layer: the summed embeddings and their norms."""

from typing import ClassVar, Literal

from pydantic import Field

from engine.messages import Message
from engine.messages.explore.text import TextQuestion, Token
from engine.messages.question import Answer

TableName = Literal["token", "position", "segment", "task"]


class Addend(Message):
    """A row of a learned table for each token, and the norm of each of these vectors."""

    table: TableName
    rows: tuple[int, ...]
    norms: tuple[float, ...]


class Embedded(Answer):
    """Euclidean norms of T tokens: of each addend, their sum, and the input of the first layer.

    The last is the sum after its normalisation, in ALBERT also projected to the hidden size.
    """

    kind: Literal["embedded"] = "embedded"
    tokens: tuple[Token, ...]
    addends: tuple[Addend, ...] = Field(
        description="The token, and position, segment and task if the network has them."
    )
    sums: tuple[float, ...]
    outcome: tuple[float, ...]


class Embed(TextQuestion):
    """Compute the norms of the input vectors and of their addends."""

    answered_by: ClassVar[type[Answer]] = Embedded
    kind: Literal["embed"] = "embed"
