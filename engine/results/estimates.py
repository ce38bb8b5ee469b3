"""Estimates of a mean over machine-coded rows, corrected by rows that were also coded by hand.

n rows are coded by hand (y) and by a machine (f), N by the machine alone. A share is the mean of 0
and 1. The hand-coded rows are a random sample, or were drawn with known probabilities.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.results.intervals import Interval, wilson
from engine.results.significance import t_critical

Floats = NDArray[np.float64]
FEW_ROWS = 30  # hand-coded: below, an interval may miss more often than stated
UNKNOWN_END = float("nan")
PSEUDO_ROWS = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=np.float64)
"""Hand and machine code of rows that are added, half a row each, to the variance of a share."""


class Estimate(NamedTuple):
    """A corrected mean, the mean of the machine codes, and the rows of both.

    `halving` is the number of hand-coded rows with which the interval would be half as wide; None
    if not even coding all rows would be enough, or the interval is unknown.
    """

    corrected: Interval
    naive: Interval
    rows: int
    coded: int
    halving: int | None
    tuning: float  # λ, the weight of the machine codes
    variance: float = UNKNOWN_END  # of the corrected mean


class _Moments(NamedTuple):
    """Variances of y and f over the hand-coded rows and their covariance; those of f over the
    other rows and over all."""

    hand: float
    machine: float
    covariance: float
    others: float
    every: float

    def tune(self, coded: float, others: int) -> float:
        """λ of PPI++ (Angelopoulos, Duchi and Zrnic 2023, example 6.1), within 0 and 1."""
        if not self.every or not others:
            return 0.0
        best = self.covariance / ((1 + coded / others) * self.every)
        return min(1.0, max(0.0, best))

    def variance(self, coded: float, others: int, tuning: float) -> float:
        """Variance of the corrected mean."""
        residual = self.hand - 2 * tuning * self.covariance + tuning**2 * self.machine
        return max(0.0, residual) / coded + tuning**2 * self.others / max(1, others)


def prediction_powered(hand: Floats, machine: Floats, others: Floats, is_share: bool) -> Estimate:
    """The power-tuned prediction-powered mean (PPI++, Angelopoulos, Duchi and Zrnic 2023).

    mean(y) + λ (mean(f of others) − mean(f of hand-coded)). The interval has the quantile of
    Student's t with n − 1 degrees of freedom. That of a share adds half a row of each pair of codes
    to the variance, as Agresti and Coull (1998) add rows, since a few rows often show no error.

    Args:
        hand: float64 [n], hand codes.
        machine: float64 [n], machine codes of the same rows.
        others: float64 [N], machine codes of the other rows.
        is_share: values are between 0 and 1.
    """
    n, count = len(hand), len(hand) + len(others)
    every = np.concatenate([machine, others])
    naive = _naive(every, is_share)
    if n < 2:
        return Estimate(_unknown(hand), naive, count, n, None, 0.0)
    tuning = moments(hand, machine, others).tune(n, len(others))
    shift = tuning * (others.mean() - machine.mean()) if len(others) else 0.0
    pseudo = PSEUDO_ROWS if is_share else PSEUDO_ROWS[:0]
    used = moments(hand, machine, others, pseudo, ddof=1)
    extra = len(pseudo) / 2
    variance = used.variance(n + extra, len(others), tuning)
    interval = _interval(float(hand.mean() + shift), variance, n - 1, is_share)
    halving = _halving_rows(used, n, count, variance, extra)
    return Estimate(interval, naive, count, n, halving, tuning, variance)


def design_based(
    hand: Floats, machine: Floats, others: Floats, chance: Floats, is_share: bool
) -> Estimate:
    """The mean of design-adjusted outcomes (design-based supervised learning, Egami et al. 2023,
    eq. 3), for hand-coded rows that were drawn with known, possibly different probabilities.

    The adjusted outcome is f + (y − f) / π of a hand-coded row, and f of another one.

    Args:
        hand: float64 [n], hand codes.
        machine: float64 [n], machine codes of the same rows.
        others: float64 [N], machine codes of the other rows.
        chance: float64 [n], probability π of each hand-coded row to be drawn, above 0.
        is_share: values are between 0 and 1.
    """
    n, count = len(hand), len(hand) + len(others)
    naive = _naive(np.concatenate([machine, others]), is_share)
    if n < 2:
        return Estimate(_unknown(hand), naive, count, n, None, 1.0)
    adjusted = np.concatenate([machine + (hand - machine) / chance, others])
    variance = float(adjusted.var(ddof=1)) / count
    interval = _interval(float(adjusted.mean()), variance, n - 1, is_share)
    of_errors = float(((hand - machine) ** 2 / chance**2).sum()) / count**2
    left = variance / 4 - (variance - of_errors)  # for the errors, if their rows are multiplied
    halving = int(np.ceil(n * of_errors / left)) if left > 0 else None
    if halving is not None and halving > count:
        halving = None
    return Estimate(interval, naive, count, n, halving, 1.0, variance)


def difference(one: Estimate, other: Estimate, is_share: bool) -> Estimate:
    """The difference between the means of two groups without common rows.

    The degrees of freedom are Welch's (1947), rounded down.
    """
    parts = [(e.variance, e.coded - 1) for e in (one, other)]
    variance = sum(v for v, _ in parts)
    naive_value = one.naive.value - other.naive.value
    spread = np.hypot(_half(one.naive), _half(other.naive))
    naive = Interval(naive_value, float(naive_value - spread), float(naive_value + spread))
    value = one.corrected.value - other.corrected.value
    total = one.rows + other.rows, one.coded + other.coded
    if np.isnan(variance):
        return Estimate(Interval(value, UNKNOWN_END, UNKNOWN_END), naive, *total, None, 1.0)
    below = sum(v * v / df for v, df in parts)
    df = max(1, int(variance**2 / below)) if below else 1
    interval = _interval(value, variance, df, False)
    interval = interval.within((-1, 1)) if is_share else interval
    return Estimate(interval, naive, *total, None, 1.0, variance)


def moments(
    hand: Floats, machine: Floats, others: Floats, pseudo: Floats = PSEUDO_ROWS[:0], ddof: int = 0
) -> _Moments:
    """The moments, with half of each pseudo row, float64 [P, 2]."""
    codes = np.concatenate([np.column_stack([hand, machine]), pseudo])
    weights = np.repeat([1.0, 0.5], [len(hand), len(pseudo)])
    centred = codes - np.average(codes, axis=0, weights=weights)
    table = (centred * weights[:, None]).T @ centred / (weights.sum() - ddof)
    every = np.concatenate([machine, others])
    return _Moments(
        *(float(table[0, 0]), float(table[1, 1]), float(table[0, 1])),
        float(others.var(ddof=ddof)) if len(others) > ddof else 0.0,
        float(every.var(ddof=1)),
    )


def _interval(value: float, variance: float, df: int, is_share: bool) -> Interval:
    half = t_critical(df) * float(np.sqrt(variance))
    interval = Interval(value, value - half, value + half)
    return interval.within((0, 1)) if is_share else interval


def _naive(codes: Floats, is_share: bool) -> Interval:
    """The mean of machine codes as if they were right."""
    if is_share and np.isin(codes, (0, 1)).all():
        return wilson(int(codes.sum()), len(codes))
    half = float(codes.std(ddof=1) / np.sqrt(len(codes))) if len(codes) > 1 else UNKNOWN_END
    return _interval(float(codes.mean()), half**2, max(1, len(codes) - 1), is_share)


def _half(interval: Interval) -> float:
    return (interval.high - interval.low) / 2


def _unknown(hand: Floats) -> Interval:
    value = float(hand.mean()) if len(hand) else UNKNOWN_END
    return Interval(value, UNKNOWN_END, UNKNOWN_END)


def _halving_rows(
    used: _Moments, coded: int, rows: int, variance: float, extra: float
) -> int | None:
    """The smallest number of hand-coded rows with half the interval, by bisection."""

    def is_enough(n: int) -> bool:
        others, n_extra = rows - n, n + extra
        return 4 * used.variance(n_extra, others, used.tune(n_extra, others)) <= variance

    if not variance or not is_enough(rows):
        return None
    low, high = coded, rows  # too few, and enough
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high
