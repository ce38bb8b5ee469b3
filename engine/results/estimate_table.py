"""Corrected estimates from columns of a table: proportions or means, by period and by group."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.data.columns.label_sets import count_label_sets, parse_label_sets
from engine.data.columns.numbers import comma_problem, parse_number, unit_problem
from engine.data.columns.periods import Period, are_dates, group_by_period
from engine.data.columns.placeholders import PLACEHOLDERS
from engine.data.columns.spellings import by_plain_form, plain_label
from engine.data.datasets.coding import Coding
from engine.errors import MissingColumn, StudioError
from engine.phrases import Phrase, phrase
from engine.results.estimates import (
    FEW_ROWS,
    Estimate,
    Floats,
    design_based,
    difference,
    prediction_powered,
)
from engine.results.intervals import Interval

MAX_LABELS = 20  # whose shares are estimated unless one is chosen
MAX_GROUPS = 500
MIN_VALUES, MAX_OTHERS = 10, 0.1  # more numbers, with few other cells, are averaged by default
ALL = ""  # name of the group of all rows
NOT_KNOWN = phrase(
    "It is not known whether the hand-coded rows were drawn at random from all rows: if not, the "
    "estimates are biased."
)
NOT_RANDOM = phrase(
    "No hand-coded row was drawn at random: the estimates are biased if these rows differ from the "
    "others."
)
MISSING = ("na", *PLACEHOLDERS)  # unless both columns have it

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class EstimateRequest:
    """The columns of machine codes and hand codes, and the estimates of them.

    Args:
        share_of: the label whose proportion is estimated; None: all labels, or the mean of numbers.
        by: column of dates, with an estimate for each period, or others, with one for each value.
        compare: column of groups, each with an estimate and its difference from the largest group.
        chance: column with the probability with which each row was drawn to be coded by hand.
        truth: column with the true codes, if they are known: only compared with the estimates.
    """

    predicted: str
    hand: str
    share_of: str | None = None
    is_mean: bool = False
    by: str | None = None
    period: Period = "month"
    compare: str | None = None
    chance: str | None = None
    truth: str | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        named = (self.predicted, self.hand, self.by, self.compare, self.chance, self.truth)
        return tuple(dict.fromkeys(name for name in named if name is not None))


class EstimateRow(NamedTuple):
    """An estimate: of which label, in which period and group; “” for the mean and all rows.

    `minus` is the group that is subtracted in a difference; `truth` is the figure of the true
    codes, NaN if unknown.
    """

    label: str
    period: str
    group: str
    estimate: Estimate
    minus: str | None = None
    truth: float = float("nan")


def random_rows(coding: Coding, column: str, rows: int) -> Bools | None:
    """The rows that came up at random when a column was coded, bool [rows]; None without coding."""
    coded = {row: facts[column] for row, facts in coding.items() if column in facts}
    drawn = [row for row, facts in coded.items() if facts.control or facts.drawn == "random"]
    return np.isin(np.arange(rows), drawn) if coded else None


class EstimateTable(NamedTuple):
    """All estimates, and sentences on their conditions and on rows that were left out."""

    rows: tuple[EstimateRow, ...]
    is_share: bool
    labels: tuple[str, ...]  # whose shares are estimated; none for a mean
    notes: tuple[Phrase, ...]

    @property
    def has_truth(self) -> bool:
        return not all(np.isnan(row.truth) for row in self.rows)


def estimate_table(
    cells: Mapping[str, Sequence[str]], request: EstimateRequest, is_random: Bools | None = None
) -> EstimateTable:
    """Estimate from columns of cells.

    `is_random`, bool [rows], marks the hand-coded rows that are known to be drawn at random; if
    there are some, all others count as machine-coded.

    Raises StudioError if a column is missing, no row is hand-coded, or cells cannot be read.
    """
    for name in request.columns:
        if name not in cells:
            raise MissingColumn(name, list(cells))
    given = Counter(filter(None, (request.predicted, request.hand, request.truth)))
    if max(given.values()) > 1:
        raise StudioError(
            "Two kinds of codes are in the same column, “{name}”.",
            "Choose a column for each of them.",
            name=given.most_common(1)[0][0][:60],
        )
    codes = _Codes(cells, request, is_random)
    groups = _Groups(cells, request, codes.notes)
    rows = [row for label in codes.labels for row in _rows(label, codes, groups)]
    few = sum(row.estimate.coded < FEW_ROWS for row in rows if row.minus is None)
    if few:
        codes.notes.append(
            phrase(
                "{n:,} estimate(s) have fewer than {rows} hand-coded rows; their intervals may be "
                "too narrow.",
                n=few,
                rows=FEW_ROWS,
            )
        )
    if request.truth is not None:
        codes.notes.append(_covered(rows))
    labels = () if codes.is_mean else tuple(codes.labels)
    return EstimateTable(tuple(rows), not codes.is_mean, labels, tuple(codes.notes))


def _covered(rows: Sequence[EstimateRow]) -> Phrase:
    known = [row for row in rows if not np.isnan([row.truth, row.estimate.corrected.low]).any()]
    return phrase(
        "{n:,} of {total:,} intervals contain the true value.",
        n=sum(row.estimate.corrected.has(row.truth) for row in known),
        total=len(known),
    )


class _Codes:
    """Hand codes, machine codes and true codes as numbers, for each estimated label."""

    def __init__(
        self,
        cells: Mapping[str, Sequence[str]],
        request: EstimateRequest,
        is_random: Bools | None,
    ) -> None:
        self.notes: list[Phrase] = []
        self._machine = [cell.strip() for cell in cells[request.predicted]]
        self._hand = [cell.strip() for cell in cells[request.hand]]
        known = cells[request.truth] if request.truth is not None else [""] * len(self._hand)
        self._truth = [cell.strip() for cell in known]
        self._empty_missing(request)
        columns = [{*column} - {""} for column in (self._machine, self._hand)]
        self._numbers = {x: parse_number(x) for x in {*self._truth}.union(*columns)}
        are_numbers = len(self._numbers) > MIN_VALUES and all(
            sum(self._numbers[cell] is None for cell in column) <= MAX_OTHERS * len(column)
            for column in columns
        )
        self.is_mean = request.is_mean or (request.share_of is None and are_numbers)
        self._sets: dict[str, tuple[str, ...]] | None = None
        self._usual: dict[str, str] = {}  # spelling in the machine codes of hand codes
        if not self.is_mean:
            self._read_labels(request)
        else:
            self.labels = [""]
        self.is_coded = np.array([bool(cell) for cell in self._hand])
        self.is_read = np.array([bool(cell) for cell in self._machine]) | (self._sets is not None)
        self._is_known = np.array([bool(cell) for cell in self._truth])
        if self.is_mean:
            self._leave_out_texts(request)
        self._leave_out_unread()
        if request.truth is not None:
            self._check_truth(request.truth)
        self._choose_random(is_random, has_chance=request.chance is not None)
        if not self.is_coded.any():
            raise StudioError(
                "No row with a prediction has a hand code in “{name}”.",
                "Predict the hand-coded rows, too; without any, code a random sample by hand.",
                name=request.hand[:60],
            )
        self.chance = self._read_chance(cells, request)

    def values(self, label: str) -> tuple[Floats, Floats]:
        """Hand codes and machine codes of all rows, float64 [rows] each."""
        if self.is_mean:
            return self._as_numbers(self._hand), self._as_numbers(self._machine)
        hand = self._having(label, self._hand)
        if self._are_chances:
            return hand, self._as_numbers(self._machine)
        return hand, self._having(label, self._machine)

    def truth(self, label: str) -> Floats:
        """True codes of all rows, float64 [rows]; NaN if unknown."""
        if not self._is_known.any():
            return np.full(len(self._truth), np.nan)
        found = self._as_numbers(self._truth) if self.is_mean else self._having(label, self._truth)
        return np.where(self._is_known, found, np.nan)

    def _having(self, label: str, column: Sequence[str]) -> Floats:
        return np.array([label in self._labels_of(cell) for cell in column], dtype=np.float64)

    def _as_numbers(self, column: Sequence[str]) -> Floats:
        return np.array([self._numbers.get(cell) or 0.0 for cell in column], dtype=np.float64)

    def _labels_of(self, cell: str) -> tuple[str, ...]:
        labels = (cell,) if self._sets is None else self._sets.get(cell, ())
        return tuple(self._usual.get(label, label) for label in labels)

    def _empty_missing(self, request: EstimateRequest) -> None:
        """Empty the cells that mean that a row has no code, with a note."""
        columns = {
            request.predicted: self._machine,
            request.hand: self._hand,
            request.truth or "": self._truth,
        }
        both = {*self._machine} & {*self._hand}
        for name, column in columns.items():
            for sign in sorted({*column} - both):
                if sign.casefold() in MISSING:
                    self.notes.append(
                        phrase(
                            "{n:,} cell(s) “{sign}” in “{name}” read as empty.",
                            sign=sign[:60],
                            name=name[:60],
                            n=column.count(sign),
                        )
                    )
                    column[:] = ["" if cell == sign else cell for cell in column]

    def _read_labels(self, request: EstimateRequest) -> None:
        hand, machine, truth = (
            Counter(filter(None, column)) for column in (self._hand, self._machine, self._truth)
        )
        chosen = request.share_of
        values = {cell: self._numbers[cell] for cell in machine}
        self._are_chances = (
            chosen is not None
            and all(value is not None and 0 <= value <= 1 for value in values.values())
            and (
                chosen not in machine
                or any(v not in (0, 1) for c, v in values.items() if c not in hand)
            )
        )
        counts = hand + truth + (Counter() if self._are_chances else machine)
        if count_label_sets(counts) is not None:
            self._sets = dict(zip(counts, parse_label_sets(counts), strict=True))
        usual = hand if self._are_chances else machine
        for column, cells in ((request.hand, hand), (request.truth, truth)):
            self._match_labels(column or "", cells, usual)
        known = sorted({label for cell in counts for label in self._labels_of(cell)})
        chosen = chosen if chosen is None else by_plain_form(known).get(plain_label(chosen), chosen)
        if chosen is not None and chosen not in known:
            raise StudioError(
                "No row has the label “{label}”.",
                "Choose one of {labels}.",
                label=chosen[:60],
                labels=", ".join(name[:60] for name in known[:MAX_LABELS]),
            )
        if chosen is None and len(known) > MAX_LABELS:
            raise StudioError(
                "There are {count:,} labels, too many for an estimate of each.",
                "Choose the label whose proportion is estimated.",
                count=len(known),
            )
        self.labels = known if chosen is None else [chosen]

    def _match_labels(self, name: str, cells: Iterable[str], usual: Iterable[str]) -> None:
        """Read the codes of a column in their usual spelling, with a note.

        Raises StudioError if no label is then in both columns.
        """
        coded, known = (
            {x for cell in column for x in self._labels_of(cell)} for column in (cells, usual)
        )
        same = by_plain_form(known)
        for label in sorted(coded - known):
            if (other := same.get(plain_label(label))) is not None:
                self._usual[label] = other
                self.notes.append(
                    phrase(
                        "Code “{label}” of “{name}” read as “{usual}”.",
                        label=label[:60],
                        name=name[:60],
                        usual=other[:60],
                    )
                )
        if coded and known and not {self._usual.get(label, label) for label in coded} & known:
            raise StudioError(
                "The machine codes and “{name}” have no label in common: “{usual}”, but “{label}”.",
                "Use the same labels in both columns. Probabilities are numbers from 0 to 1; "
                "choose their label.",
                name=name[:60],
                usual=min(known)[:60],
                label=min(coded)[:60],
            )

    def _leave_out_texts(self, request: EstimateRequest) -> None:
        """Leave out cells that are not numbers, with a note."""
        for name, column, mask in (
            (request.predicted, self._machine, self.is_read),
            (request.hand, self._hand, self.is_coded),
            (request.truth or "", self._truth, self._is_known),
        ):
            cells = {*column} - {""}
            if problem := unit_problem(cells) or comma_problem(cells):
                raise problem
            wrong = np.array([bool(c) and self._numbers[c] is None for c in column], dtype=bool)
            if wrong.any() and int(wrong.sum()) == sum(map(bool, column)):
                raise StudioError(
                    "“{name}” has no numbers: “{cell}”.",
                    "Choose a column of numbers, or estimate proportions.",
                    name=name[:60],
                    cell=column[int(wrong.argmax())][:60],
                )
            if wrong.any():
                self.notes.append(
                    phrase(
                        "Left out: {n:,} cell(s) of “{name}” without a number, such as “{cell}”.",
                        n=int(wrong.sum()),
                        name=name[:60],
                        cell=column[int(wrong.argmax())][:60],
                    )
                )
            mask &= ~wrong

    def _leave_out_unread(self) -> None:
        if missing := int((~self.is_read).sum()):
            self.notes.append(phrase("{n:,} row(s) without a prediction left out.", n=missing))
        self.is_coded &= self.is_read

    def _check_truth(self, name: str) -> None:
        """Note the rows without a true code; raises StudioError if these are all."""
        unknown = int((self.is_read & ~self._is_known).sum())
        if unknown == self.is_read.sum():
            raise StudioError(
                "No row with a prediction has a true code in “{name}”.",
                "Choose the column of the true codes, or none.",
                name=name[:60],
            )
        if unknown:
            self.notes.append(
                phrase("{n:,} row(s) have no true code; true values are of the others.", n=unknown)
            )

    def _choose_random(self, is_random: Bools | None, has_chance: bool) -> None:
        """Keep only the hand codes of random rows if there are some; note the condition."""
        drawn = self.is_coded if is_random is None else self.is_coded & is_random
        if is_random is None or not drawn.any():
            if not has_chance:
                self.notes.append(NOT_KNOWN if is_random is None else NOT_RANDOM)
            return
        if others := int(self.is_coded.sum() - drawn.sum()):
            self.notes.append(
                phrase(
                    "{n:,} hand-coded row(s) were not drawn at random and count as machine-coded.",
                    n=others,
                )
            )
        self.is_coded = drawn

    def _read_chance(
        self, cells: Mapping[str, Sequence[str]], request: EstimateRequest
    ) -> Floats | None:
        if request.chance is None:
            return None
        column = cells[request.chance]
        chance = np.array([parse_number(cell) or 0.0 for cell in column])
        wrong = self.is_coded & ~((chance > 0) & (chance <= 1))
        if wrong.any():
            row = int(wrong.argmax())
            raise StudioError(
                "“{cell}” in row {row:,} of “{name}” is not a probability above 0 and at most 1.",
                "Each hand-coded row needs the probability with which it was drawn.",
                cell=column[row][:60],
                row=row + 1,
                name=request.chance[:60],
            )
        return chance


class _Groups:
    """Names of the periods and groups, and those of each row; “” outside all."""

    def __init__(
        self, cells: Mapping[str, Sequence[str]], request: EstimateRequest, notes: list[Phrase]
    ) -> None:
        count = len(cells[request.predicted])
        self.period, self.group = (np.full(count, ALL, dtype=object) for _ in range(2))
        if request.by is not None:
            self.period = self._read(request.by, cells[request.by], request.period, notes)
        if request.compare is not None:
            names = [cell.strip() for cell in cells[request.compare]]
            self.group = self._named(request.compare, names, notes)
        self.periods, self.groups = (
            [*dict.fromkeys(sorted({*names} - {ALL}))] for names in (self.period, self.group)
        )
        count = max(1, len(self.periods)) * max(1, len(self.groups))
        if count > MAX_GROUPS:
            raise StudioError(
                "There are {count:,} periods or groups, more than the {most} of a table.",
                "Choose longer periods, or a column with fewer different cells.",
                count=count,
                most=MAX_GROUPS,
            )
        if request.compare is not None and len(self.groups) < 2:
            raise StudioError(
                "“{name}” has only one group.",
                "Choose a column with the groups to compare.",
                name=request.compare[:60],
            )
        sizes = Counter(self.group.tolist())
        self.largest = max(self.groups, key=lambda name: sizes[name], default=ALL)

    def _read(
        self, name: str, cells: Sequence[str], period: Period, notes: list[Phrase]
    ) -> NDArray[np.object_]:
        if not are_dates(cells):
            return self._named(name, [cell.strip() for cell in cells], notes)
        names, others = group_by_period(cells, period)
        if others:
            counts = Counter(cell.strip() for cell in cells)
            notes.append(
                phrase(
                    "{n:,} row(s) have no date in “{name}”, such as “{cell}”; they count only in "
                    "the estimate of all rows.",
                    n=sum(counts[other] for other in others),
                    name=name[:60],
                    cell=others[0][:60],
                )
            )
        return self._named(name, names, notes, sum(not cell.strip() for cell in cells))

    def _named(
        self, column: str, names: list[str], notes: list[Phrase], empty: int | None = None
    ) -> NDArray[np.object_]:
        if missing := names.count(ALL) if empty is None else empty:
            notes.append(
                phrase(
                    "{n:,} row(s) with an empty “{name}” count only in the estimate of all rows.",
                    n=missing,
                    name=column[:60],
                )
            )
        return np.array(names, dtype=object)


def _rows(label: str, codes: _Codes, groups: _Groups) -> Iterator[EstimateRow]:
    hand, machine = codes.values(label)
    truth = codes.truth(label)
    is_share = not codes.is_mean

    def estimate(period: str, group: str) -> tuple[Estimate, float] | None:
        chosen = codes.is_read.copy()
        for names, name in ((groups.period, period), (groups.group, group)):
            if name != ALL:
                chosen &= names == name
        coded, others = chosen & codes.is_coded, chosen & ~codes.is_coded
        parts = hand[coded], machine[coded], machine[others]
        if not chosen.any():
            return None
        known = truth[chosen & ~np.isnan(truth)]
        value = float(known.mean()) if len(known) else float("nan")
        if codes.chance is None:
            return prediction_powered(*parts, is_share), value
        return design_based(*parts, codes.chance[coded], is_share), value

    for period in (ALL, *groups.periods):
        found = {group: estimate(period, group) for group in (ALL, *groups.groups)}
        for group, result in found.items():
            if result is not None:
                yield EstimateRow(label, period, group, result[0], truth=result[1])
        base = found.get(groups.largest)
        for group in groups.groups:
            result = found[group]
            if group != groups.largest and result is not None and base is not None:
                gap = difference(result[0], base[0], is_share)
                yield EstimateRow(label, period, group, gap, groups.largest, result[1] - base[1])


def estimate_lines(table: EstimateTable) -> list[dict[str, Any]]:
    """The table for a file, a line for each estimate; None if a figure is unknown."""
    return [
        {
            "label": row.label,
            "period": row.period,
            "group": row.group,
            "minus": row.minus or "",
            **_ends("", row.estimate.corrected),
            **_ends("naive_", row.estimate.naive),
            "rows": row.estimate.rows,
            "coded": row.estimate.coded,
            "coded_for_half": row.estimate.halving,
            **({"truth": _figure(row.truth)} if table.has_truth else {}),
        }
        for row in table.rows
    ]


def _ends(prefix: str, figure: Interval) -> dict[str, float | None]:
    names = ("estimate", "low", "high")
    return {f"{prefix}{n}": _figure(value) for n, value in zip(names, figure, strict=True)}


def _figure(value: float) -> float | None:
    return None if np.isnan(value) else value
