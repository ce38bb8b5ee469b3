"""The metrics of a task as sums over rows, so that they can be measured on any sample of rows.

N rows, U kinds of rows, K sums. Rows of a kind add the same to every sum, as all rows of one gold
and one predicted class do; a metric is a function of the sums. The names of metrics are those of
`engine.config.tasks`, and so are their values.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.evaluation.regression import ranks
from engine.evaluation.sentence_similarity import NEAREST
from engine.results.classes import f1_of_sums
from engine.results.intervals import UNKNOWN, Interval, bootstrap_counts, mean_interval
from engine.results.labels import codes, labelled, labels, members
from engine.results.predictions import Predictions
from engine.results.row_figures import Numbers, details, figure, holds_numbers
from engine.results.span_figures import row_parts
from engine.results.spans import name_spans
from engine.results.token_columns import in_top_5

Sums = NDArray[np.float64]  # [B, K]


@dataclass(frozen=True)
class Measure:
    """One metric of a task over N rows."""

    name: str  # as in the facts of the task
    kinds: NDArray[np.int64]  # [N], row of `parts`; -1 where a row has no gold
    parts: NDArray[np.float64]  # [U, K]
    of_sums: Callable[[Sums], NDArray[np.float64]]  # [B, K] → [B]
    more_is_better: bool = True

    def over(self, rows: NDArray[np.int64]) -> "Measure":
        """The same metric over some of the rows, by their places."""
        return Measure(self.name, self.kinds[rows], self.parts, self.of_sums, self.more_is_better)

    def interval(self, seed: int = 0) -> Interval:
        """The metric with its bootstrap interval over rows; of a share of rows, that of Wilson."""
        known = self.kinds[self.kinds >= 0]
        if not len(known):
            return UNKNOWN
        used, times = np.unique(known, return_counts=True)
        if self.of_sums is _first_of_second and (self.parts[used, 1] == 1).all():
            return mean_interval(np.repeat(self.parts[used, 0], times), seed=seed)
        return bootstrap_counts(self.parts[used], times, self.of_sums, seed=seed)


def measures(predictions: Predictions) -> tuple[Measure, ...]:
    """The metrics of the task that rows decide, that by which the best checkpoint is chosen first.

    Rows without gold, or with scores that are not finite, are left out.
    """
    match predictions.info.task:
        case "multi_label":
            return _of_label_sets(predictions)
        case "regression":
            return _of_numbers(predictions)
        case "sentence_similarity":
            return _of_similarity(predictions)
        case "token_classification":
            return _of_tags(predictions)
        case "question_answering":
            exact = [row.get("exact", np.nan) for row in details(predictions)]
            f1 = figure(predictions, "score")
            return (_mean("f1", f1), _mean("exact_match", exact))
        case "multiple_choice":
            return (_mean("accuracy", figure(predictions, "score")),)
        case "pretraining":
            return _of_tokens(predictions)
    return (_mean("accuracy", figure(predictions, "score")), _macro_of_classes(predictions))


def difference(first: Measure, second: Measure, seed: int = 0) -> Interval:
    """The second less the first over the same rows, by a bootstrap of pairs.

    Both are over N rows in the same order; a row that lacks gold in one is left out.
    """
    usable = (first.kinds >= 0) & (second.kinds >= 0)
    if not usable.any():
        return UNKNOWN
    pairs = first.kinds[usable] * len(second.parts) + second.kinds[usable]
    used, times = np.unique(pairs, return_counts=True)
    one, other = np.divmod(used, len(second.parts))
    parts = np.hstack([first.parts[one], second.parts[other]])
    size = first.parts.shape[1]
    return bootstrap_counts(
        parts,
        times,
        lambda sums: second.of_sums(sums[:, size:]) - first.of_sums(sums[:, :size]),
        seed=seed,
    )


def _measure(
    name: str,
    parts: ArrayLike,
    usable: NDArray[np.bool_],
    of_sums: Callable[[Sums], NDArray[np.float64]],
) -> Measure:
    """From what each row adds to the sums, [N, K]."""
    table = np.asarray(parts, dtype=np.float64)
    kinds = np.full(len(table), -1, dtype=np.int64)
    different, kinds[usable] = np.unique(table[usable], axis=0, return_inverse=True)
    return Measure(name, kinds, different, of_sums)


def _mean(name: str, values: ArrayLike, more_is_better: bool = True) -> Measure:
    each = np.asarray(values, dtype=np.float64)
    usable, kinds = np.isfinite(each), np.full(len(each), -1, dtype=np.int64)
    different, kinds[usable] = np.unique(each[usable], return_inverse=True)
    parts = np.column_stack([different, np.ones_like(different)])
    return Measure(name, kinds, parts, _first_of_second, more_is_better)


def _macro_of_classes(predictions: Predictions) -> Measure:
    """Macro F1 over the classes that occur in a sample, gold or predicted."""
    count = len(labels(predictions))
    gold, predicted = codes(predictions, "gold"), codes(predictions, "predicted")
    usable = (gold >= 0) & (predicted >= 0)
    pairs, kinds = np.unique(gold[usable] * count + predicted[usable], return_inverse=True)
    of_gold, of_predicted = np.divmod(pairs, max(count, 1))
    one = np.eye(count)
    right = one[of_gold] * (of_gold == of_predicted)[:, None]
    every = np.full(len(gold), -1, dtype=np.int64)
    every[usable] = kinds
    parts = np.hstack([right, one[of_predicted], one[of_gold]])
    return Measure("f1_macro", every, parts, lambda sums: _macro_f1(sums, count))


def _of_label_sets(predictions: Predictions) -> tuple[Measure, ...]:
    gold, predicted = (members(predictions, side) for side in ("gold", "predicted"))
    usable, count = labelled(predictions), gold.shape[1]
    parts = np.hstack([gold & predicted, predicted, gold])
    every = _measure("f1_micro", parts, usable, lambda sums: _micro_f1(sums, count))
    macro = Measure(
        "f1_macro", every.kinds, every.parts, lambda sums: _macro_f1(sums, count, of_all=True)
    )
    return (every, macro, _mean("exact_match", figure(predictions, "score")))


def _of_numbers(predictions: Predictions) -> tuple[Measure, ...]:
    gold, predicted = figure(predictions, "gold"), figure(predictions, "predicted")
    usable = np.isfinite(gold) & np.isfinite(predicted)
    x, y = (_centred(np.where(usable, one, 0), usable) for one in (gold, predicted))
    each = np.where(usable, np.arange(len(usable)), -1)  # no two rows are alike
    a, b = (_ranked(one, usable) for one in (gold, predicted))
    return (
        Measure("pearson", each, _moments(x, y), _correlation),
        Measure("spearman", each, _moments(a, b), _correlation),
        _mean("mean_absolute_error", np.abs(figure(predictions, "residual")), more_is_better=False),
    )


def _of_similarity(predictions: Predictions) -> tuple[Measure, ...]:
    """Beside numbers the correlations; else by the rank of each pair, or the order of triplets.

    Of first texts that stand in several rows each row counts.
    """
    if holds_numbers(predictions.info):
        pearson, spearman, _ = _of_numbers(predictions)
        return spearman, pearson
    accuracy = _mean("accuracy", figure(predictions, "score"))
    if "mrr" not in predictions.info.metrics:
        return (accuracy,)
    ranks = figure(predictions, "predicted").astype(np.float64)
    reciprocal = np.where(ranks <= NEAREST, 1 / np.maximum(ranks, 1), 0)
    return _mean("mrr", reciprocal), accuracy, _mean("recall_at_10", ranks <= NEAREST)


def _of_tags(predictions: Predictions) -> tuple[Measure, ...]:
    words = [
        (sum(a == b for a, b in zip(row["gold"], row["predicted"], strict=True)), len(row["gold"]))
        if row.get("gold")
        else (0, 0)
        for row in details(predictions)
    ]
    usable = np.array([count > 0 for _, count in words], dtype=bool)
    accuracy = _measure("accuracy", np.reshape(words, (-1, 2)), usable, _first_of_second)
    if not name_spans(predictions):
        return (accuracy,)
    return (_measure("f1", row_parts(predictions), usable, _f1_or_0), accuracy)


def _of_tokens(predictions: Predictions) -> tuple[Measure, ...]:
    """Of masked tokens; where there is a loss of next sentence, theirs is not the whole loss."""
    loss = "loss_mlm" if "loss_mlm" in predictions.info.metrics else "loss"
    return (
        _mean(loss, figure(predictions, "loss"), more_is_better=False),
        _mean("accuracy", figure(predictions, "score")),
        _mean("top5", in_top_5(predictions)),
    )


def _centred(values: Numbers, usable: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Moved to a mean of 0, so that the squares of large numbers keep their digits."""
    mean = values[usable].mean(dtype=np.float64) if usable.any() else 0.0
    return np.asarray(values, dtype=np.float64) - mean


def _ranked(values: Numbers, usable: NDArray[np.bool_]) -> Sums:
    """Ranks among all rows, moved to a mean of 0, [N].

    A sample takes them over, which makes its figure that of the whole rows to the first order.
    """
    found = np.zeros(len(values))
    if usable.any():
        found[usable] = ranks(np.asarray(values, dtype=np.float64)[usable])
    return _centred(found, usable)


def _moments(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """What a correlation is computed from: 1, x, y, xx, yy and xy of each row, [N, 6]."""
    return np.column_stack([np.ones_like(x), x, y, x * x, y * y, x * y])


def _correlation(sums: Sums) -> NDArray[np.float64]:
    """Pearson from moments, [B]; 0 where a side is constant."""
    n, x, y, xx, yy, xy = sums.T
    spread = np.maximum(0, n * xx - x * x) * np.maximum(0, n * yy - y * y)
    constant = spread <= 1e-20 * (n * xx) * (n * yy)
    with np.errstate(divide="ignore", invalid="ignore"):
        found: NDArray[np.float64] = np.where(constant, 0, (n * xy - x * y) / np.sqrt(spread))
    return np.clip(found, -1, 1)


def _first_of_second(sums: Sums) -> NDArray[np.float64]:
    with np.errstate(invalid="ignore"):
        found: NDArray[np.float64] = sums[:, 0] / sums[:, 1]
    return found


def _f1_or_0(sums: Sums) -> NDArray[np.float64]:
    return np.nan_to_num(f1_of_sums(sums), nan=0.0)


def _micro_f1(sums: Sums, count: int) -> NDArray[np.float64]:
    return _f1_or_0(sums.reshape(len(sums), 3, count).sum(axis=2))


def _macro_f1(sums: Sums, count: int, of_all: bool = False) -> NDArray[np.float64]:
    """The mean F1 of the labels that occur, or of all, of which others count as 0."""
    f1 = f1_of_sums(np.moveaxis(sums.reshape(len(sums), 3, count), 1, 2))  # [B, C]
    whole = np.full(len(f1), count) if of_all else (~np.isnan(f1)).sum(axis=1)
    found: NDArray[np.float64] = np.nansum(f1, axis=1) / np.maximum(whole, 1)
    return found
