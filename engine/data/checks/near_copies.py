"""Groups of nearly equal texts: MinHash over word 5-grams with banding, then exact comparison.

Broder 1997, “On the resemblance and containment of documents”; banding as in Leskovec, Rajaraman
and Ullman, “Mining of Massive Datasets”, section 3.4.

Shapes: U texts, S shingles (5-grams) of all texts of a column, P pairs of texts.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from engine.cores import allowed_cores
from engine.data.checks.groups import sorted_unique
from engine.data.checks.words import Words
from engine.progress import CancellableProgress

SHINGLE_WORDS = 5
SIMILARITY = 0.7  # minimum Jaccard similarity of near copies
BANDS, BAND_ROWS = 12, 3  # finds 99.4 % of the pairs at the threshold: 1 - (1 - 0.7³)¹²
MAX_COMPARED_WORDS = 1_000  # per text
CHUNK = 1 << 20  # shingles processed at a time, to stay in the CPU cache
MAX_THREADS = 4

Hashes = NDArray[np.uint64]


def group_near_copies(
    columns: Sequence[Words], vocabulary: int, progress: CancellableProgress, weight: float
) -> NDArray[np.int64]:
    """Group nearly equal texts; returns the first text in the group of each, int64 [U].

    Two texts are near copies if they reach `SIMILARITY` in each column; groups are the transitive
    closure. A text without words forms its own group.

    Args:
        columns: the words of the U texts, for each column.
        vocabulary: number of distinct words.
        progress: advanced by `weight` in total.
    """
    texts = len(columns[0].counts)
    words = _mix(np.arange(1, vocabulary + 1, dtype=np.uint64))
    shingled = [_shingles(column, words, index) for index, column in enumerate(columns)]
    progress.advance(weight * 0.2)
    has_words = np.sum([column.counts for column in columns], axis=0) > 0
    bands = _bands(shingled, texts, progress, weight * 0.5)
    pairs = _candidates(bands, has_words, progress)
    progress.advance(weight * 0.1)
    for shingles in shingled:
        pairs = pairs[_similarity(pairs, *shingles, progress) >= SIMILARITY]
    progress.advance(weight * 0.2)
    return components(texts, pairs)


def _mix(numbers: Hashes) -> Hashes:
    """Hash 64-bit numbers (the finaliser of SplitMix64)."""
    mixed = numbers * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def _shingles(words: Words, hashes: Hashes, column: int) -> tuple[Hashes, NDArray[np.int64]]:
    """Shingle hashes of all texts, uint64 [S], and the start of each text, int64 [U + 1].

    A text with fewer words than a shingle has one shingle with all its words.
    """
    counts = np.minimum(words.counts, MAX_COMPARED_WORDS)
    sizes = np.maximum(counts - SHINGLE_WORDS + 1, 1)  # one for an empty text too
    starts = np.concatenate([[0], np.cumsum(sizes)])
    shingles = np.empty(starts[-1], dtype=np.uint64)
    padded = np.concatenate([hashes[words.ids], np.zeros(SHINGLE_WORDS, dtype=np.uint64)])
    ends = words.starts[:-1] + counts
    for first, last in _chunks(starts):
        part = slice(starts[first], starts[last])
        positions = np.repeat(words.starts[first:last] - starts[first:last], sizes[first:last])
        positions += np.arange(part.start, part.stop)
        limits = np.repeat(ends[first:last], sizes[first:last])
        sums = np.full(len(positions), column + 1, dtype=np.uint64)
        for step in range(SHINGLE_WORDS):
            sums *= np.uint64(0x9FB21C651E98DF25)
            sums += np.where(positions + step < limits, padded[positions + step], np.uint64(0))
        shingles[part] = _mix(sums)
    return shingles, starts


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
    """Band keys, uint64 [BANDS, U]; texts that share a key are compared.

    A key combines `BAND_ROWS` minima over the shingles of a text, one for each hash function.
    """
    bands = np.zeros((BANDS, texts), dtype=np.uint64)
    factors = np.random.Philox(0).random_raw((BANDS, BAND_ROWS)) | np.uint64(1)

    def fill(band: int) -> None:
        minimum = np.empty(texts, dtype=np.uint64)
        for factor in factors[band]:
            minimum.fill(np.iinfo(np.uint64).max)
            for hashes, starts in shingled:
                for first, last in _chunks(starts):
                    products = hashes[starts[first] : starts[last]] * factor
                    offsets = starts[first:last] - starts[first]
                    minima = np.minimum.reduceat(products, offsets)
                    np.minimum(minimum[first:last], minima, out=minimum[first:last])
            bands[band] = _mix(bands[band] ^ minimum)
        progress.advance(weight / BANDS)

    with ThreadPoolExecutor(min(MAX_THREADS, len(allowed_cores()))) as pool:
        list(pool.map(fill, range(BANDS)))
    return bands


def _candidates(
    bands: Hashes, has_words: NDArray[np.bool_], progress: CancellableProgress
) -> NDArray[np.int64]:
    """Unique pairs of texts that share a band, int64 [P, 2], the smaller index first.

    If many texts have the same key, each is paired with the first and with its predecessor.
    """
    codes = [np.zeros(0, dtype=np.int64)]
    texts = len(has_words)
    for band in bands:
        progress.advance()
        order = np.argsort(band, kind="stable")
        order = order[has_words[order]]
        same = np.flatnonzero(band[order][1:] == band[order][:-1]) + 1
        is_first = np.ones(len(order), dtype=bool)
        is_first[same] = False
        first = order[np.maximum.accumulate(np.where(is_first, np.arange(len(order)), 0))]
        codes += [first[same] * texts + order[same], order[same - 1] * texts + order[same]]
    pairs = sorted_unique(np.concatenate(codes))
    return np.stack([pairs // max(texts, 1), pairs % max(texts, 1)], axis=1)


def _similarity(
    pairs: NDArray[np.int64],
    hashes: Hashes,
    starts: NDArray[np.int64],
    progress: CancellableProgress,
) -> NDArray[np.float64]:
    """Jaccard similarity of the shingles of each pair, float64 [P]."""
    similarity = np.zeros(len(pairs))
    sizes = np.diff(starts)
    work = np.concatenate([[0], np.cumsum(sizes[pairs].sum(axis=1))])
    for first, last in _chunks(work):
        progress.advance()
        similarity[first:last] = _jaccard(pairs[first:last], hashes, starts, sizes)
    return similarity


def _jaccard(
    pairs: NDArray[np.int64], hashes: Hashes, starts: NDArray[np.int64], sizes: NDArray[np.int64]
) -> NDArray[np.float64]:
    ends = pairs.ravel()
    counts = sizes[ends]
    before = np.concatenate([[0], np.cumsum(counts)])
    positions = np.repeat(starts[ends] - before[:-1], counts) + np.arange(before[-1])
    pair = np.repeat(np.repeat(np.arange(len(pairs)), 2), counts)
    member = np.repeat(np.tile([0, 1], len(pairs)), counts)
    values = hashes[positions]
    order = np.lexsort((member, values, pair))
    pair, member, values = pair[order], member[order], values[order]
    is_new = np.ones(len(values), dtype=bool)  # first of its value in the pair
    is_new[1:] = (values[1:] != values[:-1]) | (pair[1:] != pair[:-1])
    is_shared = ~is_new
    is_shared[1:] &= member[1:] != member[:-1]
    union = np.bincount(pair[is_new], minlength=len(pairs))
    shared = np.bincount(pair[is_shared], minlength=len(pairs))
    return shared / np.maximum(union, 1)


def components(texts: int, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    """The smallest index that each text is connected to by pairs, int64 [texts]."""
    root = np.arange(texts)
    first, second = pairs[:, 0], pairs[:, 1]
    while True:
        smallest_root = np.minimum(root[first], root[second])
        before = root.copy()
        np.minimum.at(root, root[first], smallest_root)
        np.minimum.at(root, root[second], smallest_root)
        while (root[root] != root).any():
            root = root[root]
        if (root == before).all():
            return root
