"""A pass through the encoder, one layer after the other, with the attention of each.

Shapes: B texts, T tokens, D hidden size, H heads, L layers.
"""

from collections.abc import Iterator
from typing import NamedTuple

from torch import Tensor

from engine.models.attention import Attention, PaddedLayout
from engine.models.encoder import Layer
from engine.models.network import Network
from engine.tasks.inputs import Inputs


class Pass(NamedTuple):
    """One layer at work on a batch."""

    attention: Attention
    x: Tensor  # float [B, T, D], what the layer is given
    layout: PaddedLayout
    weights: Tensor  # float [B, H, T, T], query tokens over key tokens; rows sum to 1


class Step(NamedTuple):
    """One layer at work on one text."""

    attention: Attention
    given: Tensor  # float [T, D], what attention reads: of pre-norm layers, what was normalised
    x: Tensor  # float [1, T, D], what the layer is given
    layout: PaddedLayout
    weights: Tensor  # float [H, T, T], query tokens over key tokens; rows sum to 1


def steps(network: Network, given: Inputs) -> Iterator[Step]:
    """L steps through one text, as `passes` has them."""
    for attention, x, layout, weights in passes(network, given.tokens, given.segments):
        yield Step(attention, attention.read(x)[0], x, layout, weights[0])


def passes(
    network: Network, tokens: Tensor, segments: Tensor, attention_mask: Tensor | None = None
) -> Iterator[Pass]:
    """L of them, the lowest first; a layer that works at several heights comes as often.

    What the last layer would make of what it gathers is left out, for nobody asks for it.

    Args:
        tokens: int64 [B, T].
        segments: int64 [B, T].
        attention_mask: bool [B, T], False on padding; None where there is none.
    """
    encoder = network.encoder
    x = encoder.embeddings(tokens, segments)  # [B, T, D]
    layout = encoder.padded(x, attention_mask, keep_weights=True)
    *lower, top = encoder.iter_layers()
    for layer in lower:
        assert isinstance(layer, Layer)
        made, weights = layer(x, layout)
        yield Pass(layer.attention, x, layout, weights)
        x = made
    assert isinstance(top, Layer)
    yield Pass(top.attention, x, layout, top.attention.weights(x, layout))
