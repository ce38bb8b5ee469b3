"""Agreement between coders, corrected for chance, as measures of sums over rows.

N rows, R coders, U distinct rows of codes, K categories, S samples. With missing codes each
coefficient uses what Gwet (2014, “Handbook of Inter-Rater Reliability”) and Krippendorff (2019,
“Content Analysis”) say: percent agreement and alpha the rows that two or more coders coded, chance
agreement of Fleiss' kappa and AC1 every row that one coded, Cohen's kappa the rows that both coded.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.evaluation.measures import Measure, Sums, ratio_of_sums

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Codes:
    """Categories that coders gave to rows."""

    kinds: NDArray[np.int64]  # [N], row of `table`
    table: NDArray[np.int64]  # [U, R], index of a category; -1: not coded
    categories: int  # K

    @classmethod
    def from_rows(cls, rows: NDArray[np.int64], categories: int) -> Self:
        """The codes of each row, int64 [N, R]; -1: not coded."""
        table, kinds = np.unique(rows, axis=0, return_inverse=True)
        return cls(kinds.reshape(-1).astype(np.int64), table, categories)

    @property
    def coders(self) -> int:
        return int(self.table.shape[1])

    @cached_property
    def counts(self) -> Floats:
        """Coders of each category in each distinct row, float64 [U, K]."""
        matches = self.table[:, :, None] == np.arange(self.categories)
        counts: Floats = matches.sum(axis=1).astype(np.float64)
        return counts

    @cached_property
    def coded(self) -> Floats:
        """Coders of each distinct row, float64 [U]."""
        coded: Floats = (self.table >= 0).sum(axis=1).astype(np.float64)
        return coded

    def of(self, coders: Sequence[int]) -> Self:
        """The codes of some coders, by index."""
        return self.recoded(self.table[:, list(coders)], self.categories)

    def recoded(self, table: NDArray[np.int64], categories: int) -> Self:
        """The same rows with other codes of each distinct row, int64 [U, R]."""
        codes = self.from_rows(table, categories)
        return replace(codes, kinds=codes.kinds[self.kinds])

    def measure(
        self, name: str, parts: ArrayLike, compute: Callable[[Sums], NDArray[np.float64]]
    ) -> Measure:
        return Measure(name, self.kinds, np.asarray(parts, dtype=np.float64), compute)


def percent_agreement(codes: Codes) -> Measure:
    """The fraction of pairs of coders of a row that agree, averaged over rows (Fleiss 1971)."""
    return codes.measure("agreement", np.column_stack(_agreeing(codes)), ratio_of_sums)


def cohen_kappa(codes: Codes, power: int = 0) -> Measure:
    """Cohen's kappa (1960), averaged over the pairs of coders (Light 1971).

    Args:
        power: of the distance between two categories in their order, by which disagreement is
            weighted (Cohen 1968): 1 linear, 2 quadratic, 0 unweighted.
    """
    order = np.arange(codes.categories)
    distances = np.abs(order[:, None] - order) ** power if power else 1 - np.eye(len(order))
    name = ("cohen", "cohen_linear", "cohen_quadratic")[power]
    pairs = combinations(range(codes.coders), 2)
    return mean_of_pairs(name, [_pair_kappa(codes.of(pair), distances) for pair in pairs])


def _pair_kappa(codes: Codes, distances: Floats) -> Measure:
    first, second = codes.table.T
    both = (first >= 0) & (second >= 0)
    size = codes.categories
    identity = np.eye(size)
    observed = distances[first, second] * both
    parts = [observed, both, identity[first] * both[:, None], identity[second] * both[:, None]]

    def compute(sums: Sums) -> Floats:
        expected = ((sums[:, 2 : 2 + size] @ distances) * sums[:, 2 + size :]).sum(axis=1)
        return 1 - _quotient(sums[:, 0] * sums[:, 1], expected)

    return codes.measure("cohen", np.column_stack(parts), compute)


def fleiss_kappa(codes: Codes) -> Measure:
    """Fleiss' kappa (1971), for missing codes as Gwet (2014, §2.5)."""

    def compute(sums: Sums) -> Floats:
        shares = _quotient(sums[:, 3:], sums[:, 2:3])
        return _corrected(ratio_of_sums(sums), (shares**2).sum(axis=1))

    return codes.measure("fleiss", _chance_parts(codes), compute)


def gwet_ac1(codes: Codes) -> Measure:
    """Gwet's AC1 (2008): chance agreement is that on rows that are hard to code."""
    others = max(codes.categories - 1, 1)

    def compute(sums: Sums) -> Floats:
        shares = _quotient(sums[:, 3:], sums[:, 2:3])
        return _corrected(ratio_of_sums(sums), (shares * (1 - shares)).sum(axis=1) / others)

    return codes.measure("ac1", _chance_parts(codes), compute)


def krippendorff_alpha(codes: Codes, distances: Floats | None = None, name: str = "") -> Measure:
    """Krippendorff's alpha (2019, §12.3): 1 − observed / expected disagreement.

    Args:
        distances: between categories, float64 [K, K], squared for numbers; None: 1 if they differ.
    """
    matrix = 1 - np.eye(codes.categories) if distances is None else distances
    counts = _pairable(codes)
    observed = _quotient(((counts @ matrix) * counts).sum(axis=1), codes.coded - 1)

    def compute(sums: Sums) -> Floats:
        counts = sums[:, 1:]
        expected = ((counts @ matrix) * counts).sum(axis=1)
        return 1 - _quotient((counts.sum(axis=1) - 1) * sums[:, 0], expected)

    parts = np.column_stack([np.nan_to_num(observed), counts])
    return codes.measure(name or "alpha", parts, compute)


def ordinal_alpha(codes: Codes) -> Measure:
    """Krippendorff's alpha of categories in order.

    The distance between two depends on the number of codes between them, so the sums are all
    coincidences [K, K].
    """
    counts, size = _pairable(codes), codes.categories
    pairs = counts[:, :, None] * counts[:, None] - counts[:, :, None] * np.eye(size)
    parts = np.nan_to_num(_quotient(pairs, (codes.coded - 1)[:, None, None]))

    def compute(sums: Sums) -> Floats:
        coincidences = sums.reshape(-1, size, size)
        counts = coincidences.sum(axis=2)
        middles = counts.cumsum(axis=1) - counts / 2
        distances = (middles[:, :, None] - middles[:, None]) ** 2
        observed = (coincidences * distances).sum(axis=(1, 2))
        expected = (counts[:, :, None] * counts[:, None] * distances).sum(axis=(1, 2))
        return 1 - _quotient((counts.sum(axis=1) - 1) * observed, expected)

    return codes.measure("alpha_ordinal", parts.reshape(len(parts), -1), compute)


def interval_alpha(codes: Codes, values: Floats) -> Measure:
    """Krippendorff's alpha of numbers: squared differences.

    Args:
        values: of the categories, float64 [K].
    """
    centred = np.append(values - values.mean() if len(values) else values, 0.0)
    sizes = codes.coded * (codes.coded >= 2)
    numbers = centred[codes.table] * (codes.coded >= 2)[:, None]  # 0 if not coded (-1)
    first, second = numbers.sum(axis=1), (numbers**2).sum(axis=1)
    observed = np.nan_to_num(_quotient(2 * (sizes * second - first**2), sizes - 1))

    def compute(sums: Sums) -> Floats:
        size = sums[:, 1]
        expected = 2 * (size * sums[:, 3] - sums[:, 2] ** 2)
        return 1 - _quotient((size - 1) * sums[:, 0], expected)

    return codes.measure(
        "alpha_interval", np.column_stack([observed, sizes, first, second]), compute
    )


def mean_of_pairs(name: str, measures: Sequence[Measure]) -> Measure:
    """The mean of measures over the same rows, without those that are undefined."""
    if len(measures) == 1:
        return replace(measures[0], name=name)
    kinds = np.column_stack([measure.kinds for measure in measures])
    used, joint = np.unique(kinds, axis=0, return_inverse=True)
    parts = [  # 0 in the rows that a measure leaves out
        np.where(rows[:, None] < 0, 0.0, measure.parts[rows])
        for measure, rows in zip(measures, used.T, strict=True)
    ]
    ends = np.cumsum([part.shape[1] for part in parts])[:-1]

    def compute(sums: Sums) -> Floats:
        columns = np.split(sums, ends, axis=1)
        values = np.array([m.compute(part) for m, part in zip(measures, columns, strict=True)])
        known = ~np.isnan(values)
        return _quotient(np.nansum(values, axis=0), known.sum(axis=0).astype(np.float64))

    return Measure(name, joint.reshape(-1), np.hstack(parts), compute)


def _agreeing(codes: Codes) -> tuple[Floats, Floats]:
    """Fraction of agreeing pairs of coders, and 1 for two coders or more, each [U]; else 0."""
    pairs = np.zeros(len(codes.table))
    for first, second in combinations(codes.table.T, 2):
        pairs += 2 * ((first == second) & (first >= 0))
    is_paired = codes.coded >= 2
    possible = np.where(is_paired, codes.coded * (codes.coded - 1), 1)
    return pairs / possible, is_paired.astype(float)


def _chance_parts(codes: Codes) -> Floats:
    """Sums of percent agreement, of coded rows, and of the share of each category, [U, 3 + K]."""
    is_coded = codes.coded > 0
    shares = codes.counts / np.where(is_coded, codes.coded, 1)[:, None]
    return np.column_stack([*_agreeing(codes), is_coded, shares])


def _pairable(codes: Codes) -> Floats:
    """`counts` of the rows that two or more coders coded, 0 in others, [U, K]."""
    counts: Floats = codes.counts * (codes.coded >= 2)[:, None]
    return counts


def _corrected(observed: Floats, chance: Floats) -> Floats:
    return _quotient(observed - chance, 1 - chance)


def _quotient(part: Floats, whole: Floats) -> Floats:
    """`part / whole`; NaN if `whole` is 0, up to rounding."""
    shape = np.broadcast_shapes(part.shape, whole.shape)
    quotient = np.full(shape, np.nan)
    np.divide(part, whole, out=quotient, where=np.abs(np.broadcast_to(whole, shape)) > 1e-12)
    return quotient
