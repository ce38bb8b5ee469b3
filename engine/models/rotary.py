"""Rotary position embeddings (Su et al. 2021, §3.2.2): positions are angles between vectors.

Shapes: H heads, K size of a head, D = H * K; … any leading dimensions.
"""

import torch
from torch import Tensor


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
