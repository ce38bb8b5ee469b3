"""Relative positions: rotary angles, and terms added to attention scores.

A family has one module for all layers, called once per batch; the layout passes its result to every
layer.

Shapes: n sequences (or one for all), m query tokens, w key tokens, H heads, K size of a head, D
hidden size.
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


ScorePart = tuple[ScoreTerm, Tensor]  # name and score term


@dataclass(frozen=True)
class BucketBias:
    """Score bias per head and distance."""

    bias: Tensor  # float [n, H, m, w]

    def terms(self, attention: "Attention", q: Tensor, k: Tensor) -> list[ScorePart]:
        """Score terms of queries [n, H, m, K] and keys [n, H, w, K]."""
        columns = attention.kept_heads
        return [("distance", self.bias if columns is None else self.bias[:, columns])]


@dataclass(frozen=True)
class DisentangledBias:
    """Distance vectors for disentangled attention (He et al. 2021, §3.1)."""

    vectors: Tensor  # float [P, D], of the distances in use
    index: Tensor  # int64 [n, m, w], row of each token pair

    def terms(self, attention: "Attention", q: Tensor, k: Tensor) -> list[ScorePart]:
        """Score terms of queries [n, H, m, K] and keys [n, H, w, K].

        The layer's key and query matrices project the distance vectors.
        """
        vectors = attention.dropout(self.vectors)
        shape = (attention.heads, attention.head_size)
        keys = attention.key(vectors).unflatten(-1, shape).transpose(0, 1)  # [H, P, K]
        queries = attention.query(vectors).unflatten(-1, shape).transpose(0, 1)
        scores = (q * attention.scale) @ keys.to(q.dtype).mT  # [n, H, m, P]
        index = self.index[:, None].expand(q.size(0), q.size(1), -1, -1)  # [n, H, m, w]
        to_position = scores.gather(-1, index)
        scores = (k * attention.scale) @ queries.to(k.dtype).mT  # [n, H, w, P]
        to_content = scores.gather(-1, index.mT).mT  # [n, H, m, w]
        return [("content to position", to_position), ("position to content", to_content)]


Relative = BucketBias | DisentangledBias


def bucket_table(row: Callable[[Tensor], Tensor], positions: int) -> Tensor:
    """Table row of each distance between positions, lowest first: int64 [2 * positions - 1].

    Computed on the host, since at a bucket boundary the logarithm of another library (as in an ONNX
    graph) may round differently.
    """
    return row(torch.arange(1 - positions, positions, device="cpu"))


def look_up(rows: Tensor, distances: Tensor) -> Tensor:
    """Row of each distance, int64 of any shape; `rows` from `bucket_table`."""
    return rows[distances + rows.size(0) // 2]


class BucketedPositions(nn.Module):
    """Learned bias per head and bucket of distances (T5: Raffel et al. 2020, §2.1)."""

    rows: Tensor
    max_distance = 128  # tokens; larger distances share the last bucket

    def __init__(self, buckets: int, heads: int, positions: int) -> None:
        super().__init__()
        self.buckets = buckets
        self.bias = nn.Embedding(buckets, heads)
        self.register_buffer("rows", bucket_table(self.row, positions), persistent=False)

    def forward(self, distances: Tensor) -> BucketBias:
        """`distances`: int64 [n, m, w], query position minus key position."""
        bias = self.bias(look_up(self.rows, distances))  # [n, m, w, H]
        return BucketBias(bias.permute(0, 3, 1, 2))

    def row(self, distances: Tensor) -> Tensor:
        """Bucket of each distance: half of the buckets per direction, half of these logarithmic."""
        side = self.buckets // 2
        exact = side // 2
        far = distances.abs()
        logs = torch.log(far.float() / exact) / math.log(self.max_distance / exact)
        coarse = (exact + (logs * (side - exact)).to(torch.long)).clamp(max=side - 1)
        return torch.where(far < exact, far, coarse) + side * (distances < 0)


class DisentangledPositions(nn.Module):
    """Vector per bucket of distances: exact when near, logarithmic when far."""

    rows: Tensor

    def __init__(self, spec: EncoderSpec, buckets: int, max_distance: int) -> None:
        """`buckets`: twice the number of exact distances per direction; 0: all are exact.
        `max_distance`: the largest distance.
        """
        super().__init__()
        self.buckets, self.max_distance = buckets, max_distance
        self.side = spec.relative_buckets // 2
        self.table = nn.Embedding(spec.relative_buckets, spec.hidden_size)
        self.norm = nn.LayerNorm(spec.hidden_size, eps=spec.layer_norm_eps)
        rows = bucket_table(self.row, spec.max_positions)
        self.register_buffer("rows", rows, persistent=False)

    def forward(self, distances: Tensor) -> DisentangledBias:
        """`distances`: int64 [n, m, w], query position minus key position."""
        first, last = 0, 2 * self.side - 1
        if not torch.compiler.is_compiling():  # only distances in use
            reach = distances.size(-1) - 1
            first, last = (int(n) for n in self.row(torch.tensor([-reach, reach])))
        vectors = self.norm(self.table.weight[first : last + 1])  # [P, D]
        return DisentangledBias(
            vectors, (look_up(self.rows, distances) - first).clamp(0, last - first)
        )

    def row(self, distances: Tensor) -> Tensor:
        """Table row of each distance."""
        if self.buckets:
            mid = self.buckets // 2
            far = distances.abs().clamp(min=mid).float()
            ratio = torch.log(far / mid) / math.log((self.max_distance - 1) / mid)
            coarse = (torch.ceil(ratio * (mid - 1)) + mid).to(torch.long) * distances.sign()
            distances = torch.where(distances.abs() <= mid, distances, coarse)
        return (distances + self.side).clamp(0, 2 * self.side - 1)


def relative_positions(spec: EncoderSpec) -> nn.Module | None:
    """Relative-position module of a family, or None."""
    if spec.parts.relative == "buckets":
        return BucketedPositions(spec.relative_buckets, spec.heads, spec.max_positions)
    if isinstance(spec, DebertaSpec):
        return DisentangledPositions(spec, max(0, spec.position_buckets), spec.max_distance)
    return None


class Rotary:
    """Rotary position embeddings (Su et al. 2021, §3.2.2).

    Rotates queries and keys by position-dependent angles, so that their product depends on the
    distance. As published, the halves of a head's vector form the rotated pairs.
    """

    def __init__(self, heads: int, base: float) -> None:
        """`base`: ratio of the fastest to the slowest rotation."""
        self.heads, self.base = heads, base

    def __call__(self, x: Tensor, positions: Tensor) -> Tensor:
        """float [..., D] → [..., D]; positions int64 [...], broadcastable."""
        first, second = x.unflatten(-1, (self.heads, -1)).chunk(2, -1)  # [..., H, K / 2]
        half = first.size(-1)
        frequencies = self.base ** -(torch.arange(half, device=x.device) / half)  # [K / 2]
        angles = positions[..., None, None] * frequencies  # [..., 1, K / 2]
        cos, sin = angles.cos(), angles.sin()
        rotated = torch.cat((first * cos - second * sin, second * cos + first * sin), -1)
        return rotated.flatten(-2).to(x.dtype)
