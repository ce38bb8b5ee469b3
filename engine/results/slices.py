"""Slices: named conditions, and a search for those where a model is worst.

N rows with a score, S conditions. Conditions are tried singly and in pairs; a slice has at least
20 rows, and its score is tested against all other rows, corrected for multiple testing.
Candidate conditions are properties of rows, never of their predictions: gold label, length, columns
with few values, frequent words, first word of a question, types of gold spans; frequency and
position of a masked token.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pydantic import TypeAdapter, ValidationError

from engine.config import Spec
from engine.config.task import RowFigure
from engine.config.tasks import TASKS
from engine.errors import StudioError
from engine.files.atomic_write import disk_errors_for, write_file
from engine.files.regular_file import read_regular
from engine.phrases import Phrase, phrase
from engine.results.conditions import CellHasWord, Condition, Conditions, HasSpan, mask, sentence
from engine.results.groups import (
    Group,
    by_column,
    by_figure,
    by_first_word,
    by_label,
    by_powers,
    by_quantile,
    group,
    row_scores,
)
from engine.results.intervals import Interval, mean_interval
from engine.results.labels import labels
from engine.results.masked_tokens import OCCURRENCES, POSITION
from engine.results.predictions import Predictions
from engine.results.row_figures import figure, holds_numbers, text_columns
from engine.results.significance import benjamini_hochberg, hypergeometric_tail, permutation_tail
from engine.results.spans import span_table

MIN_ROWS = 20  # of a slice
LEVEL = 0.05  # significance level, also for a pair against its single conditions
MAX_SLICES = 20  # in a result
MAX_SEARCH_ROWS = 200_000  # drawn at random
CHUNK = 20_000  # rows of a matrix product
MAX_WORDS = 200  # the most frequent ones are tried
NON_WORD = r"[^\pL\pM\pN_]+"


class Slice(Spec):
    """Named conditions for the rows of one data set or file."""

    name: str
    source: str
    conditions: Conditions


@dataclass(frozen=True)
class WorstSlice:
    """A slice that is significantly worse than all other rows."""

    group: Group
    elsewhere: Interval  # the score of all other rows
    p: float  # adjusted for all slices that were tried
    is_fraction: bool  # a fraction of correct rows, not a mean
    score_name: Phrase

    @property
    def conditions(self) -> Conditions:
        return self.group.conditions

    @property
    def sentence(self) -> Phrase:
        """For example “12 of 31 rows correct where true label is “bad”, 71 % elsewhere”."""
        condition = sentence(self.group.conditions)
        if self.is_fraction:
            return phrase(
                "{right:,} of {count:,} rows correct where {condition}, {elsewhere:.0f} % "
                "elsewhere",
                right=round(self.group.score.value * self.group.count),
                count=self.group.count,
                condition=condition,
                elsewhere=100 * self.elsewhere.value,
            )
        return phrase(
            "{name} {value:.3g} in {count:,} rows where {condition}, {elsewhere:.3g} elsewhere",
            name=self.score_name,
            value=self.group.score.value,
            count=self.group.count,
            condition=condition,
            elsewhere=self.elsewhere.value,
        )


@dataclass(frozen=True)
class WorstSlices:
    """Result of a search."""

    slices: tuple[WorstSlice, ...]  # the most significant first
    tried: int
    rows: int  # searched rows


class Candidate(NamedTuple):
    """A condition, its rows, and its subject."""

    condition: Condition
    rows: NDArray[np.bool_]  # [N]
    subject: str

    def pairs_with(self, other: "Candidate") -> bool:
        return self.subject != other.subject


def score_slices(predictions: Predictions, slices: Sequence[Slice]) -> tuple[Group, ...]:
    """The scores of named slices. Raises StudioError for a missing column."""
    return tuple(group(predictions, item.conditions) for item in slices)


def worst_slices(predictions: Predictions, min_rows: int = MIN_ROWS) -> WorstSlices:
    """Find the slices where the model is worse than elsewhere.

    Correct-or-wrong rows are tested by Fisher's exact test, others by a permutation test, both
    one-sided, with the false discovery rate over all tried slices below 5 %. A pair is reported
    only if it is worse than each of its conditions without the other, and a slice only if it is
    also worse without the rows of the slices reported before it.
    """
    scores = row_scores(predictions)
    usable = np.flatnonzero(~np.isnan(scores.values))
    if len(usable) > MAX_SEARCH_ROWS:
        usable = np.sort(np.random.default_rng(0).choice(usable, MAX_SEARCH_ROWS, replace=False))
    tried = candidates(predictions, usable, min_rows)
    values = scores.values[usable].astype(np.float64)
    sums = _SliceStatistics.build(tried, values if scores.higher_is_better else -values, min_rows)
    p = sums.tail(scores.is_binary)
    adjusted, cost = benjamini_hochberg(p), sums.cost
    reported: list[WorstSlice] = []
    covered = np.zeros(len(usable), dtype=bool)
    for index in sorted(np.flatnonzero(adjusted < LEVEL), key=lambda i: (p[i], -cost[i])):
        if len(reported) == MAX_SLICES:
            break
        first, second = sums.pairs[index]
        rows = tried[first].rows & tried[second].rows
        if not sums.is_worse(rows & ~covered, ~rows & ~covered, scores.is_binary, min_rows):
            continue
        if first != second and not all(
            sums.is_worse(rows, candidate.rows & ~rows, scores.is_binary)
            for candidate in (tried[first], tried[second])
        ):
            continue
        covered |= rows
        conditions = (tried[first].condition, tried[second].condition)[: 1 + (first != second)]
        # the scores of all rows, not only of the searched ones
        inside = mask(predictions, conditions) & ~np.isnan(scores.values)
        reported.append(
            WorstSlice(
                Group(conditions, int(inside.sum()), mean_interval(scores.values[inside])),
                mean_interval(scores.values[~inside]),
                float(adjusted[index]),
                scores.is_binary,
                scores.name,
            )
        )
    return WorstSlices(tuple(reported), len(p), len(usable))


@dataclass(frozen=True)
class _SliceStatistics:
    """All tried slices: pairs of conditions; a condition paired with itself is single.

    Counts, sums and sums of squares of the scores are [S, S]; of the tried slices, [tried].
    """

    counts: NDArray[np.float64]
    sums: NDArray[np.float64]
    squares: NDArray[np.float64]
    values: NDArray[np.float64]  # [N]; higher is better
    pairs: list[tuple[int, int]]

    @classmethod
    def build(
        cls, tried: Sequence[Candidate], values: NDArray[np.float64], min_rows: int
    ) -> "_SliceStatistics":
        """Compute all pairs with three matrix products."""
        size = len(tried)
        counts, sums, squares = (np.zeros((size, size)) for _ in range(3))
        for begin in range(0, len(values) if size else 0, CHUNK):
            part = slice(begin, begin + CHUNK)
            rows = np.array([item.rows[part] for item in tried], dtype=np.float32)  # [S, rows]
            score = values[part].astype(np.float32)
            counts += rows @ rows.T
            sums += (rows * score) @ rows.T
            squares += (rows * score**2) @ rows.T
        pairs = [
            (first, second)
            for first in range(size)
            for second in range(first, size)
            if min_rows <= counts[first, second] <= len(values) - min_rows
            and (first == second or tried[first].pairs_with(tried[second]))
        ]
        return cls(counts, sums, squares, values, pairs)

    @property
    def cost(self) -> NDArray[np.float64]:
        """Total score that the rows of a slice lose relative to the other rows, [tried]."""
        count, total, _ = self._pair_sums()
        elsewhere = (self.values.sum() - total) / (len(self.values) - count)
        costs: NDArray[np.float64] = count * elsewhere - total
        return costs

    def tail(self, is_binary: bool) -> NDArray[np.float64]:
        """One-sided p that each slice is worse than all other rows, [tried]; 1 if it is not."""
        count, total, square = self._pair_sums()
        rest = (
            len(self.values) - count,
            self.values.sum() - total,
            (self.values**2).sum() - square,
        )
        worse = self.cost > 0
        p = np.ones(len(self.pairs))
        p[worse] = _tail(
            (count[worse], total[worse], square[worse]),
            (rest[0][worse], rest[1][worse], rest[2][worse]),
            is_binary,
        )
        return p

    def is_worse(
        self, rows: NDArray[np.bool_], others: NDArray[np.bool_], is_binary: bool, min_rows: int = 2
    ) -> bool:
        """Test rows against others; False if either has too few."""
        if rows.sum() < min_rows or others.sum() < 2:
            return False
        inside, outside = self.values[rows], self.values[others]
        if inside.mean() >= outside.mean():
            return False
        moments = (_moments(inside), _moments(outside))
        return bool(_tail(*moments, is_binary)[0] < LEVEL)

    def _pair_sums(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        pairs = np.array(self.pairs, dtype=np.int64).reshape(-1, 2)
        first, second = pairs[:, 0], pairs[:, 1]
        return self.counts[first, second], self.sums[first, second], self.squares[first, second]


Moments = Sequence[NDArray[np.float64]]  # counts, sums and sums of squares, each [tried]


def _tail(inside: Moments, other: Moments, is_binary: bool) -> NDArray[np.float64]:
    """One-sided p that the first scores are below the others, [tried]."""
    if not is_binary:
        return permutation_tail(inside, other)
    p = np.ones(len(inside[0]))
    hits, rows = np.rint(inside[1]).astype(np.int64), np.rint(inside[0]).astype(np.int64)
    all_hits = hits + np.rint(other[1]).astype(np.int64)
    all_rows = rows + np.rint(other[0]).astype(np.int64)
    for totals in set(zip(all_hits.tolist(), all_rows.tolist(), strict=True)):  # mostly one
        same = (all_hits == totals[0]) & (all_rows == totals[1])
        p[same] = hypergeometric_tail(hits[same], rows[same], *totals)
    return p


def _moments(values: NDArray[np.float64]) -> Moments:
    return tuple(np.array([moment]) for moment in (len(values), values.sum(), (values**2).sum()))


SLICES: TypeAdapter[tuple[Slice, ...]] = TypeAdapter(tuple[Slice, ...])


def read_slices(path: Path, source: str | None = None) -> tuple[Slice, ...]:
    """The saved slices, of one source or of all; none if there is no file.

    Raises StudioError if the file cannot be read or is no such file.
    """
    try:
        slices = SLICES.validate_json(read_regular(path))
    except FileNotFoundError:
        return ()
    except (OSError, ValidationError) as error:
        raise StudioError(
            "The saved slices in {name} cannot be read.",
            "Delete the file; the slices in it are lost.",
            name=path.name,
        ) from error
    return tuple(item for item in slices if source in (None, item.source))


def save_slice(path: Path, new: Slice) -> None:
    """Add a slice, or replace the one with its name and source. Raises StudioError."""
    others = [item for item in read_slices(path) if _key(item) != _key(new)]
    _write(path, (*others, new))


def delete_slice(path: Path, name: str, source: str) -> None:
    slices = read_slices(path)
    remaining = [item for item in slices if _key(item) != (name, source)]
    if len(remaining) < len(slices):
        _write(path, remaining)


def rename_slice(path: Path, name: str, source: str, new: str) -> None:
    """Rename a slice, keeping its position, if it exists.

    Raises StudioError, also if another slice of the same rows has the new name.
    """
    slices = read_slices(path)
    if new != name and any(_key(item) == (new, source) for item in slices):
        raise StudioError(
            "There is already a slice “{name}”.",
            "Choose another name, or delete that slice first.",
            name=new,
        )
    renamed = [
        item.model_copy(update={"name": new}) if _key(item) == (name, source) else item
        for item in slices
    ]
    if renamed != list(slices):
        _write(path, renamed)


def _key(item: Slice) -> tuple[str, str]:
    return item.name, item.source


def _write(path: Path, slices: Sequence[Slice]) -> None:
    with disk_errors_for(path):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_file(path, SLICES.dump_json(tuple(slices), indent=1))


def candidates(
    predictions: Predictions, rows: NDArray[np.int64], min_rows: int
) -> tuple[Candidate, ...]:
    """The conditions that hold for at least `min_rows` of these rows, and for not nearly all.

    Args:
        rows: indices of the N rows, ascending.
    """
    part = Predictions(predictions.info, predictions.table.take(rows))
    grouped = (
        Candidate(conditions[0], mask(part, conditions), subject)
        for subject, groups in _groups(part)
        for conditions in groups
    )
    all_ = (*grouped, *_words(part, min_rows))
    return tuple(item for item in all_ if min_rows <= item.rows.sum() <= len(rows) - min_rows)


def _groups(part: Predictions) -> Iterator[tuple[str, Sequence[Conditions]]]:
    head, mapping = TASKS[part.info.task].info.head, part.info.mapping
    is_labelled = head is not None and (head.labels_inputs or head.scores_choices)
    if is_labelled and len(labels(part)) > 1:
        yield "label", by_label(part)
    if holds_numbers(part.info):
        yield "label", by_figure(part, "gold")
    yield "length", by_figure(part, length_figure(part))
    if head is not None and head.finds_spans and mapping.text in part.columns:
        yield "first word", by_first_word(part, mapping.text)
    if head is None:
        yield "frequency", by_powers(part, OCCURRENCES)
        yield "position", by_quantile(part, POSITION)
        return
    if head.marks_text:
        types = span_table(part).types
        yield "type", tuple((HasSpan(gold=name),) for name in types)
    for column in part.columns:
        if column not in mapping.sources:
            yield f"column {column}", by_column(part, column)


def length_figure(predictions: Predictions) -> RowFigure:
    """Words if the texts have spaces; else characters, as in Chinese."""
    words, characters = (figure(predictions, name) for name in ("words", "characters"))
    return "words" if characters.sum() <= 15 * words.sum() else "characters"


def _words(part: Predictions, min_rows: int) -> Iterator[Candidate]:
    """Candidates for the words in the most rows, per column."""
    for column in text_columns(part):
        text: Any = pc.utf8_lower(part.cells(column).cast(pa.large_string())).combine_chunks()
        lists = pc.split_pattern_regex(text, NON_WORD)
        rows = pc.list_parent_indices(lists).to_numpy()
        encoded = pc.list_flatten(lists).dictionary_encode()
        words = encoded.dictionary.to_pylist()
        pairs = _distinct(rows * max(len(words), 1) + encoded.indices.to_numpy())  # row and word
        row, word = np.divmod(pairs, max(len(words), 1))
        counts = np.bincount(word, minlength=len(words))
        ranked = np.argsort(-counts, kind="stable")
        usable = [n for n in ranked[: MAX_WORDS + 1] if words[n] and counts[n] >= min_rows]
        for index in usable[:MAX_WORDS]:
            has = np.zeros(len(part), dtype=bool)
            has[row[word == index]] = True
            yield Candidate(CellHasWord(column=column, word=words[index]), has, "word")


def _distinct(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Distinct values, ascending. np.unique hashes them, which is slow for millions and holds the
    GIL."""
    ordered = np.sort(values)
    is_first = np.ones(len(ordered), dtype=bool)
    is_first[1:] = ordered[1:] != ordered[:-1]
    return ordered[is_first]
