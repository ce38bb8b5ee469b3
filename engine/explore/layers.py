"""A pass through the encoder, one layer after the other, with the attention of each.

Shapes: T tokens, D hidden size, H heads, L layers; the batch is always of one.
"""

from collections.abc import Iterator
from typing import NamedTuple

from torch import Tensor

from engine.models.attention import Attention, Padded
from engine.models.encoder import Layer
from engine.models.network import Network
from engine.tasks.inputs import Inputs


class Step(NamedTuple):
    """One layer at work."""

    attention: Attention
    given: Tensor  # float [T, D], what attention reads: of pre-norm layers, what was normalised
    x: Tensor  # float [1, T, D], what the layer is given
    layout: Padded
    weights: Tensor  # float [H, T, T], query tokens over key tokens; rows sum to 1


def steps(network: Network, given: Inputs) -> Iterator[Step]:
    """L steps, the lowest first; a layer that works at several heights comes as often.

    What the last layer would make of what it gathers is left out, for nobody asks for it.
    """
    encoder = network.encoder
    x = encoder.embeddings(given.tokens, given.segments)  # [1, T, D]
    layout = encoder.padded(x, None, keep_weights=True)
    *lower, top = encoder.passes()
    for layer in lower:
        assert isinstance(layer, Layer)
        made, weights = layer(x, layout)
        yield Step(layer.attention, layer.attention.read(x)[0], x, layout, weights[0])
        x = made
    assert isinstance(top, Layer)
    weights = top.attention.weights(x, layout)
    yield Step(top.attention, top.attention.read(x)[0], x, layout, weights[0])
