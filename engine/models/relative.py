"""What the scores of attention get from how far apart two tokens are.

A family has one such part for all of its layers; it is asked once for each batch, and its answer is
carried by the layout to every layer.

Shapes: n sequences (or one for all), m tokens that ask, w tokens that are asked, H heads, K size of
a head, D hidden size.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from engine.config.families.deberta import DebertaSpec
from engine.config.model import EncoderSpec
from engine.messages.explore.attention import ScoreTerm

if TYPE_CHECKING:
    from engine.models.attention import Attention


ScorePart = tuple[ScoreTerm, Tensor]  # its name, and what it adds to the scores


@dataclass(frozen=True)
class BucketBias:
    """A number for each head and each distance, which is added to the scores."""

    bias: Tensor  # float [n, H, m, w]

    def terms(self, attention: "Attention", q: Tensor, k: Tensor) -> list[ScorePart]:
        """What is added to the scores of queries [n, H, m, K] and keys [n, H, w, K]."""
        kept = attention.kept
        return [("distance", self.bias if kept is None else self.bias[:, kept])]


@dataclass(frozen=True)
class DisentangledBias:
    """Vectors of distances, which meet queries and keys (He et al. 2021, §3.1)."""

    vectors: Tensor  # float [P, D], of the distances that there are
    index: Tensor  # int64 [n, m, w], which of them each pair of tokens has

    def terms(self, attention: "Attention", q: Tensor, k: Tensor) -> list[ScorePart]:
        """What is added to the scores of queries [n, H, m, K] and keys [n, H, w, K].

        The vectors become keys and queries by the matrices of the layer.
        """
        vectors = attention.dropout(self.vectors)
        apart = (attention.heads, attention.head_size)
        keys = attention.key(vectors).unflatten(-1, apart).transpose(0, 1)  # [H, P, K]
        queries = attention.query(vectors).unflatten(-1, apart).transpose(0, 1)
        met = (q * attention.scale) @ keys.to(q.dtype).mT  # [n, H, m, P]
        index = self.index[:, None].expand(q.size(0), q.size(1), -1, -1)  # [n, H, m, w]
        to_position = met.gather(-1, index)
        met = (k * attention.scale) @ queries.to(k.dtype).mT  # [n, H, w, P]
        to_content = met.gather(-1, index.mT).mT  # [n, H, m, w]
        return [("content to position", to_position), ("position to content", to_content)]


Relative = BucketBias | DisentangledBias


def bucket_table(row: Callable[[Tensor], Tensor], positions: int) -> Tensor:
    """The row of a table for each distance between so many positions, from the lowest on, worked
    out once and on the host: int64 [2 * positions - 1].

    At the border of two buckets a logarithm of another library, as an ONNX graph would take, can
    round to the other one.
    """
    return row(torch.arange(1 - positions, positions, device="cpu"))


def look_up(rows: Tensor, apart: Tensor) -> Tensor:
    """The row of each distance, int64 of any shape; `rows` as `bucket_table` gives them."""
    return rows[apart + rows.size(0) // 2]


class BucketedPositions(nn.Module):
    """A number for each head and each of some buckets of distances (Raffel et al. 2020, §2.1)."""

    rows: Tensor
    farthest = 128  # tokens; all that are farther away are in the last bucket

    def __init__(self, buckets: int, heads: int, positions: int) -> None:
        super().__init__()
        self.buckets = buckets
        self.bias = nn.Embedding(buckets, heads)
        self.register_buffer("rows", bucket_table(self.row, positions), persistent=False)

    def forward(self, apart: Tensor) -> BucketBias:
        """`apart`: int64 [n, m, w], positions of those that ask less those that are asked."""
        found = self.bias(look_up(self.rows, apart))  # [n, m, w, H]
        return BucketBias(found.permute(0, 3, 1, 2))

    def row(self, apart: Tensor) -> Tensor:
        """Half of the buckets are for each side; half of those are wider and wider, as logs."""
        side = self.buckets // 2
        exact = side // 2
        far = apart.abs()
        logs = torch.log(far.float() / exact) / math.log(self.farthest / exact)
        wide = (exact + (logs * (side - exact)).to(torch.long)).clamp(max=side - 1)
        return torch.where(far < exact, far, wide) + side * (apart < 0)


class DisentangledPositions(nn.Module):
    """A vector for each bucket of distances: near ones one by one, farther ones by their logs."""

    rows: Tensor

    def __init__(self, spec: EncoderSpec, buckets: int, farthest: int) -> None:
        """`buckets`: of each side that are no logs, twice; 0: every distance has its own.
        `farthest`: the distance of the last one."""
        super().__init__()
        self.buckets, self.farthest = buckets, farthest
        self.side = spec.relative_buckets // 2
        self.table = nn.Embedding(spec.relative_buckets, spec.hidden_size)
        self.norm = nn.LayerNorm(spec.hidden_size, eps=spec.layer_norm_eps)
        rows = bucket_table(self.row, spec.max_positions)
        self.register_buffer("rows", rows, persistent=False)

    def forward(self, apart: Tensor) -> DisentangledBias:
        """`apart`: int64 [n, m, w], positions of those that ask less those that are asked."""
        first, last = 0, 2 * self.side - 1
        if not torch.compiler.is_compiling():  # only distances that there are
            reach = apart.size(-1) - 1
            first, last = (int(n) for n in self.row(torch.tensor([-reach, reach])))
        vectors = self.norm(self.table.weight[first : last + 1])  # [P, D]
        return DisentangledBias(vectors, (look_up(self.rows, apart) - first).clamp(0, last - first))

    def row(self, apart: Tensor) -> Tensor:
        """The row of the table for each distance."""
        if self.buckets:
            mid = self.buckets // 2
            far = apart.abs().clamp(min=mid).float()
            ratio = torch.log(far / mid) / math.log((self.farthest - 1) / mid)
            wide = (torch.ceil(ratio * (mid - 1)) + mid).to(torch.long) * apart.sign()
            apart = torch.where(apart.abs() <= mid, apart, wide)
        return (apart + self.side).clamp(0, 2 * self.side - 1)


def relative_positions(spec: EncoderSpec) -> nn.Module | None:
    """The part that a family adds to the scores; None where it adds nothing."""
    if spec.parts.relative == "buckets":
        return BucketedPositions(spec.relative_buckets, spec.heads, spec.max_positions)
    if isinstance(spec, DebertaSpec):
        return DisentangledPositions(spec, max(0, spec.position_buckets), spec.farthest)
    return None


class Rotary:
    """Turns queries and keys by angles that grow with their positions.

    The product of a query and a key then depends on how far apart they are. As published, the first
    half of a head's numbers is turned together with its second half.
    """

    def __init__(self, heads: int, base: float) -> None:
        """`base`: the slowest pair of numbers turns about so many times slower than the first."""
        self.heads, self.base = heads, base

    def __call__(self, x: Tensor, positions: Tensor) -> Tensor:
        """float [..., D] → [..., D]; positions int64 [...], or what spreads to it."""
        first, second = x.unflatten(-1, (self.heads, -1)).chunk(2, -1)  # [..., H, K / 2]
        half = first.size(-1)
        speeds = self.base ** -(torch.arange(half, device=x.device) / half)  # [K / 2]
        angles = positions[..., None, None] * speeds  # [..., 1, K / 2]
        cos, sin = angles.cos(), angles.sin()
        turned = torch.cat((first * cos - second * sin, second * cos + first * sin), -1)
        return turned.flatten(-2).to(x.dtype)
