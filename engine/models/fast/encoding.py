"""The encoder at the least cost: no work on padding, and in the last layer only what is wanted.

It goes through the layers of `engine.models.encoder`, and says what `Encoder.forward` says. In the
place of tokens a batch may have what the lowest `Encoder.cached_layers` make of them, which
`run_lower_layers` says, as float [B, T, 1, D]: the others alone are computed then.

Shapes: B sequences, T tokens in each, R of each that are wanted, D hidden size; N tokens without
padding, M of them that are wanted; N' and M' the same with what `Unpadded` adds.
"""

from itertools import islice

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from engine.models.encoder import Encoded, Encoder
from engine.models.fast.padded_blocks import CACHED, COST, COST_ON_GPU, AttentionShape, Ints
from engine.models.fast.unpadded import Unpadded, UnpaddedBatch, unpad


def encode(
    encoder: Encoder,
    tokens: Tensor,
    segments: Tensor,
    attention_mask: Tensor | None = None,
    query_positions: Tensor | None = None,
    unpadded: UnpaddedBatch | None = None,
) -> Encoded:
    """Encode a batch; where all vectors are wanted, those of padding may be 0.

    Args:
        query_positions: int64 [M], of which positions in the flattened [B * T] the last vectors are
            wanted, none of them padding; None: of all.
        unpadded: the plan of this batch for the same positions, on its device; None: it is made
            here, for which a device is waited for.
    """
    if not (skips_padding(encoder, attention_mask) or tokens.is_floating_point()):
        encoded: Encoded = encoder(tokens, segments, attention_mask)
        if query_positions is None:
            return encoded
        return encoded._replace(last=encoded.last.flatten(0, 1)[query_positions])
    if unpadded is None:
        unpadded = _plan_on_device(encoder, tokens, attention_mask, query_positions)
    return _encode_unpadded(encoder, tokens, segments, query_positions, unpadded)


def encode_pooled(
    encoder: Encoder,
    tokens: Tensor,
    segments: Tensor,
    attention_mask: Tensor | None = None,
    unpadded: UnpaddedBatch | None = None,
) -> Tensor:
    """What the pooler makes of each sequence, float [B, D].

    `unpadded` is a plan for no positions.
    """
    if skips_padding(encoder, attention_mask) or tokens.is_floating_point():
        none = segments.new_empty(0)
        found = encode(encoder, tokens, segments, attention_mask, none, unpadded).pooled
        assert found is not None
        return found
    assert encoder.pooler is not None
    positions = encoder.summary_positions(tokens, attention_mask)
    vectors: Tensor = encoder.pooler(
        encode_at(encoder, tokens, segments, positions, attention_mask)
    )
    return vectors


def encode_at(
    encoder: Encoder,
    tokens: Tensor,
    segments: Tensor,
    positions: Tensor,
    attention_mask: Tensor | None = None,
) -> Tensor:
    """The last vectors of int64 [B, R], positions in each sequence: float [B, R, D]."""
    x = encoder.embeddings(tokens, segments)
    layout = encoder.padded(x, attention_mask)
    *lower, top = encoder.iter_layers()
    for layer in lower:
        x, _ = layer(x, layout)
    x, _ = top(x, encoder.padded(x, attention_mask, query_rows=positions))
    last: Tensor = encoder.norm(x)
    return last


@torch.no_grad()
def run_lower_layers(
    encoder: Encoder,
    tokens: Tensor,
    segments: Tensor,
    attention_mask: Tensor | None,
    count: int,
) -> Tensor:
    """What the embeddings and the lowest `count` layers make of each token, float [B, T, D].

    0 on padding. Above the highest layer the encoder's own norm follows, which is left out here.
    """
    batch = _plan_on_device(encoder, tokens, attention_mask)
    x, layers = _embed(encoder, tokens, segments, batch), _with_distances(encoder, batch.layers)
    for layer in islice(encoder.iter_layers(), count):
        x, _ = layer(x, layers)
    x = x[: len(batch.indices)]
    spread = x.new_zeros(segments.numel(), x.size(1)).index_copy(0, batch.indices, x)
    return spread.view(*segments.shape, -1)


def plan_batch(
    encoder: Encoder, lengths: Ints, width: int, query_positions: Tensor | None = None
) -> UnpaddedBatch:
    """How the encoder goes through sequences of such lengths, [B], in a batch of such a width.

    `query_positions` as for `encode`; on the host they cost no wait.
    """
    wanted_positions = None if query_positions is None else query_positions.cpu().numpy()
    shape = attention_shape(encoder, encoder.embeddings.token.weight.device)
    return unpad(lengths, width, shape, wanted_positions, encoder.pooler is not None)


def attention_shape(encoder: Encoder, device: torch.device) -> AttentionShape:
    """What the rectangles of a network depend on, where it computes on that device."""
    on_processor = device.type == "cpu"
    return AttentionShape(
        encoder.heads,
        encoder.causal,
        encoder.windows,
        cost=COST if on_processor else COST_ON_GPU,
        largest=CACHED if on_processor else 0,
        nested=encoder.nested and encoder.relative is None,
        multiple=encoder.token_multiple,
    )


def skips_padding(encoder: Encoder, attention_mask: Tensor | None) -> bool:
    """Whether padding is left out. Alone and without gradients a sentence is quicker as it is."""
    if torch.compiler.is_compiling() or encoder.computes_padding:
        return False
    return encoder.training or attention_mask is not None


def sequence_lengths(tokens: Tensor, attention_mask: Tensor | None) -> Ints:
    """How many tokens each sequence has without its padding, int64 [B]."""
    if attention_mask is None:
        return np.full(tokens.size(0), tokens.size(1))
    lengths: Ints = attention_mask.sum(1).cpu().numpy()
    return lengths


def _encode_unpadded(
    encoder: Encoder,
    tokens: Tensor,
    segments: Tensor,
    query_positions: Tensor | None,
    batch: UnpaddedBatch,
) -> Encoded:
    B, T = segments.shape
    begins_at = 0
    if tokens.is_floating_point():
        begins_at = encoder.cached_layers
        x = _pad_rows(tokens.flatten(2).flatten(0, 1)[batch.indices], batch)
    else:
        x = _embed(encoder, tokens, segments, batch)
    layers = _with_distances(encoder, batch.layers)
    last = layers if batch.last is batch.layers else _with_distances(encoder, batch.last)
    upper = list(islice(encoder.iter_layers(), begins_at, None))
    for layer in upper[:-1]:
        x, _ = encoder.run_layer(layer, x, layers)
    x = encoder.run_layer(upper[-1], x, last)[0] if upper else last.wanted(x)
    x = encoder.norm(x)  # [M', D], or [N', D] where all are wanted
    if batch.order is not None:
        assert query_positions is not None
        x = x.index_select(0, batch.order)
        wanted, summary = x[: len(query_positions)], x[len(query_positions) :]
    else:
        x = x[: len(batch.indices)]
        spread = x.new_zeros(B * T, x.size(1)).index_copy(0, batch.indices, x)
        wanted = spread.view(B, T, -1) if query_positions is None else spread[query_positions]
        summary = spread[batch.summary]
    encode_pooled = None if encoder.pooler is None else encoder.pooler(summary[:, None])
    return Encoded(wanted, encode_pooled)


def _plan_on_device(
    encoder: Encoder,
    tokens: Tensor,
    attention_mask: Tensor | None,
    query_positions: Tensor | None = None,
) -> UnpaddedBatch:
    """The plan of a batch on its device, for which that is waited for."""
    lengths = sequence_lengths(tokens, attention_mask)
    made = plan_batch(encoder, lengths, tokens.size(1), query_positions)
    return made.map_tensors(lambda tensor: tensor.to(tokens.device))


def _embed(encoder: Encoder, tokens: Tensor, segments: Tensor, batch: UnpaddedBatch) -> Tensor:
    """The embeddings of the tokens, float [N', D]."""
    rows = encoder.embeddings.positions(tokens).expand(tokens.shape).reshape(-1)
    given = (each.reshape(-1)[batch.indices] for each in (tokens, segments, rows))
    return _pad_rows(encoder.embeddings(*given), batch)


def _pad_rows(x: Tensor, batch: UnpaddedBatch) -> Tensor:
    """float [N, D] → [N', D]."""
    return F.pad(x, (0, 0, 0, batch.added)) if batch.added else x


def _with_distances(encoder: Encoder, layers: Unpadded) -> Unpadded:
    """With what the distances between tokens add to scores, where the encoder has that."""
    return layers if encoder.relative is None else layers.with_distances(encoder.relative)
