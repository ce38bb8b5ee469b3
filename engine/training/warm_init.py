"""Warm initialisation (co-occurrence) of a network that has read nothing yet.

From chance alone, a BERT spends its first millions of tokens on what counting finds in a minute:
which words stand near one another, and that the nearest words tell the most. So the token
embeddings begin as word vectors from counts (positive pointwise mutual information, factored:
Levy, Goldberg and Dagan 2015), the position embeddings as sinusoids (Vaswani et al. 2017, §3.5),
by which each head of the lower layers first looks to a neighbour, and the head for masked words
begins as the identity. A fresh network so guesses a word from the words around it. All of it is
trained on like any other weight; the network itself remains that of the paper.

Shapes: V pieces, C pieces that count as context, D width, K width of a head, P sinusoids.
"""

import math

import numpy as np
import torch
from torch import Tensor

from engine.data.packing.packed import Packed
from engine.models.attention import Attention
from engine.models.embeddings import Embeddings
from engine.models.encoder import Layer
from engine.models.heads import MaskedWordHead
from engine.models.network import Network
from engine.progress import ProgressCallback

CONTEXTS = 2048  # the most frequent pieces, near which the others are counted
MOST_CELLS = 1 << 26  # pieces x contexts; a greater vocabulary gets fewer contexts
NEARNESS = (1.0, 0.8, 0.6, 0.4, 0.3)  # what a piece counts at distance 1, 2, …
SMOOTHING = 0.75  # power of the context's frequency
COUNTED = 1 << 22  # pairs that are counted at once

SINUSOIDS = 16  # at the most
SHORTEST_WAVE, LONGEST_WAVE = 2.2, 64.0  # their wavelengths, in tokens
LOOKS = ((-1, 1, -2, 2), (-1, 1, -3, 3), (-2, 2, -4, 4))  # of the heads of the lowest layers
LAST_LOOKS = (-1, 1, None, None)  # of the heads above them; None: to all tokens alike

WORD_SIZE = 0.05  # standard deviation of the word vectors
WAVE_SIZE = 0.08  # height of the sinusoids
SHARPNESS = 1.1  # gain of a sinusoid in query and key: most of the weight falls on one token
PASSED_ON = 0.7  # share of a neighbour's vector that a layer adds
ALMOST_NOTHING = 0.005  # standard deviation where the rest is put in
TINY = 1e-12
QUIET = 0.3  # gain of the feed-forward parts, which know nothing yet
LINEAR = 2.0  # from here on GELU is close to a straight line; the layer norm takes it off again


@torch.no_grad()
def warm_init(
    network: Network, packed: Packed, specials: list[int], progress: ProgressCallback
) -> None:
    """Set the fresh weights of a network; what is not named above stays as it was drawn.

    Args:
        packed: the text that it is going to read.
        specials: the pieces that are no words.
    """
    spec = network.spec
    waves = min(SINUSOIDS, spec.head_size // 2, spec.hidden_size // 8)
    words = (
        spec.hidden_size - 2 * waves
    )  # dimensions of the word vectors; the sinusoids have the others
    vectors = torch.from_numpy(word_vectors(packed, spec.vocab_size, words, specials, progress))
    size = vectors.std().clamp_min(TINY)
    vectors[specials] = torch.randn(len(specials), words) * size

    embeddings = network.encoder.embeddings
    assert isinstance(embeddings, Embeddings) and embeddings.position is not None
    embeddings.token.weight.zero_()
    embeddings.token.weight[:, :words] = vectors * (WORD_SIZE / size)
    embeddings.segment.weight.normal_(std=ALMOST_NOTHING)
    pace = (
        2 * math.pi / torch.logspace(math.log10(SHORTEST_WAVE), math.log10(LONGEST_WAVE), waves)
    )  # [P]
    angles = torch.arange(spec.max_positions)[:, None] * pace  # [positions, P]
    position = embeddings.position.weight.normal_(std=ALMOST_NOTHING)
    position[:, words::2] += WAVE_SIZE * angles.sin()
    position[:, words + 1 :: 2] += WAVE_SIZE * angles.cos()

    for number, layer in enumerate(network.encoder.layers):
        assert isinstance(layer, Layer)
        looks = LOOKS[number] if number < min(len(LOOKS), spec.layers - 1) else LAST_LOOKS
        _look(layer.attention, looks, pace, words, spec.initializer_range)
        layer.feed_forward.narrow.weight.mul_(QUIET)
    if network.masked_words is not None:
        _guess_what_is_near(network.masked_words, spec.initializer_range)


def word_vectors(
    packed: Packed, pieces: int, width: int, specials: list[int], progress: ProgressCallback
) -> np.ndarray:
    """Vectors whose inner products are about the mutual information of two pieces.

    The matrix of all pieces by the frequent ones, M [V, C], holds max(0, log p(w, c) / p(w) p(c));
    with the eigenvalues Λ and vectors Q of its frequent rows, M Q Λ^-½ continues their factors to
    all pieces (the Nyström method).

    Returns:
        float32 [V, width]; columns are zero where the text has fewer dimensions.
    """
    counts = packed.counts(pieces)
    counts[specials] = 0
    contexts = min(CONTEXTS, MOST_CELLS // pieces)
    frequent = np.argsort(-counts, kind="stable")[:contexts]
    frequent = frequent[counts[frequent] > 0]
    near = torch.from_numpy(_near(packed, pieces, frequent, specials, progress))  # [V, C]

    by_piece = near.sum(1, keepdim=True)
    by_context = near.sum(0) ** SMOOTHING
    expected = by_piece * (by_context / by_context.sum().clamp_min(TINY))
    information = torch.log(near / expected.clamp_min(TINY)).clamp_(min=0)  # log 0 becomes 0
    square = information[torch.from_numpy(frequent)].double()
    values, directions = torch.linalg.eigh((square + square.T) / 2)
    keep = values.argsort(descending=True)[:width]
    keep = keep[values[keep] > 1e-6 * values.max()]
    vectors = torch.zeros(pieces, width)
    vectors[:, : len(keep)] = information @ (directions[:, keep] / values[keep].sqrt()).float()
    return vectors.numpy()


def _near(
    packed: Packed,
    pieces: int,
    frequent: np.ndarray,
    specials: list[int],
    progress: ProgressCallback,
) -> np.ndarray:
    """How often, and how near, each piece stands by each frequent one: float32 [V, C]."""
    columns = len(frequent)
    column = np.full(pieces, -1, dtype=np.int64)
    column[frequent] = np.arange(columns)
    near = np.zeros(pieces * columns, dtype=np.float32)
    for first in range(0, packed.tokens, COUNTED):
        ids = packed.stretch(first, COUNTED)
        ids = ids[~np.isin(ids, specials)]
        for distance, share in enumerate(NEARNESS, start=1):
            first_ids, second_ids = ids[:-distance], ids[distance:]
            for piece, context in ((first_ids, second_ids), (second_ids, first_ids)):
                known = column[context] >= 0
                pairs = piece[known] * columns + column[context[known]]
                cells, found = np.unique(pairs, return_counts=True)
                near[cells] += share * found
        progress(min(first + COUNTED, packed.tokens), packed.tokens)
    return near.reshape(pieces, columns)


def _look(
    attention: Attention,
    looks: tuple[int | None, ...],
    pace: Tensor,
    words: int,
    spread: float,
) -> None:
    """Let head after head look to a neighbour, and pass on the strongest part of its vector.

    sin((t + o)f) and cos((t + o)f) are a rotation of sin(tf) and cos(tf), so that a query at t that
    is rotated by o agrees best with the key at t + o.
    """
    query, key, value, output = (
        part.weight.mul_(ALMOST_NOTHING / spread)
        for part in (attention.query, attention.key, attention.value, attention.output)
    )
    width = attention.head_size
    for head in range(attention.heads):
        look = looks[head % len(looks)]
        row = head * width
        if look is not None:
            for wave, f in enumerate(pace.tolist()):
                at, of = row + 2 * wave, words + 2 * wave
                cos, sin = SHARPNESS * math.cos(f * look), SHARPNESS * math.sin(f * look)
                query[at : at + 2, of : of + 2] += torch.tensor([[cos, sin], [-sin, cos]])
                key[at : at + 2, of : of + 2] += SHARPNESS * torch.eye(2)
        for part in range(width):
            of = part % words if look is not None else (row + part) % words
            value[row + part, of] += 1
            output[of, row + part] += PASSED_ON


def _guess_what_is_near(head: MaskedWordHead, spread: float) -> None:
    """Compare the vector at a masked word with the word vectors, nothing between."""
    head.dense.weight.mul_(ALMOST_NOTHING / spread)
    head.dense.weight.diagonal().add_(1)
    head.dense.bias.fill_(LINEAR)
