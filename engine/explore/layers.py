"""Forward passes through the encoder, layer by layer, with the attention of each.

Shapes: B texts, T tokens, D hidden size, H heads, L layers.
"""

from collections.abc import Iterator
from typing import NamedTuple

from torch import Tensor

from engine.models.attention import Attention, PaddedLayout
from engine.models.encoder import Layer
from engine.models.network import Network


class LayerPass(NamedTuple):
    """One layer in a forward pass."""

    attention: Attention
    x: Tensor  # float [B, T, D], input of the layer
    layout: PaddedLayout
    weights: Tensor  # float [B, H, T, T], query tokens over key tokens; rows sum to 1


def iter_layers(
    network: Network, tokens: Tensor, segments: Tensor, attention_mask: Tensor | None = None
) -> Iterator[LayerPass]:
    """Yield the L layers from the lowest; a module that serves several layers is repeated.

    The feed-forward part of the last layer is skipped, since nothing reads its output.

    Args:
        tokens: int64 [B, T].
        segments: int64 [B, T].
        attention_mask: bool [B, T], False on padding; None without padding.
    """
    encoder = network.encoder
    x = encoder.embeddings(tokens, segments)  # [B, T, D]
    layout = encoder.padded_layout(x, attention_mask, keep_weights=True)
    *lower, top = encoder.iter_layers()
    for layer in lower:
        assert isinstance(layer, Layer)
        output, weights = layer(x, layout)
        yield LayerPass(layer.attention, x, layout, weights)
        x = output
    assert isinstance(top, Layer)
    yield LayerPass(top.attention, x, layout, top.attention.weights(x, layout))
