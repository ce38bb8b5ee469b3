"""Texts that are nearly equal: MinHash over 5-grams of words, with bands, then compared exactly.

Broder 1997, “On the resemblance and containment of documents”; bands as in Leskovec, Rajaraman and
Ullman, “Mining of Massive Datasets”, section 3.4. All in arrays, for a million texts in seconds.

Shapes: U texts, S shingles (5-grams) of all texts of a column, P pairs of texts.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from engine.cores import allowed
from engine.data.checks.groups import distinct
from engine.data.checks.words import Words
from engine.progress import CancellableProgress

SHINGLE_WORDS = 5
SIMILARITY = 0.7  # Jaccard similarity from which two texts are nearly equal
BANDS, BAND_ROWS = 12, 3  # finds 99.4 % of the pairs at the threshold: 1 - (1 - 0.7³)¹²
MAX_WORDS = 1_000  # of a text that are compared
CHUNK = 1 << 20  # shingles that are worked on at a time, so that they stay in the cache
MAX_THREADS = 4

Hashes = NDArray[np.uint64]


def near_copies(
    columns: Sequence[Words], vocabulary: int, progress: CancellableProgress, weight: float
) -> NDArray[np.int64]:
    """Equal numbers for texts that are nearly equal, int64 [U]: the number of the first of them.

    Two are where `SIMILARITY` is reached in each of the columns; groups are closed under this. A
    text without words is equal to none.

    Args:
        columns: the words of U texts, once for each column.
        vocabulary: how many words there are.
        weight: what the whole work counts for `progress`.
    """
    texts = len(columns[0].counts)
    words = _mixed(np.arange(1, vocabulary + 1, dtype=np.uint64))
    shingled = [_shingles(column, words, number) for number, column in enumerate(columns)]
    progress.advance(weight * 0.2)
    has_words = np.sum([column.counts for column in columns], axis=0) > 0
    bands = _bands(shingled, texts, progress, weight * 0.5)
    pairs = _candidates(bands, has_words, progress)
    progress.advance(weight * 0.1)
    for found in shingled:
        pairs = pairs[_similarity(pairs, *found, progress) >= SIMILARITY]
    progress.advance(weight * 0.2)
    return connected(texts, pairs)


def _mixed(numbers: Hashes) -> Hashes:
    """RowIndices that look random, the same for the same ones (the finaliser of SplitMix64)."""
    mixed = numbers * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def _shingles(words: Words, hashes: Hashes, column: int) -> tuple[Hashes, NDArray[np.int64]]:
    """The shingles of each text, uint64 [S], and where each begins, int64 [U + 1].

    A text with fewer words than a shingle has one, of all its words.
    """
    counts = np.minimum(words.counts, MAX_WORDS)
    own = np.maximum(counts - SHINGLE_WORDS + 1, 1)  # one for an empty text too
    starts = np.concatenate([[0], np.cumsum(own)])
    found = np.empty(starts[-1], dtype=np.uint64)
    padded = np.concatenate([hashes[words.ids], np.zeros(SHINGLE_WORDS, dtype=np.uint64)])
    ends = words.starts[:-1] + counts
    for first, last in _chunks(starts):
        here = slice(starts[first], starts[last])
        places = np.repeat(words.starts[first:last] - starts[first:last], own[first:last])
        places += np.arange(here.start, here.stop)
        limits = np.repeat(ends[first:last], own[first:last])
        sums = np.full(len(places), column + 1, dtype=np.uint64)
        for step in range(SHINGLE_WORDS):
            sums *= np.uint64(0x9FB21C651E98DF25)
            sums += np.where(places + step < limits, padded[places + step], np.uint64(0))
        found[here] = _mixed(sums)
    return found, starts


def _chunks(starts: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Ranges of texts with about `CHUNK` shingles each."""
    cuts = np.searchsorted(starts, np.arange(0, starts[-1] + CHUNK, CHUNK))
    cuts = np.unique(np.concatenate([cuts, [len(starts) - 1]]).clip(0, len(starts) - 1))
    return list(zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True))


def _bands(
    shingled: Sequence[tuple[Hashes, NDArray[np.int64]]],
    texts: int,
    progress: CancellableProgress,
    weight: float,
) -> Hashes:
    """What texts must have in common to be compared, uint64 [BANDS, U].

    Each is a hash of `BAND_ROWS` minima, each over all shingles of a text under one more hash.
    """
    bands = np.zeros((BANDS, texts), dtype=np.uint64)
    factors = np.random.Philox(0).random_raw((BANDS, BAND_ROWS)) | np.uint64(1)

    def fill(band: int) -> None:
        smallest = np.empty(texts, dtype=np.uint64)
        for factor in factors[band]:
            smallest.fill(np.iinfo(np.uint64).max)
            for hashes, starts in shingled:
                for first, last in _chunks(starts):
                    here = hashes[starts[first] : starts[last]] * factor
                    inside = starts[first:last] - starts[first]
                    least = np.minimum.reduceat(here, inside)
                    np.minimum(smallest[first:last], least, out=smallest[first:last])
            bands[band] = _mixed(bands[band] ^ smallest)
        progress.advance(weight / BANDS)

    with ThreadPoolExecutor(min(MAX_THREADS, len(allowed()))) as pool:
        list(pool.map(fill, range(BANDS)))
    return bands


def _candidates(
    bands: Hashes, has_words: NDArray[np.bool_], progress: CancellableProgress
) -> NDArray[np.int64]:
    """Pairs of texts that share a band, int64 [P, 2], the smaller number first, each pair once.

    Of many texts with the same band, each is paired with the first and with the one before it.
    """
    found = [np.zeros(0, dtype=np.int64)]
    texts = len(has_words)
    for band in bands:
        progress.advance()
        order = np.argsort(band, kind="stable")
        order = order[has_words[order]]
        same = np.flatnonzero(band[order][1:] == band[order][:-1]) + 1
        is_first = np.ones(len(order), dtype=bool)
        is_first[same] = False
        first = order[np.maximum.accumulate(np.where(is_first, np.arange(len(order)), 0))]
        found += [first[same] * texts + order[same], order[same - 1] * texts + order[same]]
    pairs = distinct(np.concatenate(found))
    return np.stack([pairs // max(texts, 1), pairs % max(texts, 1)], axis=1)


def _similarity(
    pairs: NDArray[np.int64],
    hashes: Hashes,
    starts: NDArray[np.int64],
    progress: CancellableProgress,
) -> NDArray[np.float64]:
    """Jaccard similarity of the shingles of each pair, float64 [P]."""
    found = np.zeros(len(pairs))
    sizes = np.diff(starts)
    work = np.concatenate([[0], np.cumsum(sizes[pairs].sum(axis=1))])
    for first, last in _chunks(work):
        progress.advance()
        found[first:last] = _jaccard(pairs[first:last], hashes, starts, sizes)
    return found


def _jaccard(
    pairs: NDArray[np.int64],
    hashes: Hashes,
    starts: NDArray[np.int64],
    sizes: NDArray[np.int64],
) -> NDArray[np.float64]:
    ends = pairs.ravel()
    counts = sizes[ends]
    before = np.concatenate([[0], np.cumsum(counts)])
    places = np.repeat(starts[ends] - before[:-1], counts) + np.arange(before[-1])
    pair = np.repeat(np.repeat(np.arange(len(pairs)), 2), counts)
    side = np.repeat(np.tile([0, 1], len(pairs)), counts)
    values = hashes[places]
    order = np.lexsort((side, values, pair))
    pair, side, values = pair[order], side[order], values[order]
    is_new = np.ones(len(values), dtype=bool)  # of its pair, without its side
    is_new[1:] = (values[1:] != values[:-1]) | (pair[1:] != pair[:-1])
    both = ~is_new
    both[1:] &= side[1:] != side[:-1]
    union = np.bincount(pair[is_new], minlength=len(pairs))
    shared = np.bincount(pair[both], minlength=len(pairs))
    return shared / np.maximum(union, 1)


def connected(texts: int, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    """The smallest number that each text is connected to by pairs, int64 [texts]."""
    root = np.arange(texts)
    one, other = pairs[:, 0], pairs[:, 1]
    while True:
        least = np.minimum(root[one], root[other])
        before = root.copy()
        np.minimum.at(root, root[one], least)
        np.minimum.at(root, root[other], least)
        while (root[root] != root).any():
            root = root[root]
        if (root == before).all():
            return root
