"""Warm initialisation from co-occurrence counts.

From random weights, BERT spends its first millions of tokens on what counting finds in a minute:
which tokens occur near each other. So token embeddings start as word vectors from counts (factored
positive pointwise mutual information: Levy, Goldberg and Dagan 2015), position embeddings as
sinusoids (Vaswani et al. 2017, §3.5), by which each head of the lower layers first attends to a
neighbour, and the MLM head as the identity. The new network then predicts a token from its
neighbours. All weights are trained as usual; the architecture is that of the paper.

Shapes: V vocabulary, C context tokens, D hidden size, K head size, P sinusoids.
"""

import math

import numpy as np
import torch
from torch import Tensor

from engine.data.tokenized.dataset import TokenizedDataset
from engine.models.attention import Attention
from engine.models.embeddings import Embeddings
from engine.models.encoder import Layer
from engine.models.network import Network
from engine.progress import ProgressCallback

CONTEXTS = 2048  # most frequent tokens, which serve as contexts
MAX_CELLS = 1 << 26  # tokens x contexts; a larger vocabulary gets fewer contexts
DISTANCE_WEIGHTS = (1.0, 0.8, 0.6, 0.4, 0.3)  # weight of a token at distance 1, 2, …
SMOOTHING = 0.75  # exponent of the context frequency
PAIRS_AT_ONCE = 1 << 22

MAX_SINUSOIDS = 16
MIN_WAVELENGTH, MAX_WAVELENGTH = 2.2, 64.0  # in tokens
LOWER_OFFSETS = ((-1, 1, -2, 2), (-1, 1, -3, 3), (-2, 2, -4, 4))  # of the heads of lower layers
UPPER_OFFSETS = (-1, 1, None, None)  # of heads above them; None: uniform attention

WORD_STD = 0.05  # standard deviation of the word vectors
WAVE_AMPLITUDE = 0.08  # amplitude of the sinusoids
SHARPNESS = 1.1  # gain in query and key: most weight falls on one token
NEIGHBOUR_FRACTION = 0.7  # fraction of a neighbour's vector that a layer adds
SMALL_STD = 0.005  # standard deviation of the remaining weights
TINY = 1e-12
FEED_FORWARD_GAIN = 0.3  # gain of the feed-forward blocks, which are random
LINEAR_GELU = 2.0  # GELU is almost linear from here; the layer norm removes the offset


@torch.no_grad()
def warm_init(
    network: Network,
    tokenized: TokenizedDataset,
    special_ids: list[int],
    progress: ProgressCallback,
) -> None:
    """Initialise the weights of a new network; other weights keep their random values.

    Args:
        tokenized: the training text.
        special_ids: tokens that are not words.
    """
    spec = network.spec
    waves = min(MAX_SINUSOIDS, spec.head_size // 2, spec.hidden_size // 8)
    word_size = spec.hidden_size - 2 * waves  # width of the word vectors; sinusoids get the rest
    vectors = torch.from_numpy(
        word_vectors(tokenized, spec.vocab_size, word_size, special_ids, progress)
    )
    std = vectors.std().clamp_min(TINY)
    vectors[special_ids] = torch.randn(len(special_ids), word_size) * std

    embeddings = network.encoder.embeddings
    assert isinstance(embeddings, Embeddings) and embeddings.position is not None
    assert embeddings.segment is not None
    embeddings.token.weight.zero_()
    embeddings.token.weight[:, :word_size] = vectors * (WORD_STD / std)
    embeddings.segment.weight.normal_(std=SMALL_STD)
    ends = math.log10(MIN_WAVELENGTH), math.log10(MAX_WAVELENGTH)
    frequencies = 2 * math.pi / torch.logspace(*ends, waves)  # [P]
    angles = torch.arange(spec.max_positions)[:, None] * frequencies  # [positions, P]
    position = embeddings.position.weight.normal_(std=SMALL_STD)
    position[:, word_size::2] += WAVE_AMPLITUDE * angles.sin()
    position[:, word_size + 1 :: 2] += WAVE_AMPLITUDE * angles.cos()

    for index, layer in enumerate(network.encoder.layers):
        assert isinstance(layer, Layer)
        is_lower = index < min(len(LOWER_OFFSETS), spec.layers - 1)
        offsets = LOWER_OFFSETS[index] if is_lower else UPPER_OFFSETS
        old_std = spec.initializer_range
        _attend_to_neighbours(layer.attention, offsets, frequencies, word_size, old_std)
        layer.feed_forward.narrow.weight.mul_(FEED_FORWARD_GAIN)
    if network.mlm is not None:
        # compare the vector at a masked word with the word vectors directly
        dense = network.mlm.dense
        dense.weight.mul_(SMALL_STD / spec.initializer_range)
        dense.weight.diagonal().add_(1)
        dense.bias.fill_(LINEAR_GELU)


def word_vectors(
    tokenized: TokenizedDataset,
    vocab_size: int,
    width: int,
    special_ids: list[int],
    progress: ProgressCallback,
) -> np.ndarray:
    """Vectors whose inner products approximate the mutual information of two tokens.

    The matrix of all tokens by the frequent ones, M [V, C], holds max(0, log p(w, c) / p(w) p(c)).
    With eigenvalues Λ and eigenvectors Q of its frequent rows, M Q Λ^-½ extends the factors to all
    tokens (Nyström method).

    Returns:
        float32 [V, width]; trailing columns are zero if the rank is lower.
    """
    counts = tokenized.counts(vocab_size)
    counts[special_ids] = 0
    contexts = min(CONTEXTS, MAX_CELLS // vocab_size)
    frequent = np.argsort(-counts, kind="stable")[:contexts]
    frequent = frequent[counts[frequent] > 0]
    cooccurrences = _co_occurrences(tokenized, vocab_size, frequent, special_ids, progress)
    pair_counts = torch.from_numpy(cooccurrences)  # [V, C]

    by_token = pair_counts.sum(1, keepdim=True)
    by_context = pair_counts.sum(0) ** SMOOTHING
    expected = by_token * (by_context / by_context.sum().clamp_min(TINY))
    information = torch.log(pair_counts / expected.clamp_min(TINY)).clamp_(min=0)  # log 0 becomes 0
    frequent_rows = information[torch.from_numpy(frequent)].double()
    values, directions = torch.linalg.eigh((frequent_rows + frequent_rows.T) / 2)
    keep = values.argsort(descending=True)[:width]
    keep = keep[values[keep] > 1e-6 * values.max()]
    vectors = torch.zeros(vocab_size, width)
    vectors[:, : len(keep)] = information @ (directions[:, keep] / values[keep].sqrt()).float()
    return vectors.numpy()


def _co_occurrences(
    tokenized: TokenizedDataset,
    vocab_size: int,
    frequent: np.ndarray,
    special_ids: list[int],
    progress: ProgressCallback,
) -> np.ndarray:
    """Distance-weighted co-occurrences of each token with each frequent one, float32 [V, C]."""
    context_count = len(frequent)
    context_index = np.full(vocab_size, -1, dtype=np.int64)
    context_index[frequent] = np.arange(context_count)
    pair_counts = np.zeros(vocab_size * context_count, dtype=np.float32)
    for start in range(0, tokenized.tokens, PAIRS_AT_ONCE):
        ids = tokenized.token_ids(start, PAIRS_AT_ONCE)
        ids = ids[~np.isin(ids, special_ids)]
        for distance, weight in enumerate(DISTANCE_WEIGHTS, start=1):
            first_ids, second_ids = ids[:-distance], ids[distance:]
            for token, context in ((first_ids, second_ids), (second_ids, first_ids)):
                is_context = context_index[context] >= 0
                pairs = token[is_context] * context_count + context_index[context[is_context]]
                cells, counts = np.unique(pairs, return_counts=True)
                pair_counts[cells] += weight * counts
        progress(min(start + PAIRS_AT_ONCE, tokenized.tokens), tokenized.tokens)
    return pair_counts.reshape(vocab_size, context_count)


def _attend_to_neighbours(
    attention: Attention,
    offsets: tuple[int | None, ...],
    frequencies: Tensor,
    word_size: int,
    std: float,
) -> None:
    """Let each head attend to a neighbour and pass on part of its vector.

    sin((t + o)f) and cos((t + o)f) are a rotation of sin(tf) and cos(tf), so a query at t rotated
    by o matches the key at t + o best.
    """
    query, key, value, output = (
        part.weight.mul_(SMALL_STD / std)
        for part in (attention.query, attention.key, attention.value, attention.output)
    )
    width = attention.head_size
    for head in range(attention.heads):
        offset = offsets[head % len(offsets)]
        row = head * width
        if offset is not None:
            for wave, f in enumerate(frequencies.tolist()):
                first, column = row + 2 * wave, word_size + 2 * wave
                cos, sin = SHARPNESS * math.cos(f * offset), SHARPNESS * math.sin(f * offset)
                query[first : first + 2, column : column + 2] += torch.tensor(
                    [[cos, sin], [-sin, cos]]
                )
                key[first : first + 2, column : column + 2] += SHARPNESS * torch.eye(2)
        for part in range(width):
            column = part % word_size if offset is not None else (row + part) % word_size
            value[row + part, column] += 1
            output[column, row + part] += NEIGHBOUR_FRACTION
