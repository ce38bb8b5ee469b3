"""Run the encoder without padding, and its last layer for selected tokens only.

The result equals `Encoder.forward`. Instead of tokens, a batch may contain the output of the lowest
`Encoder.cached_layers` layers (`run_lower_layers`), float [B, T, 1, D]; only the layers above are
then computed.

Shapes: B sequences, T tokens in each, R selected tokens in each, D hidden size; N tokens without
padding, M selected ones; N' and M' include the rows added by `UnpaddedLayout`.
"""

from itertools import islice

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from engine.models.encoder import Encoded, Encoder
from engine.models.fast.padded_blocks import COST, CPU_CACHE, GPU_COST, AttentionShape, Ints
from engine.models.fast.unpadded import UnpaddedBatch, UnpaddedLayout, unpad


def encode(
    encoder: Encoder,
    tokens: Tensor,
    segments: Tensor,
    attention_mask: Tensor | None = None,
    query_positions: Tensor | None = None,
    unpadded: UnpaddedBatch | None = None,
) -> Encoded:
    """Encode a batch; vectors of padding may be 0.

    Args:
        query_positions: int64 [M], flat indices ([B * T]) of the vectors to return, without
            padding; None: all.
        unpadded: the batch's plan for these positions, on its device; None: made here,
            which synchronises with the device.
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
    """Pooler output of each sequence, float [B, D].

    `unpadded` is a plan without query positions.
    """
    if skips_padding(encoder, attention_mask) or tokens.is_floating_point():
        no_positions = segments.new_empty(0)
        pooled = encode(encoder, tokens, segments, attention_mask, no_positions, unpadded).pooled
        assert pooled is not None
        return pooled
    assert encoder.pooler is not None
    positions = encoder.pooled_positions(tokens, attention_mask)
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
    """Last hidden states at int64 [B, R], positions in each sequence: float [B, R, D]."""
    x = encoder.embeddings(tokens, segments)
    layout = encoder.padded_layout(x, attention_mask)
    *lower, top = encoder.iter_layers()
    for layer in lower:
        x, _ = layer(x, layout)
    x, _ = top(x, encoder.padded_layout(x, attention_mask, query_rows=positions))
    last: Tensor = encoder.norm(x)
    return last


@torch.no_grad()
def run_lower_layers(
    encoder: Encoder, tokens: Tensor, segments: Tensor, attention_mask: Tensor | None, count: int
) -> Tensor:
    """Output of the lowest `count` layers, float [B, T, D]; 0 on padding.

    The final norm of the encoder is not applied.
    """
    batch = _plan_on_device(encoder, tokens, attention_mask)
    x, layout = _embed(encoder, tokens, segments, batch), _with_relative(encoder, batch.layout)
    for layer in islice(encoder.iter_layers(), count):
        x, _ = layer(x, layout)
    x = x[: len(batch.indices)]
    padded = x.new_zeros(segments.numel(), x.size(1)).index_copy(0, batch.indices, x)
    return padded.view(*segments.shape, -1)


def plan_batch(
    encoder: Encoder, lengths: Ints, width: int, query_positions: Tensor | None = None
) -> UnpaddedBatch:
    """Plan an unpadded forward pass for sequences of these lengths, [B], padded to `width`.

    `query_positions`: as for `encode`; if they are on the host, nothing synchronises.
    """
    host_positions = None if query_positions is None else query_positions.cpu().numpy()
    shape = attention_shape(encoder, encoder.embeddings.token.weight.device)
    return unpad(lengths, width, shape, host_positions, encoder.pooler is not None)


def attention_shape(encoder: Encoder, device: torch.device) -> AttentionShape:
    """Network and device settings that a plan depends on."""
    on_cpu = device.type == "cpu"
    return AttentionShape(
        encoder.heads,
        encoder.causal,
        encoder.windows,
        cost=COST if on_cpu else GPU_COST,
        max_weights=CPU_CACHE if on_cpu else 0,
        nested=encoder.nested and encoder.relative is None,
        multiple=encoder.token_multiple,
        fixed_widths=encoder.fixed_widths,
    )


def skips_padding(encoder: Encoder, attention_mask: Tensor | None) -> bool:
    """True if padding is skipped. At inference, a single sentence is faster padded."""
    if torch.compiler.is_compiling() or encoder.computes_padding:
        return False
    return encoder.training or attention_mask is not None


def sequence_lengths(tokens: Tensor, attention_mask: Tensor | None) -> Ints:
    """Length of each sequence without padding, int64 [B]."""
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
    first_layer = 0
    if tokens.is_floating_point():
        first_layer = encoder.cached_layers
        x = _pad_rows(tokens.flatten(2).flatten(0, 1)[batch.indices], batch)
    else:
        x = _embed(encoder, tokens, segments, batch)
    layout = last_layout = _with_relative(encoder, batch.layout)
    if batch.last_layout is not batch.layout:
        last_layout = _with_relative(encoder, batch.last_layout)
    upper = list(islice(encoder.iter_layers(), first_layer, None))
    for layer in upper[:-1]:
        x, _ = encoder.run_layer(layer, x, layout)
    x = encoder.run_layer(upper[-1], x, last_layout)[0] if upper else last_layout.take_queries(x)
    x = encoder.norm(x)  # [M', D], or [N', D] for all
    if batch.order is not None:
        assert query_positions is not None
        x = x.index_select(0, batch.order)
        hidden, to_pool = x[: len(query_positions)], x[len(query_positions) :]
    else:
        x = x[: len(batch.indices)]
        padded = x.new_zeros(B * T, x.size(1)).index_copy(0, batch.indices, x)
        hidden = padded.view(B, T, -1) if query_positions is None else padded[query_positions]
        to_pool = padded[batch.pooled]
    pooled = None if encoder.pooler is None else encoder.pooler(to_pool[:, None])
    return Encoded(hidden, pooled)


def _plan_on_device(
    encoder: Encoder,
    tokens: Tensor,
    attention_mask: Tensor | None,
    query_positions: Tensor | None = None,
) -> UnpaddedBatch:
    """Plan a batch on its device; synchronises."""
    lengths = sequence_lengths(tokens, attention_mask)
    plan = plan_batch(encoder, lengths, tokens.size(1), query_positions)
    return plan.map_tensors(lambda tensor: tensor.to(tokens.device))


def _embed(encoder: Encoder, tokens: Tensor, segments: Tensor, batch: UnpaddedBatch) -> Tensor:
    """Embeddings of the tokens, float [N', D]."""
    rows = encoder.embeddings.positions(tokens).expand(tokens.shape).reshape(-1)
    flat = (tensor.reshape(-1)[batch.indices] for tensor in (tokens, segments, rows))
    return _pad_rows(encoder.embeddings(*flat), batch)


def _pad_rows(x: Tensor, batch: UnpaddedBatch) -> Tensor:
    """Append the added rows as zeros: float [N, D] → [N', D]."""
    return F.pad(x, (0, 0, 0, batch.added_rows)) if batch.added_rows else x


def _with_relative(encoder: Encoder, layout: UnpaddedLayout) -> UnpaddedLayout:
    """Add relative-position scores, if the encoder has them."""
    return layout if encoder.relative is None else layout.with_relative(encoder.relative)
