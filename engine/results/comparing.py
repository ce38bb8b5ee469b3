"""Compare two results over the same rows: flipped rows, metric differences, significance.

M rows that both have. Rows match if their texts and their indices in the part are the same, or if
the texts occur once on each side.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.config.tasks import TASKS, get_metric, metric_limits
from engine.errors import StudioError
from engine.evaluation.measures import Measure
from engine.phrases import Phrase, join, phrase
from engine.results.conditions import Conditions, Rows
from engine.results.groups import row_scores
from engine.results.intervals import Interval
from engine.results.measures import difference, interval, measures
from engine.results.predictions import Predictions
from engine.results.row_figures import Floats, text_columns
from engine.results.significance import Difference, compare_over_seeds, mcnemar

LEVEL = 0.05  # significance level
TEXT_SEPARATOR = "\x1f"


@dataclass(frozen=True)
class Matching:
    """Rows of two results that belong together."""

    first: NDArray[np.int64]  # indices of M rows in the first result, ascending
    second: NDArray[np.int64]  # the same rows in the second
    only_first: int  # rows that could not be matched
    only_second: int
    relabelled: int  # matched rows whose gold labels differ; never compared

    @property
    def sentence(self) -> Phrase:
        parts = [phrase("{n:,} row(s) are in both", n=len(self.first))]
        if self.only_first:
            parts.append(phrase("{n:,} row(s) only in the first", n=self.only_first))
        if self.only_second:
            parts.append(phrase("{n:,} row(s) only in the second", n=self.only_second))
        if self.relabelled:
            parts.append(phrase("{n:,} row(s) with another true label", n=self.relabelled))
        return join(", ", parts)


@dataclass(frozen=True)
class MetricDifference:
    """One metric on both sides, over the compared rows."""

    name: str
    first: Interval
    second: Interval
    difference: Interval  # second minus first, paired bootstrap over rows
    higher_is_better: bool

    @property
    def is_sure(self) -> bool:
        """The interval of the difference excludes 0."""
        return self.difference.low > 0 or self.difference.high < 0


@dataclass(frozen=True)
class Comparison:
    """Two results over their common rows with the same gold."""

    matching: Matching
    first: Predictions
    second: Predictions
    indices: tuple[NDArray[np.int64], NDArray[np.int64]]  # of the compared rows, by side

    @property
    def rows(self) -> int:
        """Number of compared rows."""
        return len(self.indices[0])

    @cached_property
    def _scores(self) -> tuple[Floats, Floats]:
        """Scores of the compared rows on each side; higher is better."""
        signed = []
        for side, rows in zip((self.first, self.second), self.indices, strict=True):
            scores = row_scores(side)
            signed.append(scores.values[rows] * (1 if scores.higher_is_better else -1))
        return signed[0], signed[1]

    @property
    def is_binary(self) -> bool:
        """Each row is right or wrong on both sides."""
        return row_scores(self.first).is_binary and row_scores(self.second).is_binary

    @cached_property
    def better(self) -> NDArray[np.bool_]:
        """Rows with a higher score in the second result, bool [rows]: wrong, now right."""
        return self._scores[1] > self._scores[0]

    @cached_property
    def worse(self) -> NDArray[np.bool_]:
        """Rows with a lower score in the second result, bool [rows]: right, now wrong."""
        return self._scores[1] < self._scores[0]

    def conditions(self, chosen: NDArray[np.bool_], in_second: bool = True) -> Conditions:
        """Conditions that select the rows `chosen`, bool [rows], in one of the two results."""
        side = self.second if in_second else self.first
        rows = self.indices[int(in_second)][chosen]
        return (Rows(rows=tuple(side.table["row"].to_numpy()[rows].tolist())),)

    @cached_property
    def mcnemar(self) -> float | None:
        """p of McNemar's exact test; None if rows are not simply right or wrong."""
        if not self.is_binary:
            return None
        return mcnemar(int(self.better.sum()), int(self.worse.sum()))

    @cached_property
    def metrics(self) -> tuple[MetricDifference, ...]:
        """The metrics of the task on both sides; first the one by which the models were chosen.

        If that differs, the default metric of the task comes first.
        """
        sides = (self.first, self.second)
        chosen = {side.info.best_metric for side in sides} - {""}  # baselines name none
        pairs = zip(*map(measures, sides), strict=True)
        metrics = [self._metric(measure, other) for measure, other in pairs]
        return tuple(sorted(metrics, key=lambda m: len(chosen) != 1 or m.name not in chosen))

    def _metric(self, measure: Measure, other: Measure) -> MetricDifference:
        first, second = measure.over(self.indices[0]), other.over(self.indices[1])
        return MetricDifference(
            measure.name,
            interval(first),
            interval(second),
            difference(first, second),
            measure.higher_is_better,
        )

    @property
    def sentence(self) -> Phrase:
        """The conclusion about the main metric, and the test behind it."""
        if not self.rows:
            return phrase("No row is in both results with the same true label: nothing to compare.")
        main = self.metrics[0]
        p = self.mcnemar
        if p is not None and main.name in ("accuracy", "exact_match"):
            return _claim(main, p < LEVEL, phrase("McNemar p = {p:.2g}", p=p), self.rows)
        return _claim(main, main.is_sure, phrase("paired bootstrap"), self.rows)


def compare(first: Predictions, second: Predictions) -> Comparison:
    """Compare two results over their common rows. Raises StudioError if their tasks differ."""
    if first.info.task != second.info.task:
        raise StudioError(
            "The two results are of different tasks: {first} and {second}.",
            "Compare two results of the same task.",
            first=Phrase(TASKS[first.info.task].info.title, {}),
            second=Phrase(TASKS[second.info.task].info.title, {}),
        )
    left, right = _match(first, second)
    gold, other_gold = first.table["gold"].take(left), second.table["gold"].take(right)
    valid = pc.and_(pc.is_valid(gold), pc.is_valid(other_gold)).to_numpy()
    equal: Any = pc.coalesce(pc.equal(gold, other_gold), pa.scalar(False))
    same = valid & equal.to_numpy()
    matching = Matching(
        left, right, len(first) - len(left), len(second) - len(right), int((valid & ~same).sum())
    )
    comparable = same & ~np.isnan(row_scores(first).values[left])
    comparable &= ~np.isnan(row_scores(second).values[right])
    return Comparison(matching, first, second, (left[comparable], right[comparable]))


def compare_seeds(
    name: str, first: Mapping[int, float], second: Mapping[int, float]
) -> tuple[Difference, Phrase]:
    """Compare a metric of two jobs with several seeds, by seed.

    Jobs with the same seeds are compared in pairs (Student), others by Welch's test.
    """
    paired = first.keys() == second.keys()
    seeds = sorted(first) if paired else []
    a, b = (
        [side[seed] for seed in seeds] if paired else list(side.values())
        for side in (first, second)
    )
    low, high = metric_limits(name)
    gap = compare_over_seeds(a, b, paired, (low - high, high - low))
    if np.isnan(gap.p):
        return gap, phrase(
            "No claim over seeds: {first} and {second} runs are too few, at least 2 each are "
            "needed.",
            first=len(first),
            second=len(second),
        )
    test = phrase("paired t-test") if paired else phrase("Welch's t-test")
    metric = get_metric(name)
    main = MetricDifference(
        name,
        Interval(float(np.mean(a)), np.nan, np.nan),
        Interval(float(np.mean(b)), np.nan, np.nan),
        Interval(gap.value, gap.low, gap.high),
        metric is None or metric.higher_is_better,
    )
    runs = phrase("{test} over {n} runs, p = {p:.2g}", test=test, n=len(a) + len(b), p=gap.p)
    return gap, _claim(main, gap.p < LEVEL, runs)


def _claim(main: MetricDifference, is_sure: bool, test: Phrase, rows: int | None = None) -> Phrase:
    """One sentence: which is better by how much, or that the difference may be chance."""
    metric = get_metric(main.name)
    is_fraction = metric is not None and metric.unit != "number"
    scale = 100 if is_fraction else 1
    shown = {
        "metric": metric.title if metric else main.name,
        "first": scale * main.first.value,
        "second": scale * main.second.value,
        "low": scale * main.difference.low,
        "high": scale * main.difference.high,
        "unit": " %" if is_fraction else "",
        "points": phrase(" points") if is_fraction else "",
        "test": test if rows is None else phrase("{test}, {n:,} row(s)", test=test, n=rows),
    }
    if not is_sure:
        return phrase(
            "The difference may be chance: {metric} {first:.4g}{unit} and {second:.4g}{unit} "
            "(difference from {low:+.3g} to {high:+.3g}{points}; {test}).",
            **shown,
        )
    if (main.difference.value > 0) == main.higher_is_better:
        return phrase(
            "The second result is better: {metric} {second:.4g}{unit} against {first:.4g}{unit} "
            "(difference from {low:+.3g} to {high:+.3g}{points}; {test}).",
            **shown,
        )
    return phrase(
        "The second result is worse: {metric} {second:.4g}{unit} against {first:.4g}{unit} "
        "(difference from {low:+.3g} to {high:+.3g}{points}; {test}).",
        **shown,
    )


def _match(first: Predictions, second: Predictions) -> tuple[NDArray[np.int64], ...]:
    """Indices of the matching rows, on each side."""
    texts = _text_codes(first, second)
    row_numbers = [side.table["row"].to_numpy() for side in (first, second)]
    size = 1 + max((int(codes.max(initial=0)) for codes in texts), default=0)
    keys = [row * size + codes for row, codes in zip(row_numbers, texts, strict=True)]
    _, a, b = np.intersect1d(keys[0], keys[1], assume_unique=True, return_indices=True)
    rest = [np.setdiff1d(np.arange(len(side)), matched, assume_unique=True)
            for side, matched in ((first, a), (second, b))]  # fmt: skip
    singles = []
    for codes, rows in zip(texts, rest, strict=True):
        counts = np.bincount(codes[rows], minlength=size)
        singles.append(rows[counts[codes[rows]] == 1])
    _, extra, other_extra = np.intersect1d(
        texts[0][singles[0]], texts[1][singles[1]], assume_unique=True, return_indices=True
    )
    left = np.concatenate([a, singles[0][extra]]).astype(np.int64)
    right = np.concatenate([b, singles[1][other_extra]]).astype(np.int64)
    order = np.argsort(left)
    return left[order], right[order]


def _text_codes(first: Predictions, second: Predictions) -> tuple[NDArray[np.int64], ...]:
    """A code for the texts of each row, equal for equal texts, on each side."""
    parts: list[Any] = []
    for side in (first, second):
        texts: Any = pa.chunked_array([pa.array([""] * len(side), pa.string())])
        for name in text_columns(side):
            cells: Any = pc.coalesce(side.cells(name), pa.scalar(""))
            texts = pc.binary_join_element_wise(texts, cells, TEXT_SEPARATOR)
        parts += texts.cast(pa.large_string()).chunks  # may exceed 2 GB together
    encoded: Any = pa.chunked_array(parts, pa.large_string()).combine_chunks().dictionary_encode()
    codes = encoded.indices.to_numpy().astype(np.int64)
    return codes[: len(first)], codes[len(first) :]


BETTER, WORSE, UNSURE = (
    "the model is better",
    "the model is worse",
    "the difference may be chance",
)


class BaselineComparison(NamedTuple):
    """A baseline compared with a model, by the metric that chose the model; 95 % intervals."""

    name: str
    metric: str
    score: Interval
    difference: Interval  # model minus baseline, paired bootstrap
    verdict: str  # BETTER or WORSE; UNSURE if the interval of the difference contains 0


def compare_with_baseline(model: Predictions, baseline: Predictions) -> BaselineComparison:
    """Compare a model with a baseline. Raises StudioError if their tasks differ."""
    main = compare(baseline, model).metrics[0]
    verdict = UNSURE
    if main.is_sure:
        verdict = BETTER if (main.difference.value > 0) == main.higher_is_better else WORSE
    return BaselineComparison(baseline.info.model, main.name, main.first, main.difference, verdict)


def baseline_advice(comparisons: Sequence[BaselineComparison]) -> str:
    """Say if the model beats its baselines, and what usually helps; empty for no baselines."""
    if not comparisons:
        return ""
    unbeaten = [baseline.name for baseline in comparisons if baseline.verdict != BETTER]
    if not unbeaten:
        return phrase("Better than all baselines.")
    return phrase(
        "The model is not clearly better than {baselines}. What usually helps: more or cleaner "
        "training rows, more epochs, another learning rate, a larger base model.",
        baselines=", ".join(unbeaten),
    )
