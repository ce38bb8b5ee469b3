"""Significance tests from counts and moments, without SciPy, which the window must not load.

p is the probability of a difference at least as large under the null hypothesis.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.results.intervals import CONFIDENCE, Interval

NODES = 64  # of the quadrature; more give the same 12 digits
TAIL_WIDTH = 12.0  # standard deviations beyond the start of a tail
TERMS = 40  # of a discrete tail, besides those within TAIL_WIDTH


class Difference(NamedTuple):
    """A difference of means with its 95 % interval, and p; NaN if unknown."""

    value: float
    low: float
    high: float
    p: float


def t_tail(t: ArrayLike, df: ArrayLike) -> NDArray[np.float64]:
    """The survival function of Student's t, for df of at least 1, float64 [...].

    With t = √ν tan θ, the density is proportional to cosᵛ⁻¹ θ, integrated by Gauss-Legendre
    quadrature.
    """
    values, nu = np.broadcast_arrays(
        np.asarray(t, dtype=np.float64), np.asarray(df, dtype=np.float64)
    )
    nodes, weights = _nodes()
    start = np.arctan(np.abs(values) / np.sqrt(nu))
    end = np.minimum(np.pi / 2, start + TAIL_WIDTH / np.sqrt(np.maximum(nu, 1)))
    angles = start[..., None] + (end - start)[..., None] * (nodes + 1) / 2
    with np.errstate(divide="ignore", under="ignore"):
        log_integrand = (nu[..., None] - 1) * np.log(np.cos(angles)) + np.log(weights)
    log_gamma_ratio = np.vectorize(
        lambda n: math.lgamma((n + 1) / 2) - math.lgamma(n / 2), otypes=[float]
    )
    scale = log_gamma_ratio(nu) - 0.5 * np.log(np.pi)
    with np.errstate(under="ignore", invalid="ignore"):
        tail = np.exp(scale[..., None] + log_integrand).sum(axis=-1) * (end - start) / 2
    upper: NDArray[np.float64] = np.where(values >= 0, tail, 1 - tail)
    return upper


@lru_cache(1)
def _nodes() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return np.polynomial.legendre.leggauss(NODES)


@lru_cache(1_000)
def t_critical(df: float) -> float:
    """The two-sided critical value of Student's t, by bisection."""
    low, high = 0.0, 1e6
    for _ in range(80):
        middle = (low + high) / 2
        if float(t_tail(middle, df)) > (1 - CONFIDENCE) / 2:
            low = middle
        else:
            high = middle
    return high


def permutation_tail(
    inside: Sequence[NDArray[np.float64]], outside: Sequence[NDArray[np.float64]]
) -> NDArray[np.float64]:
    """One-sided p of “the mean inside is lower than outside”, by random permutation, float64 [S].

    The limit of the permutation test: the mean of n of N rows has variance σ² / n − σ² / N, with σ²
    the variance of all rows. Unlike Welch's test it is valid if the few rows inside are equal.
    Without variance, p is 1.

    Args:
        inside: counts, sums and sums of squares of the rows inside S groups, float64 [S] each.
        outside: of all other rows.
    """
    n, total, square = inside
    m, other, other_square = outside
    rows = n + m
    mean = (total + other) / rows
    variance = np.maximum(0, square + other_square - rows * mean**2) / np.maximum(rows - 1, 1)
    below = other / m - total / n
    standard_error = np.sqrt(variance * (1 / n + 1 / m))
    usable = standard_error > 1e-9 * np.abs(below)
    t = np.divide(below, standard_error, out=np.zeros_like(below), where=usable)
    return np.where(usable, t_tail(t, np.maximum(rows - 2, 1)), 1.0)


def hypergeometric_tail(
    hits: ArrayLike, rows: ArrayLike, all_hits: int, all_rows: int
) -> NDArray[np.float64]:
    """Lower tail of the hypergeometric distribution, [S]: Fisher's exact test.

    Args:
        hits: int [S], hits among the rows.
        rows: int [S], how many are drawn.
        all_hits: hits among all rows.
    """
    k, n = np.asarray(hits, dtype=np.int64), np.asarray(rows, dtype=np.int64)
    logs = _log_factorials(all_rows)
    fraction = all_hits / max(all_rows, 1)
    depth = np.maximum(0, k - n * fraction) + TAIL_WIDTH * np.sqrt(n * fraction * (1 - fraction))
    terms = int(depth.max(initial=0)) + TERMS
    p = np.zeros(len(k))
    for step in range(0, terms, TERMS):
        down = k[:, None] - np.arange(step, step + TERMS)  # [S, TERMS]
        possible = (down >= np.maximum(0, n + all_hits - all_rows)[:, None]) & (down <= all_hits)
        i = np.where(possible, down, np.maximum(0, n + all_hits - all_rows)[:, None])
        rest, missed = n[:, None] - i, all_rows - all_hits
        log_p = (
            logs[all_hits] - logs[i] - logs[all_hits - i]
            + logs[missed] - logs[rest] - logs[missed - rest]
            - (logs[all_rows] - logs[n] - logs[all_rows - n])[:, None]
        )  # fmt: skip
        p += np.where(possible, np.exp(log_p), 0).sum(axis=1)
    return np.minimum(p, 1)


def mcnemar(fixed: int, broken: int) -> float:
    """Two-sided p of McNemar's exact test of two models over the same rows.

    Args:
        fixed: rows that only the second has right.
        broken: rows that only the first has right.
    """
    changed = fixed + broken
    logs = _log_factorials(changed)
    counts = np.arange(min(fixed, broken) + 1)
    tail = np.exp(
        logs[changed] - logs[counts] - logs[changed - counts] - changed * math.log(2)
    ).sum()
    return min(1.0, 2 * float(tail))


def benjamini_hochberg(p: ArrayLike) -> NDArray[np.float64]:
    """p adjusted for a false discovery rate, float64 [S] (Benjamini and Hochberg 1995)."""
    values = np.asarray(p, dtype=np.float64)
    order = np.argsort(-values)
    ranks = np.arange(len(values), 0, -1)
    adjusted = np.empty(len(values))
    adjusted[order] = np.minimum.accumulate(np.minimum(1, values[order] * len(values) / ranks))
    return adjusted


def seeds_interval(
    values: Sequence[float], limits: tuple[float, float] = (-math.inf, math.inf)
) -> Interval:
    """The mean over seeds with its t interval; NaN bounds for a single run.

    Args:
        limits: the lowest and highest possible value, which the interval does not exceed.
    """
    scores = np.asarray(values, dtype=np.float64)
    mean = float(scores.mean()) if len(scores) else math.nan
    if len(scores) < 2:
        return Interval(mean, math.nan, math.nan)
    half = t_critical(len(scores) - 1.0) * float(scores.std(ddof=1)) / math.sqrt(len(scores))
    return Interval(mean, mean - half, mean + half).within(limits)


def compare_over_seeds(
    first: Sequence[float],
    second: Sequence[float],
    paired: bool,
    limits: tuple[float, float] = (-math.inf, math.inf),
) -> Difference:
    """The second mean minus the first over seeds, by Student's paired or Welch's t-test.

    Args:
        paired: the runs at the same index have the same seed.
        limits: the lowest and highest possible difference.
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    value = float(b.mean() - a.mean()) if len(a) and len(b) else math.nan
    if min(len(a), len(b)) < 2:
        return Difference(value, math.nan, math.nan, math.nan)
    if paired:
        standard_error, df = float((b - a).std(ddof=1)) / math.sqrt(len(a)), len(a) - 1.0
    else:
        a_variance, b_variance = float(a.var(ddof=1)) / len(a), float(b.var(ddof=1)) / len(b)
        standard_error = math.sqrt(a_variance + b_variance)
        parts = a_variance**2 / (len(a) - 1) + b_variance**2 / (len(b) - 1)
        df = (a_variance + b_variance) ** 2 / parts if parts else 1.0
    if standard_error == 0:
        return Difference(value, value, value, 1.0 if value == 0 else 0.0)
    half = t_critical(df) * standard_error
    p = min(1.0, 2 * float(t_tail(abs(value) / standard_error, df)))
    ends = Interval(value, value - half, value + half).within(limits)
    return Difference(*ends, p)


def _log_factorials(n: int) -> NDArray[np.float64]:
    """log k! from k = 0 to n, float64 [n + 1]."""
    return np.append(0.0, np.cumsum(np.log(np.arange(1, n + 1))))
