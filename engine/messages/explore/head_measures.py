"""Statistics of each head from only its attention: entropy, distance, and kinds of keys.

All are sums or means over the query tokens that are not special. Shapes: L layers, H heads, T
tokens, Q query tokens that are not special, C columns.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.messages.explore.text import Token

POSITIONAL = 0.9  # minimum fraction of the query tokens at one offset (Voita et al. 2019, §5.1)
WEIGHTS_AT_ONCE = 4_000_000  # elements per call of the logarithm
SUMMED = (
    *("entropy", "uniformity", "distance", "itself", "previous", "next", "first", "separators"),
    *("same", "other_text", "punctuation"),
)
KEYS = (*SUMMED, "offset_share")


@dataclass(frozen=True)
class HeadFigures:
    """Statistics of some layers, the lowest first."""

    values: np.ndarray  # float64 [L, H, C], by KEYS
    offsets: np.ndarray  # int [L, H], the most frequent offset of the largest weight
    queries: int  # Q

    def get(self, key: str) -> np.ndarray:
        """A column, float64 [L, H]."""
        return self.values[..., KEYS.index(key)]

    @property
    def positional(self) -> np.ndarray:
        """Which heads attend to one offset, bool [L, H]."""
        return self.get("offset_share") >= POSITIONAL


@dataclass(frozen=True)
class TokenKinds:
    """Properties of each pair of tokens of a text; the same for all layers."""

    queries: np.ndarray  # int [Q], their numbers
    masks: np.ndarray  # float32 [Q * T, 9]: the distance, and 1 at each kind of key
    max_entropy: np.ndarray  # float64 [Q], the maximum possible entropy

    @classmethod
    def from_tokens(cls, tokens: Sequence[Token], causal: bool = False) -> "TokenKinds":
        """`causal`: a token sees only itself and those before it, so it has fewer to attend to."""
        special = np.array([token.special for token in tokens])
        queries = np.flatnonzero(~special) if not special.all() else np.arange(len(tokens))
        return cls(queries, _masks(tokens, queries), _max_entropy(queries, len(tokens), causal))


def head_sums(layer: np.ndarray, kinds: TokenKinds) -> tuple[np.ndarray, np.ndarray]:
    """Sum the statistics SUMMED of one layer over the query tokens.

    Args:
        layer: float32 [H, T, T], queries over keys; rows sum to 1.

    Returns:
        The sums, float64 [H, 11], and the offset of each query's largest weight, int [H, Q].
    """
    rows = layer[:, kinds.queries]  # [H, Q, T]
    heads = rows.shape[0]
    sums = rows.reshape(heads, -1) @ kinds.masks  # [H, 9]
    entropy = np.concatenate(
        [
            -(part * np.log(np.maximum(part, np.finfo(np.float32).tiny))).sum(-1, dtype=np.float64)
            for part in np.array_split(rows, max(1, rows.size // WEIGHTS_AT_ONCE))
        ]
    )  # [H, Q]
    relative = (entropy / kinds.max_entropy).sum(-1)[:, None]
    totals = np.concatenate([entropy.sum(-1)[:, None], relative, sums.astype(np.float64)], axis=1)
    return totals, rows.argmax(-1) - kinds.queries


def head_figures(weights: np.ndarray, tokens: Sequence[Token], causal: bool = False) -> HeadFigures:
    """Compute the statistics of all heads, means over the query tokens.

    Args:
        weights: float32 [L, H, T, T], queries over keys; rows sum to 1.
        causal: a token sees only itself and those before it.
    """
    kinds = TokenKinds.from_tokens(tokens, causal)
    parts = [_layer_figures(np.asarray(layer), kinds) for layer in weights]
    values = np.stack([part[0] for part in parts]) if parts else np.zeros((0, 0, len(KEYS)))
    offsets = np.stack([part[1] for part in parts]) if parts else np.zeros((0, 0), int)
    return HeadFigures(values, offsets, len(kinds.queries))


def _layer_figures(layer: np.ndarray, kinds: TokenKinds) -> tuple[np.ndarray, np.ndarray]:
    """float64 [H, C], and the most frequent offsets, int [H]."""
    sums, offsets = head_sums(layer, kinds)
    heads, count = offsets.shape
    best, fraction = np.zeros(heads, int), np.zeros(heads)
    for head in range(heads):
        values, counts = np.unique(offsets[head], return_counts=True)
        best[head], fraction[head] = values[counts.argmax()], counts.max() / count
    return np.concatenate([sums / count, fraction[:, None]], axis=1), best


def pair_values(weights: np.ndarray, query: int, key: int) -> np.ndarray:
    """Weight of one pair in every head, float64 [L, H]."""
    return np.array(weights[:, :, query, key], dtype=np.float64)


def _max_entropy(queries: np.ndarray, count: int, causal: bool) -> np.ndarray:
    """ln of the number of tokens that each query can attend to, float64 [Q]; 1 for a single token,
    to avoid 0/0."""
    visible = queries + 1 if causal else np.full(len(queries), count)
    return np.where(visible > 1, np.log(np.maximum(visible, 2)), 1.0)


def _masks(tokens: Sequence[Token], queries: np.ndarray) -> np.ndarray:
    """The distance, and 1 at each kind of key, in the order of SUMMED: float32 [Q * T, 9]."""
    count = len(tokens)
    positions = np.arange(count)
    distances = positions[None, :] - queries[:, None]  # [Q, T]
    ids = np.array([token.id for token in tokens])
    segments = np.array([token.segment for token in tokens])
    special = np.array([token.special for token in tokens])
    first = special & (positions == 0)
    marks = np.array([_is_punctuation(token) for token in tokens])
    true = np.ones((len(queries), 1), bool)
    kinds = (
        np.abs(distances),
        distances == 0,
        distances == -1,
        distances == 1,
        true & first,
        true & (special & ~first),
        (ids[None, :] == ids[queries][:, None]) & (distances != 0),
        (segments[None, :] != segments[queries][:, None]) & ~special,
        true & marks,
    )
    return np.stack([kind.astype(np.float32).ravel() for kind in kinds], axis=1)


def _is_punctuation(token: Token) -> bool:
    text = token.text.strip("▁Ġ ")
    return not token.special and bool(text) and not any(letter.isalnum() for letter in text)
