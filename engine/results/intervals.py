"""How sure a figure is: intervals that hold the true one in 95 of 100 samples of rows.

N rows, K sums of parts, B samples drawn with replacement.
"""

from collections.abc import Callable
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

CONFIDENCE = 0.95
DRAWS = 2_000  # samples of a bootstrap; Efron and Tibshirani (1993, §19.3) want 1,000 or more
AT_ONCE = 4_000_000  # numbers in memory while samples are drawn
MANY_KINDS = 20_000  # of rows; with more, groups of rows are left out instead of drawn
GROUPS = 200


class Interval(NamedTuple):
    """A figure with the ends of its interval; all NaN where there is nothing to compute it from."""

    value: float
    low: float
    high: float


UNKNOWN = Interval(float("nan"), float("nan"), float("nan"))


def wilson(part: int, whole: int, confidence: float = CONFIDENCE) -> Interval:
    """The interval of a proportion (Wilson 1927); unknown where `whole` is 0."""
    if not whole:
        return UNKNOWN
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    p, n = part / whole, whole
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * float(np.sqrt(p * (1 - p) / n + z * z / (4 * n * n)))
    low = 0.0 if part == 0 else middle - half
    high = 1.0 if part == whole else middle + half
    return Interval(p, low, high)


def bootstrap(
    parts: ArrayLike,
    figure: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    confidence: float = CONFIDENCE,
    draws: int = DRAWS,
    seed: int = 0,
) -> Interval:
    """The percentile interval of a figure of sums over rows (Efron 1979), as accuracy or F1.

    Rows with the same parts are drawn together, so a million rows with few different parts take no
    longer than a hundred.

    Args:
        parts: float [N, K], what each row adds to each sum.
        figure: from sums, float64 [B, K], to the figure of each sample, float64 [B].
        seed: of the samples; the same gives the same interval.
    """
    counts = np.asarray(parts, dtype=np.float64)
    if not len(counts):
        return UNKNOWN
    different, times = np.unique(counts, axis=0, return_counts=True)
    return bootstrap_counts(different, times, figure, confidence, draws, seed)


def bootstrap_counts(
    different: ArrayLike,
    times: ArrayLike,
    figure: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    confidence: float = CONFIDENCE,
    draws: int = DRAWS,
    seed: int = 0,
) -> Interval:
    """`bootstrap` of rows that were counted: U different ones, float [U, K], int [U] times each."""
    parts, often = np.asarray(different, dtype=np.float64), np.asarray(times, dtype=np.int64)
    rows = int(often.sum())
    if not rows:
        return UNKNOWN
    if len(often) > MANY_KINDS:
        return _jackknife(parts, often, figure, confidence, seed)
    rng = np.random.default_rng(seed)
    step = max(1, AT_ONCE // len(often))
    sums = [
        rng.multinomial(rows, often / rows, size=min(step, draws - done)) @ parts
        for done in range(0, draws, step)
    ]
    value = float(figure((often @ parts)[None])[0])
    return percentiles(value, figure(np.concatenate(sums)), confidence)


def bootstrap_rows(
    rows: int,
    figure: Callable[[NDArray[np.int64]], float],
    confidence: float = CONFIDENCE,
    draws: int = DRAWS,
    seed: int = 0,
) -> Interval:
    """The percentile interval of any figure; `figure` takes the places of N rows, int64 [N]."""
    if not rows:
        return UNKNOWN
    rng = np.random.default_rng(seed)
    samples = [figure(rng.integers(0, rows, size=rows)) for _ in range(draws)]
    return percentiles(figure(np.arange(rows)), np.array(samples), confidence)


def percentiles(
    value: float, samples: NDArray[np.float64], confidence: float = CONFIDENCE
) -> Interval:
    """A figure with the percentiles of its samples, float64 [B]; NaN are left out."""
    usable = samples[~np.isnan(samples)]
    if not len(usable):
        return Interval(value, float("nan"), float("nan"))
    tail = (1 - confidence) / 2
    low, high = np.quantile(usable, [tail, 1 - tail])
    return Interval(value, float(low), float(high))


def mean_interval(
    values: NDArray[np.float32] | NDArray[np.float64], confidence: float = CONFIDENCE, seed: int = 0
) -> Interval:
    """The bootstrap interval of the mean of the values that are not NaN, [N].

    Where each is 0 or 1 it is that of Wilson: a bootstrap is too narrow for a share near 0 or 1,
    and has no width where all rows are right.
    """
    different, times = np.unique(values[~np.isnan(values)].astype(np.float64), return_counts=True)
    if len(different) and np.isin(different, (0, 1)).all():
        return wilson(int(times[different == 1].sum()), int(times.sum()), confidence)
    parts = np.column_stack([different, np.ones_like(different)])
    return bootstrap_counts(
        parts, times, lambda sums: sums[:, 0] / sums[:, 1], confidence, seed=seed
    )


def _jackknife(
    parts: NDArray[np.float64],
    times: NDArray[np.int64],
    figure: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    confidence: float,
    seed: int,
) -> Interval:
    """The interval of a figure of very many rows, from leaving out each of GROUPS random groups.

    The delete-a-group jackknife (Kott 2001); a bootstrap would draw for seconds.
    """
    rows = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(times)), times))
    groups = np.zeros((GROUPS, parts.shape[1]))
    for number in range(GROUPS):
        groups[number] = parts[rows[number::GROUPS]].sum(axis=0)
    total = groups.sum(axis=0)
    value, others = float(figure(total[None])[0]), figure(total - groups)
    error = np.sqrt((GROUPS - 1) / GROUPS * ((others - others.mean()) ** 2).sum())
    half = NormalDist().inv_cdf(0.5 + confidence / 2) * float(error)
    return Interval(value, value - half, value + half)
