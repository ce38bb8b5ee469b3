"""What the scores of attention get from how far apart two tokens are.

A family has one such part for all of its layers; it is asked once for each batch, and its answer is
carried by the layout to every layer.

Shapes: n sequences (or one for all), m tokens that ask, w tokens that are asked, H heads, K size of
a head, D hidden size.
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from engine.messages.explore.attention import ScoreTerm
from engine.spec.model import EncoderSpec

if TYPE_CHECKING:
    from engine.models.attention import Attention

Part = tuple[ScoreTerm, Tensor]  # its name, and what it adds to the scores


@dataclass(frozen=True)
class Bucketed:
    """A number for each head and each distance, which is added to the scores."""

    bias: Tensor  # float [n, H, m, w]

    def terms(self, attention: "Attention", q: Tensor, k: Tensor) -> list[Part]:
        """What is added to the scores of queries [n, H, m, K] and keys [n, H, w, K]."""
        return [("distance", self.bias)]


Relative = Bucketed


class BucketedPositions(nn.Module):
    """A number for each head and each of some buckets of distances (Raffel et al. 2020, §2.1)."""

    farthest = 128  # tokens; all that are farther away are in the last bucket

    def __init__(self, buckets: int, heads: int) -> None:
        super().__init__()
        self.buckets = buckets
        self.bias = nn.Embedding(buckets, heads)

    def forward(self, apart: Tensor) -> Bucketed:
        """`apart`: int64 [n, m, w], positions of those that ask less those that are asked."""
        found = self.bias(self.bucket(apart))  # [n, m, w, H]
        return Bucketed(found.permute(0, 3, 1, 2))

    def bucket(self, apart: Tensor) -> Tensor:
        """Half of the buckets are for each side; half of those are wider and wider, as logs."""
        side = self.buckets // 2
        exact = side // 2
        far = apart.abs()
        logs = torch.log(far.float() / exact) / math.log(self.farthest / exact)
        wide = (exact + (logs * (side - exact)).to(torch.long)).clamp(max=side - 1)
        return torch.where(far < exact, far, wide) + side * (apart < 0)


def relative_part(spec: EncoderSpec) -> nn.Module | None:
    """The part that a family adds to the scores; None where it adds nothing."""
    if spec.parts.relative == "buckets":
        return BucketedPositions(spec.relative_buckets, spec.heads)
    return None
