"""Attention of every head, and how one attention weight is computed."""

from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field

from engine.messages import Message
from engine.messages.explore.text import PreciseAnswer, PreciseQuestion, TextQuestion, Token
from engine.messages.question import Answer

Measure = Literal["weights", "norms", "head_average", "rollout"]
ScoreTerm = Literal["content", "distance", "content to position", "position to content"]


class ArrayFile(Message):
    """A `.npy` file to be memory-mapped."""

    path: Path
    shape: tuple[int, ...]
    dtype: str


class Attended(PreciseAnswer):
    """float32 [L, H, T, T], query tokens over key tokens, of one `measure`.

    weights: the attention itself; rows sum to 1. head_average: the mean over the heads of each
    layer, H is 1. rollout: the fraction of each input token in a vector after each layer if
    only attention mixes them, with the residual as half (Abnar and Zuidema 2020, §3); H is 1, rows
    sum to 1. norms: the length of what a query token takes from a key token, ‖α f(x)‖ (Kobayashi
    et al. 2020, §3.2).

    While `layers` is not None, more layers follow in another answer with the same number.
    """

    kind: Literal["attended"] = "attended"
    tokens: tuple[Token, ...]
    weights: ArrayFile
    measure: Measure = "weights"
    layers: int | None = Field(
        None, description="Number of computed layers, from the first; None: all."
    )
    largest: float = Field(1.0, description="The largest value; 1 if rows sum to 1.")

    @property
    def is_final(self) -> bool:
        return self.layers is None


class Attend(PreciseQuestion):
    """Compute the attention of every head."""

    answered_by: ClassVar[type[Answer]] = Attended
    kind: Literal["attend"] = "attend"
    measure: Measure = "weights"


class ScorePart(Message):
    """One term of a score: the content of both tokens, or their distance."""

    term: ScoreTerm
    value: float


class QueryKeyShown(Answer):
    """A query and a key of width K, and what is computed from them (Vaswani et al. 2017, §3.2.1).

    `products` are query · key / √K, one by one; their sum is the score before the softmax, and
    `weight` is the attention weight after it. With rotary positions, both are rotated. If relative
    positions add to the score, `parts` are all its terms, and `products` are those of the content.
    """

    kind: Literal["query_key_shown"] = "query_key_shown"
    layer: int
    head: int
    query_token: int
    key_token: int
    query: tuple[float, ...]
    key: tuple[float, ...]
    products: tuple[float, ...]
    score: float
    scores: tuple[float | None, ...] = Field(
        description="Of the query token with every key token; None if it cannot attend."
    )
    weight: float
    parts: tuple[ScorePart, ...] = ()


class ShowQueryKey(TextQuestion):
    """Explain one attention weight of a head by its query and key."""

    answered_by: ClassVar[type[Answer]] = QueryKeyShown
    kind: Literal["show_query_key"] = "show_query_key"
    layer: int = Field(0, ge=0)
    head: int = Field(0, ge=0)
    query_token: int = Field(0, ge=0, description="Number of the token that attends.")
    key_token: int = Field(0, ge=0, description="Number of the token attended to.")
