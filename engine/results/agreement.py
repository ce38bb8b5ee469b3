"""Agreement of coders with intervals: overall, by label, and by pair of coders.

N rows, R coders, K categories.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.data.columns.coders import Codings, differs
from engine.data.columns.numbers import parse_number
from engine.data.columns.spellings import plain_label
from engine.data.columns.tags import Span, are_spans, spans_from_tags
from engine.errors import StudioError
from engine.evaluation.agreement import (
    Codes,
    cohen_kappa,
    fleiss_kappa,
    gwet_ac1,
    interval_alpha,
    krippendorff_alpha,
    mean_of_pairs,
    ordinal_alpha,
    percent_agreement,
)
from engine.evaluation.measures import Measure, f1_of_sums
from engine.phrases import Phrase, join, phrase
from engine.results.intervals import Interval, bootstrap_counts

MAX_LABELS = 200  # in the table by label
MAX_ORDERED = 60  # categories whose order is used
MAX_ELEMENTS = 20_000_000  # distinct rows times categories; beyond, only the agreement in per cent
SHARES = ("agreement", "span_f1")  # between 0 and 1, without correction for chance

TITLES: dict[str, Phrase] = {
    "agreement": phrase("Agreement"),
    "cohen": phrase("Cohen's kappa"),
    "cohen_linear": phrase("Cohen's kappa, linear weights"),
    "cohen_quadratic": phrase("Cohen's kappa, quadratic weights"),
    "fleiss": phrase("Fleiss' kappa"),
    "alpha": phrase("Krippendorff's alpha"),
    "alpha_ordinal": phrase("Krippendorff's alpha, ordinal"),
    "alpha_interval": phrase("Krippendorff's alpha, interval"),
    "alpha_masi": phrase("Krippendorff's alpha, MASI distance"),
    "alpha_jaccard": phrase("Krippendorff's alpha, Jaccard distance"),
    "ac1": phrase("Gwet's AC1"),
    "span_f1": phrase("F1 of spans"),
}
"""Titles of the coefficients, by name."""


TOO_MANY = phrase(
    "There are too many different labels to compute other coefficients of all labels together."
)


class AgreementRow(NamedTuple):
    """Coefficients of all codes, of one label, or of a pair of coders."""

    name: str  # the label; "" for others
    coders: tuple[str, ...]
    coded: int  # rows that two or more of these coders coded
    disputed: NDArray[np.int64]  # rows on which they disagree, ascending
    figures: dict[str, Interval]  # by name of the coefficient


class AgreementTable(NamedTuple):
    """All parts; `note` is a sentence on what could not be computed, or empty."""

    overall: AgreementRow
    labels: tuple[AgreementRow, ...]
    pairs: tuple[AgreementRow, ...]  # empty for two coders, which `overall` is
    note: str


def agreement(
    codings: Codings, seed: int = 0, check: Callable[[], None] = lambda: None
) -> AgreementTable:
    """All coefficients that suit the codes, each with its bootstrap interval over rows.

    `check` is called before each row of the table, and raises to cancel. Raises StudioError if the
    coders have no codes.
    """
    if not codings.values:
        raise StudioError(
            "The coders have no labels: {names}.",
            "Choose columns with labels.",
            names=join(", ", [f"“{name[:60]}”" for name in codings.coders]),
        )
    coded = _Coded(codings)

    def row(name: str, coders: Sequence[int], label: str | None) -> AgreementRow:
        check()
        part = coded.of(coders)
        names = tuple(codings.coders[index] for index in coders)
        figures = {m.name: _interval(m, seed) for m in part.measures(label)}
        return AgreementRow(name, names, part.coded, part.disputed(label), figures)

    everyone = range(len(codings.coders))
    pairs = list(combinations(everyone, 2)) if len(codings.coders) > 2 else []
    overall = row("", everyone, None)
    return AgreementTable(
        overall,
        tuple(row(label, everyone, label) for label in coded.labels[:MAX_LABELS]),
        tuple(row("", pair, None) for pair in pairs),
        join(" ", filter(None, _notes(overall, coded.labels))),
    )


def _notes(overall: AgreementRow, labels: Sequence[str]) -> Iterator[str]:
    if [*overall.figures] == ["agreement"]:
        yield TOO_MANY
    if len(labels) > MAX_LABELS:
        yield phrase(
            "Of {count:,} labels, only the first {n} are compared one by one.",
            count=len(labels),
            n=MAX_LABELS,
        )
    first: dict[str, str] = {}
    for label in labels:
        if (other := first.setdefault(plain_label(label), label)) != label:
            yield phrase(
                "“{label}” and “{other}” count as two labels; if they are one, correct the file.",
                label=other[:60],
                other=label[:60],
            )
            return


def pair_counts(codings: Codings, first: int, second: int) -> NDArray[np.int64]:
    """Rows by the label of two coders, int64 [K, K]; for classes."""
    size = len(codings.values)
    a, b = codings.codes[:, first], codings.codes[:, second]
    both = (a >= 0) & (b >= 0)
    return np.bincount(a[both] * size + b[both], minlength=size * size).reshape(size, size)


def rows_of_pair(
    codings: Codings, first: int, second: int, codes: tuple[int | None, int | None]
) -> NDArray[np.int64]:
    """Rows that two coders coded, with these codes; None: any."""
    chosen = (codings.codes[:, [first, second]] >= 0).all(axis=1)
    for coder, code in zip((first, second), codes, strict=True):
        if code is not None:
            chosen &= codings.codes[:, coder] == code
    return np.flatnonzero(chosen)


class _Coded:
    """The codes of some coders, and the coefficients that suit them."""

    def __init__(self, codings: Codings, codes: Codes | None = None) -> None:
        self._codings = codings
        self._codes = codes or Codes.from_rows(codings.codes, len(codings.values))
        self._spans = _spans_of_values(codings)
        types = {span.type for spans in self._spans for span in spans}
        self.labels = tuple(sorted(types)) if codings.kind == "spans" else codings.labels

    def of(self, coders: Sequence[int]) -> "_Coded":
        return _Coded(self._codings, self._codes.of(coders))

    @property
    def coded(self) -> int:
        return int((self._codes.coded >= 2)[self._codes.kinds].sum())

    def disputed(self, label: str | None) -> NDArray[np.int64]:
        """The rows on which the coders disagree, or only on a label."""
        table = self._codes.table if label is None else self._as_coded(label)
        return np.flatnonzero(differs(table)[self._codes.kinds])

    def measures(self, label: str | None) -> Iterator[Measure]:
        codings, codes = self._codings, self._codes
        if codings.kind == "spans":
            yield self._span_f1(label)
            if label is None:
                yield percent_agreement(codes)
            return
        if label is not None:
            codes = codes.recoded(self._as_coded(label), 2)
        yield percent_agreement(codes)
        if codings.kind == "numbers":
            yield interval_alpha(codes, self._numbers)
            return
        if len(codes.table) * codes.categories > MAX_ELEMENTS:
            return
        if codings.kind == "sets" and label is None:
            yield krippendorff_alpha(codes, masi_distances(codings), "alpha_masi")
            yield krippendorff_alpha(codes, jaccard_distances(codings), "alpha_jaccard")
            return
        yield krippendorff_alpha(codes)
        yield cohen_kappa(codes)
        yield fleiss_kappa(codes)
        yield gwet_ac1(codes)
        if label is None and codings.are_ordered and 2 < codes.categories <= MAX_ORDERED:
            yield ordinal_alpha(codes)
            if all(parse_number(cell) is not None for cell in codings.cells):
                yield interval_alpha(codes, self._numbers)
            yield cohen_kappa(codes, 1)
            yield cohen_kappa(codes, 2)

    @property
    def _numbers(self) -> NDArray[np.float64]:
        numbers = [parse_number(cell) or 0.0 for cell in self._codings.cells]
        return np.array(numbers, dtype=np.float64)

    def _as_coded(self, label: str) -> NDArray[np.int64]:
        """Like the table of codes, with 1 for the label and 0 for others; for spans, with a number
        for the spans of this type, int64 [U, R]."""
        if self._codings.kind == "spans":
            found = [frozenset(s for s in spans if s.type == label) for spans in self._spans]
            numbers = {spans: number for number, spans in enumerate(dict.fromkeys(found))}
            codes = [numbers[spans] for spans in found]
        else:
            codes = self._codings.has_label(label).astype(np.int64).tolist()
        return np.array([*codes, -1], dtype=np.int64)[self._codes.table]

    def _span_f1(self, label: str | None) -> Measure:
        """F1 of the spans, of one type or of all, averaged over pairs of coders."""
        sets = [{s for s in spans if label in (None, s.type)} for spans in self._spans]

        def counts(first: int, second: int) -> tuple[int, int, int]:
            if first < 0 or second < 0:
                return (0, 0, 0)
            a, b = sets[first], sets[second]
            return (len(a & b), len(a), len(b))

        table, kinds = self._codes.table, self._codes.kinds
        parts = [
            np.array([counts(*row) for row in table[:, list(pair)].tolist()], dtype=np.float64)
            for pair in combinations(range(self._codes.coders), 2)
        ]
        pairs = [Measure("f1", kinds, part.reshape(-1, 3), f1_of_sums) for part in parts]
        return mean_of_pairs("span_f1", pairs)


def masi_distances(codings: Codings) -> NDArray[np.float64]:
    """MASI distance between label sets (Passonneau 2006), float64 [K, K].

    One minus the Jaccard index, times 2/3 for a subset and 1/3 for other overlaps.
    """
    shared, sizes = _overlaps(codings)
    smaller = np.minimum(sizes[:, None], sizes)
    is_equal = (shared == sizes[:, None]) & (shared == sizes)
    weights = np.select([is_equal, shared == smaller, shared > 0], [1.0, 2 / 3, 1 / 3], 0.0)
    similarity: NDArray[np.float64] = (1 - jaccard_distances(codings)) * weights
    return 1 - similarity


def jaccard_distances(codings: Codings) -> NDArray[np.float64]:
    """One minus the Jaccard index of label sets, float64 [K, K]; 0 for two empty sets."""
    shared, sizes = _overlaps(codings)
    either = sizes[:, None] + sizes - shared
    return 1 - np.divide(shared, either, out=np.ones_like(shared), where=either > 0)


def _overlaps(codings: Codings) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Number of labels that two sets share, [K, K], and that each has, [K]."""
    columns = [codings.has_label(label) for label in codings.labels]
    members = np.array(columns, dtype=np.float64).reshape(len(columns), len(codings.values))
    return members.T @ members, members.sum(axis=0)


def _spans_of_values(codings: Codings) -> list[list[Span]]:
    """The spans of each value; if tags name no spans, each word is one. Empty for other kinds."""
    if codings.kind != "spans":
        return []
    if codings.has_text_spans:
        given = [[*value] if isinstance(value, tuple) else [] for value in codings.values]
        return [[Span(span.label, span.start, span.end) for span in spans] for spans in given]
    tags = [[*value] if isinstance(value, tuple) else [] for value in codings.values]
    if are_spans(tag for row in tags for tag in row):
        return [spans_from_tags(row) for row in tags]
    return [[Span(tag, n, n + 1) for n, tag in enumerate(row)] for row in tags]


def _interval(measure: Measure, seed: int) -> Interval:
    times = np.bincount(measure.kinds, minlength=len(measure.parts))
    result = bootstrap_counts(measure.parts, times, measure.compute, seed)
    return result.within((0.0 if measure.name in SHARES else -np.inf, 1.0))
