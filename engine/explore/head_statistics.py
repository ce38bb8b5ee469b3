"""Statistics of every head over many texts.

Shapes: N texts, L layers, H heads, T tokens, W words, G tags, C columns, B resamples.
"""

import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from engine.data.columns.words import split_words
from engine.data.datasets.rows import Rows
from engine.data.datasets.text_sets import load_column, load_rows, typed_pairs
from engine.explore.layers import iter_layers
from engine.explore.over_texts import (
    Arrays,
    ArrayStore,
    batches,
    compute_texts,
    group_size,
    write_array,
)
from engine.explore.word_vectors import tokens_between
from engine.messages.explore.head_measures import KEYS, SUMMED, TokenKinds, head_sums
from engine.messages.explore.text_set import CountHeads, HeadsCounted
from engine.messages.question import Answer
from engine.models.checkpoint import Checkpoint
from engine.tasks.finite import not_finite_error
from engine.tasks.inputs import Inputs, encode_text, stack_inputs

REACH = 16  # offsets counted to each side
MAX_OFFSET = 10  # words to each side that are searched for a syntactic head at a fixed offset
MAX_TAGS = 20  # most frequent tags
RESAMPLES, SEED = 500, 7
HEAD_COLUMN = "head"  # of CoNLL-U
NO_TAGS = ("O", "_")  # outside all spans, and an empty CoNLL-U cell


class Words(NamedTuple):
    """The words of a row, from its columns."""

    spans: list[tuple[int, int]]  # start and end character of each word
    tags: list[str]
    heads: list[int]  # index of the syntactic head, -1 for none; empty if unannotated


def head_statistics(
    checkpoint: Checkpoint, question: CountHeads, scratch: Path, emit: Callable[[Answer], object]
) -> HeadsCounted:
    """Compute statistics of every head over texts; `emit` gets the means so far.

    Raises StudioError if the texts cannot be read.
    """
    rows = load_rows(question.texts)
    words = words_in(rows, load_column(question.texts, HEAD_COLUMN))
    tags = frequent_tags(words)
    pairs = typed_pairs(rows)
    sums: Arrays = {}

    def compute(start: int, stop: int) -> Arrays:
        each = measure_texts(checkpoint, pairs[start:stop], words[start:stop], tags)
        return {name: np.stack([arrays[name] for arrays in each]) for name in each[0]}

    def answer(statistics: "HeadStatistics", done: int) -> HeadsCounted:
        return HeadsCounted(
            to=question.number,
            done=done,
            total=len(rows),
            file=write_array(scratch, statistics.values),
            columns=statistics.columns,
            tokens=statistics.tokens,
            fixed=statistics.fixed,
        )

    def on_part(arrays: Arrays, first: int, done: int) -> None:
        for name, values in arrays.items():
            added = values.sum(0, dtype=np.float64)
            sums[name] = added if not first or name not in sums else sums[name] + added
        if done < len(rows):
            totals = {name: values[None] for name, values in sums.items()}
            emit(answer(summary(totals, tags, resamples=0), done))

    arrays = compute_texts(ArrayStore(question), len(rows), compute, on_part, group_size(pairs))
    return answer(summary(arrays, tags), len(rows))


# ── some texts ───────────────────────────────────────────────────────────────────────────────


@torch.inference_mode()
def measure_texts(
    checkpoint: Checkpoint,
    pairs: Sequence[tuple[str, str | None]],
    words: Sequence[Words],
    tags: Sequence[str],
) -> list[Arrays]:
    """Sums over the query tokens of each text.

    sums: float32 [L, H, 11]. offsets: int32 [L, H, 2 * REACH + 1]. queries: int. With tags, also
    mass: float32 [L, H, G] and share: float32 [G]. With syntactic heads, also right: int32
    [L, H, 2], fixed: int32 [2 * MAX_OFFSET + 1] and words: int.

    Texts of similar length are batched, since reading the weights of the model takes most of the
    time.

    Args:
        words: one per text; empty if unannotated.
    """
    statistics = list[_TextStatistics]()
    for index, (text, pair) in enumerate(pairs):
        statistics.append(_TextStatistics(checkpoint, encode_text(checkpoint, text, pair)))
        if words:
            statistics[-1].by_words = _WordStatistics(statistics[-1], words[index], tags)
    for indices in batches([item.count for item in statistics]):
        batch = [statistics[index] for index in indices]
        stacked = stack_inputs(checkpoint, [item.inputs for item in batch])
        for layer in iter_layers(checkpoint.network, *stacked):
            weights = layer.weights.float().cpu().numpy()
            for row, item in enumerate(batch):
                item.measure(weights[row, :, : item.count, : item.count])
    return [item.arrays() for item in statistics]


class _TextStatistics:
    """Statistics of the attention to the tokens of one text, layer by layer."""

    def __init__(self, checkpoint: Checkpoint, inputs: Inputs) -> None:
        self.inputs, self.count = inputs, len(inputs.records)  # T
        self.kinds = TokenKinds.from_tokens(inputs.records, checkpoint.network.spec.is_causal)
        self.by_words: _WordStatistics | None = None
        self._layers: dict[str, list[np.ndarray]] = {}

    def measure(self, weights: np.ndarray) -> None:
        """Add the next layer, float32 [H, T, T]."""
        if not np.isfinite(weights.sum()):
            raise not_finite_error()
        sums, offsets = head_sums(weights, self.kinds)
        statistics = {"sums": sums.astype(np.float32), "offsets": histograms(offsets)}
        if self.by_words is not None:
            statistics |= self.by_words.measure(weights)
        for name, values in statistics.items():
            self._layers.setdefault(name, []).append(values)

    def arrays(self) -> Arrays:
        """One entry of `measure_texts`."""
        arrays = {name: np.stack(layers) for name, layers in self._layers.items()}
        arrays["queries"] = np.array(len(self.kinds.queries))
        return arrays if self.by_words is None else arrays | self.by_words.counts


def histograms(offsets: np.ndarray) -> np.ndarray:
    """Counts of each offset within REACH, int32 [H, 2 * REACH + 1], from int [H, Q]."""
    clipped = np.clip(offsets, -REACH - 1, REACH + 1) + REACH + 1
    counts = np.stack([np.bincount(row, minlength=2 * REACH + 3) for row in clipped])
    return counts[:, 1:-1].astype(np.int32)


class _WordStatistics:
    """The annotated words of a text, aligned with its tokens, and their statistics."""

    def __init__(self, text: _TextStatistics, words: Words, tags: Sequence[str]) -> None:
        tokens, kinds = text.inputs.records, text.kinds
        self.kinds = kinds
        self.tokens = [tokens_between(tokens, start, end) for start, end in words.spans]
        # words within the truncated input
        self.aligned = [n for n, inside in enumerate(self.tokens) if inside]
        self.heads = words.heads
        self.counts: Arrays = {}
        self.marks = np.zeros((len(tokens), len(tags)), np.float32)  # [T, G]
        for word in self.aligned:
            if words.tags and words.tags[word] in tags:
                self.marks[self.tokens[word], tags.index(words.tags[word])] = 1
        if tags:
            self.counts["share"] = (self.marks.mean(0) * len(kinds.queries)).astype(np.float32)
        if self.heads:
            self.dependents = [w for w in self.aligned if self.heads[w] in self.aligned]
            offsets = np.array([self.heads[w] - w for w in self.dependents], int)
            near = offsets[np.abs(offsets) <= MAX_OFFSET] + MAX_OFFSET
            self.counts["fixed"] = np.bincount(near, minlength=2 * MAX_OFFSET + 1).astype(np.int32)
            self.counts["words"] = np.array(len(self.dependents))

    def measure(self, weights: np.ndarray) -> Arrays:
        """Statistics of one layer, float32 [H, T, T]."""
        statistics: Arrays = {}
        if self.marks.shape[1]:
            statistics["mass"] = (weights[:, self.kinds.queries] @ self.marks).sum(1)  # [H, G]
        if self.heads:
            statistics["right"] = self._count_right(weights)
        return statistics

    def _count_right(self, weights: np.ndarray) -> np.ndarray:
        """Count how often a word's largest weight, from it and to it, is on its head: int32 [H, 2].

        Weights to the tokens of a word are summed, weights from them averaged (Clark et al. 2019,
        §4.1); the word itself is excluded.
        """
        if not self.dependents:
            return np.zeros((len(weights), 2), np.int32)
        groups = [self.tokens[word] for word in self.aligned]
        to = np.stack([weights[:, :, group].sum(-1) for group in groups], -1)  # [H, T, W]
        between = np.stack([to[:, group].mean(1) for group in groups], 1)  # [H, W, W]
        diagonal = np.arange(len(groups))
        between[:, diagonal, diagonal] = -1
        indices = {word: n for n, word in enumerate(self.aligned)}
        rows = [indices[word] for word in self.dependents]
        expected = np.array([indices[self.heads[word]] for word in self.dependents])
        chosen = between.argmax(2)[:, rows], between.argmax(1)[:, rows]
        return np.stack([(best == expected).sum(1) for best in chosen], 1).astype(np.int32)


# ── all texts ────────────────────────────────────────────────────────────────────────────────


class HeadStatistics(NamedTuple):
    columns: tuple[str, ...]
    values: np.ndarray  # float64 [3, L, H, C]: mean, and ends of its interval
    tokens: int
    fixed: tuple[int, float] | None  # best fixed offset to a syntactic head, and its accuracy


def summary(arrays: Arrays, tags: Sequence[str], resamples: int = RESAMPLES) -> HeadStatistics:
    """Means over all query tokens, and 95 % intervals by a bootstrap over texts (percentiles).

    Args:
        arrays: from `measure_texts`, one row per text.
        resamples: 0: no intervals.
    """
    queries = arrays["queries"].astype(np.float64)  # [N]
    counts = arrays["offsets"].sum(0)  # [L, H, offsets]
    best = counts.argmax(-1)  # [L, H]
    at_best = np.take_along_axis(arrays["offsets"], best[None, ..., None], -1)  # [N, L, H, 1]
    parts: list[tuple[tuple[str, ...], np.ndarray, np.ndarray]] = [
        (SUMMED, arrays["sums"], queries[:, None]),
        (KEYS[len(SUMMED) :], at_best, queries[:, None]),
    ]
    fixed = None
    if "mass" in arrays:
        parts.append((tuple(f"tag {tag}" for tag in tags), arrays["mass"], arrays["share"]))
    if "right" in arrays:
        words = arrays["words"].astype(np.float64)
        parts.append((("head dependent", "head governor"), arrays["right"], words[:, None]))
        offset = int(arrays["fixed"].sum(0).argmax())
        accuracy = float(arrays["fixed"].sum(0)[offset] / max(1.0, words.sum()))
        fixed = offset - MAX_OFFSET, accuracy
    draws = _draws(len(queries), resamples)  # [1 + B, N]
    columns, values = list[str](), list[np.ndarray]()
    for names, sums, divisors in parts:
        columns += names
        values.append(_intervals(draws, sums.astype(np.float64), divisors.astype(np.float64)))
    columns.append("offset")
    values.append(
        np.broadcast_to((best - REACH).astype(np.float64)[..., None], (3, *best.shape, 1))
    )
    return HeadStatistics(tuple(columns), np.concatenate(values, -1), int(queries.sum()), fixed)


def _draws(count: int, resamples: int) -> np.ndarray:
    """Weights of the texts: the first row is all ones, the others are resamples; float64 [1 + B,
    N]."""
    rng = np.random.default_rng(SEED)
    samples = rng.multinomial(count, np.full(count, 1 / count), resamples)
    return np.concatenate([np.ones((1, count)), samples])


def _intervals(draws: np.ndarray, sums: np.ndarray, divisors: np.ndarray) -> np.ndarray:
    """Means and interval, float64 [3, L, H, C], of [N, L, H, C] divided by [N, 1 or C]."""
    shape = sums.shape[1:]
    denominators = draws @ divisors  # [1 + B, 1 or C]
    means = (draws @ sums.reshape(len(sums), -1)).reshape(len(draws), *shape)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = means / denominators[:, None, None, :]
    if len(draws) == 1:
        return np.concatenate([means, np.full((2, *shape), np.nan)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a tag that occurs in no chosen text
        low, high = np.nanpercentile(means[1:], (2.5, 97.5), axis=0)
    return np.stack([means[0], low, high])


# ── words ────────────────────────────────────────────────────────────────────────────────────


def words_in(rows: Rows, heads: Sequence[str] | None) -> list[Words]:
    """The words of each row with their tags and heads; empty if the rows have neither.

    A row whose columns do not match its words has neither. Without tags the text is split at single
    spaces.
    """
    if rows.tags is None and heads is None:
        return []
    result = []
    tagged, texts = rows.tagged, rows.plain_texts
    for index, cell in enumerate(tagged.words):
        words = split_words(cell)
        tags = split_words(tagged.tags[index]) if tagged.tags is not None else []
        spans, end = list[tuple[int, int]](), 0
        for word in words:
            start = texts[index].index(word, end)
            end = start + len(word)
            spans.append((start, end))
        governors = split_words(heads[index]) if heads is not None else []
        head_indices = [int(governor) - 1 if governor.isdecimal() else -1 for governor in governors]
        is_split = rows.tags is not None or cell == " ".join(words)
        fits = len(head_indices) == len(words) and is_split
        result.append(
            Words(
                spans,
                tags if len(tags) == len(words) else [],
                head_indices if fits else [-1] * len(words) if heads is not None else [],
            )
        )
    return result


def frequent_tags(words: Sequence[Words]) -> list[str]:
    """The most frequent tags, except those that mean “none”."""
    counts = Counter(tag for row in words for tag in row.tags if tag not in NO_TAGS)
    return [tag for tag, _ in counts.most_common(MAX_TAGS)]
