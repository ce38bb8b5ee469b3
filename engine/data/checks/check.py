"""Types of the checks: a check gives findings, each with its rows and the fixes on offer."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.data.checks.check_input import CheckInput
from engine.data.checks.groups import RowIndices
from engine.phrases import join, phrase

Severity = Literal["problem", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("problem", "warning", "note")
"""A problem makes scores wrong, a warning may, a note is for information. Worst first."""

AUTOMATIC_ROWS = 200_000
"""Maximum number of rows that are checked without being asked for."""

SHOWN_LABELS = 6


def no_rows() -> RowIndices:
    return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Fix:
    """One way to change the rows of a finding. Row indices count from 0."""

    name: str
    """The headless command applies all fixes of a check that have the same name."""
    title: str  # of its button
    change: str  # sentence for the history of the new version
    dropped: RowIndices = field(default_factory=no_rows)
    moved: RowIndices = field(default_factory=no_rows)
    moved_to: NDArray[np.int8] = field(default_factory=lambda: np.zeros(0, dtype=np.int8))
    """[moved], an index into SPLITS"""
    spellings: Mapping[str, str] = field(default_factory=dict)  # of labels
    cells: Mapping[int, Mapping[str, str]] = field(default_factory=dict)  # by row and column


@dataclass(frozen=True, eq=False)
class Finding:
    """A result of a check. `count` is in rows, or in labels or columns if it is about those.

    A finding without `rows` is about all of them.
    """

    check: str  # a key of CHECKS
    severity: Severity
    count: int
    sentence: str
    rows: RowIndices = field(default_factory=no_rows)
    """In reading order: copies are next to each other."""
    fixes: tuple[Fix, ...] = ()


def quote_labels(names: Sequence[str]) -> str:
    """The first labels for a sentence, and the number of the others."""
    shown = join(", ", [f"“{name[:40]}”" for name in names[:SHOWN_LABELS]])
    more = len(names) - SHOWN_LABELS
    return phrase("{names} and {more:,} more", names=shown, more=more) if more > 0 else shown


class Check(NamedTuple):
    """Title and function of a check."""

    title: str
    find: Callable[[CheckInput], list[Finding]]
