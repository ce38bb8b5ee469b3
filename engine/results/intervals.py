"""95 % confidence intervals over rows.

N rows, K sums of parts, B bootstrap samples.
"""

from collections.abc import Callable
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

CONFIDENCE = 0.95
DRAWS = 2_000  # bootstrap samples; Efron and Tibshirani (1993, §19.3) advise 1,000 or more
MAX_ELEMENTS = 4_000_000  # array elements in memory while sampling
MAX_DISTINCT = 20_000  # different rows; the jackknife is used beyond
GROUPS = 200  # in the jackknife


class Interval(NamedTuple):
    """A figure with the ends of its interval; NaN if unknown."""

    value: float
    low: float
    high: float

    def has(self, value: float) -> bool:
        return self.low <= value <= self.high

    def within(self, limits: tuple[float, float]) -> "Interval":
        """A copy with possible values of the figure.

        The true value is one, so the interval covers it as often (Mandelkern 2002).
        """
        return Interval(*np.clip(self, *limits).tolist())


UNKNOWN = Interval(float("nan"), float("nan"), float("nan"))


def wilson(part: int, whole: int) -> Interval:
    """The Wilson (1927) interval of a proportion; unknown if `whole` is 0."""
    if not whole:
        return UNKNOWN
    z = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2)
    p, n = part / whole, whole
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * float(np.sqrt(p * (1 - p) / n + z * z / (4 * n * n)))
    low = 0.0 if part == 0 else middle - half
    high = 1.0 if part == whole else middle + half
    return Interval(p, low, high)


def bootstrap(
    parts: ArrayLike, figure: Callable[[NDArray[np.float64]], NDArray[np.float64]], seed: int = 0
) -> Interval:
    """The percentile bootstrap interval (Efron 1979) of a function of sums over rows, as F1.

    Rows with the same parts are drawn together, so the time depends on the number of different
    parts.

    Args:
        parts: float [N, K], what each row adds to each sum.
        figure: from sums, float64 [B, K], to the figure of each sample, float64 [B].
        seed: of the samples.
    """
    counts = np.asarray(parts, dtype=np.float64)
    if not len(counts):
        return UNKNOWN
    distinct, times = np.unique(counts, axis=0, return_counts=True)
    return bootstrap_counts(distinct, times, figure, seed)


def bootstrap_counts(
    distinct: ArrayLike,
    times: ArrayLike,
    figure: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    seed: int = 0,
) -> Interval:
    """`bootstrap` of counted rows: U different ones, float [U, K], int [U] times each."""
    parts, counts = np.asarray(distinct, dtype=np.float64), np.asarray(times, dtype=np.int64)
    rows = int(counts.sum())
    if not rows:
        return UNKNOWN
    if len(counts) > MAX_DISTINCT:
        return _jackknife(parts, counts, figure, seed)
    rng = np.random.default_rng(seed)
    step = max(1, MAX_ELEMENTS // len(counts))
    sums = [
        rng.multinomial(rows, counts / rows, size=min(step, DRAWS - done)) @ parts
        for done in range(0, DRAWS, step)
    ]
    value = float(figure((counts @ parts)[None])[0])
    return percentiles(value, figure(np.concatenate(sums)))


def percentiles(value: float, samples: NDArray[np.float64]) -> Interval:
    """A figure with the percentiles of its samples, float64 [B], ignoring NaN."""
    usable = samples[~np.isnan(samples)]
    if not len(usable):
        return Interval(value, float("nan"), float("nan"))
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(usable, [tail, 1 - tail])
    return Interval(value, float(low), float(high))


def mean_interval(values: NDArray[np.float32] | NDArray[np.float64], seed: int = 0) -> Interval:
    """The bootstrap interval of the mean, ignoring NaN, [N].

    If all values are 0 or 1, the Wilson interval: a bootstrap is too narrow near 0 and 1, and has
    no width if all rows are right.
    """
    distinct, times = np.unique(values[~np.isnan(values)].astype(np.float64), return_counts=True)
    if len(distinct) and np.isin(distinct, (0, 1)).all():
        return wilson(int(times[distinct == 1].sum()), int(times.sum()))
    parts = np.column_stack([distinct, np.ones_like(distinct)])
    return bootstrap_counts(parts, times, lambda sums: sums[:, 0] / sums[:, 1], seed)


def _jackknife(
    parts: NDArray[np.float64],
    times: NDArray[np.int64],
    figure: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    seed: int,
) -> Interval:
    """The delete-a-group jackknife (Kott 2001) with random groups, for very many rows."""
    rows = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(times)), times))
    groups = np.zeros((GROUPS, parts.shape[1]))
    for index in range(GROUPS):
        groups[index] = parts[rows[index::GROUPS]].sum(axis=0)
    total = groups.sum(axis=0)
    value, others = float(figure(total[None])[0]), figure(total - groups)
    error = np.sqrt((GROUPS - 1) / GROUPS * ((others - others.mean()) ** 2).sum())
    half = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2) * float(error)
    return Interval(value, value - half, value + half)
