"""What each head does in one text: how sharp it is, how far it reaches, and what it attends to.

All are means over the query tokens that are not special. Shapes: L layers, H heads, T tokens, Q of
them that are no special tokens, C columns.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.translation import marked
from engine.messages.explore.text import Token

POSITIONAL = (
    0.9  # of the query tokens whose largest weight is at one offset (Voita et al. 2019, §5)
)
WEIGHTS_AT_ONCE = 4_000_000  # numbers of which the logarithm is taken at once


@dataclass(frozen=True)
class HeadMeasure:
    """A column: its name, and what it means."""

    key: str
    name: str
    meaning: str


MEASURES: tuple[HeadMeasure, ...] = (
    HeadMeasure("entropy", marked("Entropy"), marked("−Σ α ln α in nats; 0: all on one token")),
    HeadMeasure(
        "uniformity",
        marked("Entropy share"),
        marked("Entropy over its maximum, ln of the number of tokens; 1: the same to all"),
    ),
    HeadMeasure(
        "distance",
        marked("Distance"),
        marked("Σ α |i − j|: tokens between query and key, weighted"),
    ),
    HeadMeasure("itself", marked("To itself"), marked("Attention to the query token itself")),
    HeadMeasure("previous", marked("To previous"), marked("Attention to the token before")),
    HeadMeasure("next", marked("To next"), marked("Attention to the token after")),
    HeadMeasure("first", marked("To [CLS]"), marked("Attention to the special token at the start")),
    HeadMeasure("separators", marked("To [SEP]"), marked("Attention to the other special tokens")),
    HeadMeasure(
        "same", marked("To same token"), marked("Attention to the same token at other positions")
    ),
    HeadMeasure(
        "other_text", marked("To other text"), marked("Attention from a text to the other one")
    ),
    HeadMeasure("punctuation", marked("To punctuation"), marked("Attention to punctuation marks")),
    HeadMeasure(
        "offset_share",
        marked("At one offset"),
        marked("Share of the tokens whose largest weight is at the most frequent offset"),
    ),
)
KEYS = tuple(measure.key for measure in MEASURES)


@dataclass(frozen=True)
class HeadFigures:
    """Of some layers, the lowest first."""

    values: np.ndarray  # float64 [L, H, C], by MEASURES
    offsets: np.ndarray  # int [L, H], the most frequent offset of the largest weight
    queries: int  # Q

    def of(self, key: str) -> np.ndarray:
        """A column, float64 [L, H]."""
        found: np.ndarray = self.values[..., KEYS.index(key)]
        return found

    @property
    def positional(self) -> np.ndarray:
        """Which heads attend to one offset, bool [L, H]."""
        return self.of("offset_share") >= POSITIONAL


def head_figures(weights: np.ndarray, tokens: Sequence[Token], causal: bool = False) -> HeadFigures:
    """The figures of all heads.

    Args:
        weights: float32 [L, H, T, T], queries over keys; rows sum to 1.
        causal: whether a token sees only itself and those before it; then fewer can be attended to.
    """
    special = np.array([token.special for token in tokens])
    queries = np.flatnonzero(~special) if not special.all() else np.arange(len(tokens))
    masks = _masks(tokens, queries)  # [Q * T, masks]
    columns = _columns(queries, len(tokens), causal)
    parts = [_of_layer(np.asarray(layer), queries, masks, columns) for layer in weights]
    values = np.stack([part[0] for part in parts]) if parts else np.zeros((0, 0, len(KEYS)))
    offsets = np.stack([part[1] for part in parts]) if parts else np.zeros((0, 0), int)
    return HeadFigures(values, offsets, len(queries))


def pair_values(weights: np.ndarray, query: int, key: int) -> np.ndarray:
    """The number of one pair in every head, float64 [L, H]."""
    return np.array(weights[:, :, query, key], dtype=np.float64)


def _columns(queries: np.ndarray, count: int, causal: bool) -> np.ndarray:
    """ln of how many tokens each query can attend to, float64 [Q]; of one token 1, for no 0/0."""
    seen = queries + 1 if causal else np.full(len(queries), count)
    return np.where(seen > 1, np.log(np.maximum(seen, 2)), 1.0)


def _masks(tokens: Sequence[Token], queries: np.ndarray) -> np.ndarray:
    """The distance, and 1 at each kind of key, in the order of MEASURES: float32 [Q * T, 9]."""
    count = len(tokens)
    places = np.arange(count)
    apart = places[None, :] - queries[:, None]  # [Q, T]
    ids = np.array([token.id for token in tokens])
    segments = np.array([token.segment for token in tokens])
    special = np.array([token.special for token in tokens])
    first = special & (places == 0)
    marks = np.array([_is_punctuation(token) for token in tokens])
    ones = np.ones((len(queries), 1), bool)
    kinds = (
        np.abs(apart),
        apart == 0,
        apart == -1,
        apart == 1,
        ones & first,
        ones & (special & ~first),
        (ids[None, :] == ids[queries][:, None]) & (apart != 0),
        (segments[None, :] != segments[queries][:, None]) & ~special,
        ones & marks,
    )
    return np.stack([kind.astype(np.float32).ravel() for kind in kinds], axis=1)


def _of_layer(
    layer: np.ndarray, queries: np.ndarray, masks: np.ndarray, most: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """float64 [H, C], and the offsets, int [H]."""
    rows = layer[:, queries]  # [H, Q, T]
    heads, count = rows.shape[0], len(queries)
    sums = rows.reshape(heads, -1) @ masks / count  # [H, 9]
    entropy = np.concatenate(
        [
            -(part * np.log(np.maximum(part, np.finfo(np.float32).tiny))).sum(-1, dtype=np.float64)
            for part in np.array_split(rows, max(1, rows.size // WEIGHTS_AT_ONCE))
        ]
    )  # [H, Q]
    offsets = rows.argmax(-1) - queries  # [H, Q]
    best, share = np.zeros(heads, int), np.zeros(heads)
    for head in range(heads):
        found, counts = np.unique(offsets[head], return_counts=True)
        best[head], share[head] = found[counts.argmax()], counts.max() / count
    values = np.concatenate(
        [
            entropy.mean(-1)[:, None],
            (entropy / most).mean(-1)[:, None],
            sums.astype(np.float64),
            share[:, None],
        ],
        axis=1,
    )
    return values, best


def _is_punctuation(token: Token) -> bool:
    text = token.text.strip("▁Ġ ")
    return not token.special and bool(text) and not any(letter.isalnum() for letter in text)
