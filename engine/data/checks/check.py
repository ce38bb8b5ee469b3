"""Types of the checks: a check returns findings, each with its rows and fixes."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import PlainSerializer, PlainValidator

from engine.data.checks.check_input import CheckInput
from engine.data.checks.groups import RowIndices
from engine.phrases import from_json, join, phrase, to_json

Severity = Literal["problem", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("problem", "warning", "note")
"""A problem makes scores wrong, a warning may, a note is for information. Worst first."""

MAX_AUTOMATIC_ROWS = 200_000  # larger data sets are checked on request

MAX_QUOTED_LABELS = 6


Sentence = Annotated[str, PlainValidator(from_json), PlainSerializer(to_json)]
"""A phrase that stays translatable in the cache."""


AS_LIST = PlainSerializer(lambda numbers: numbers.tolist())
Rows = Annotated[RowIndices, PlainValidator(lambda rows: np.array(rows, dtype=np.int64)), AS_LIST]
Splits = Annotated[NDArray[np.int8], PlainValidator(lambda n: np.array(n, dtype=np.int8)), AS_LIST]


def no_rows() -> RowIndices:
    return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Fix:
    """One way to change the rows of a finding. Row indices count from 0."""

    name: str
    """The headless command applies all fixes of a check that have the same name."""
    title: Sentence  # of its button
    change: Sentence  # sentence for the history of the new version
    dropped: Rows = field(default_factory=no_rows)
    moved: Rows = field(default_factory=no_rows)
    moved_to: Splits = field(default_factory=lambda: np.zeros(0, dtype=np.int8))
    """[moved], an index into SPLITS"""
    spellings: Mapping[str, str] = field(default_factory=dict)  # of labels
    cells: Mapping[int, Mapping[str, str]] = field(default_factory=dict)  # by row and column


@dataclass(frozen=True, eq=False)
class Finding:
    """A result of a check. `count` counts rows, or the labels or columns that it is about.

    A finding without `rows` is about all of them.
    """

    check: str  # a key of CHECKS
    severity: Severity
    count: int
    sentence: Sentence
    rows: Rows = field(default_factory=no_rows)
    """In reading order: copies are next to each other."""
    fixes: tuple[Fix, ...] = ()


def drop_fix(rows: RowIndices, change: str, name: str = "drop") -> Fix:
    """Drop all rows of a finding."""
    return Fix(name, phrase("Drop these rows"), change, dropped=rows)


def quote_labels(names: Sequence[str]) -> str:
    """Quote the first labels for a sentence, and count the others."""
    shown = join(", ", [f"“{name[:40]}”" for name in names[:MAX_QUOTED_LABELS]])
    more = len(names) - MAX_QUOTED_LABELS
    return phrase("{names} and {more:,} more", names=shown, more=more) if more > 0 else shown


class Check(NamedTuple):
    """Title and function of a check."""

    title: str
    find: Callable[[CheckInput], list[Finding]]
