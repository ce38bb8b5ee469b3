"""A pass through the encoder, one layer after the other, with what each of them looks at.

Shapes: T tokens, D width, H heads, L layers; the batch is always of one.
"""

from collections.abc import Iterator
from typing import NamedTuple

from torch import Tensor

from engine.explore.inputs import Inputs
from engine.models.attention import Attention
from engine.models.encoder import Layer
from engine.models.network import Network


class Step(NamedTuple):
    """One layer at work."""

    attention: Attention
    given: Tensor  # float [T, D], what the layer is given
    weights: Tensor  # float [H, T, T], rows look at columns; rows sum to 1
    made: Tensor  # float [T, D], what the layer makes of it


def steps(network: Network, given: Inputs) -> Iterator[Step]:
    """L steps, the lowest first; a layer that works at several heights comes as often."""
    encoder = network.encoder
    x = encoder.embeddings(given.tokens, given.segments)  # [1, T, D]
    bias = encoder.bias(x, None)
    for layer in encoder.passes():
        assert isinstance(layer, Layer)
        made, weights = layer(x, bias, True)
        yield Step(layer.attention, x[0], weights[0], made[0])
        x = made
