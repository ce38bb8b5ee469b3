"""What every check gives: findings, each with its rows and with cures that make a new version."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.data.checks.groups import RowIndices, no_rows

if TYPE_CHECKING:
    from engine.data.checks.material import Material

Severity = Literal["problem", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("problem", "warning", "note")
"""A problem makes scores wrong, a warning may, a note is good to know; the worst first."""

UNASKED_ROWS = 200_000  # that are checked without being asked for: some seconds on two cores


@dataclass(frozen=True, eq=False)
class Cure:
    """One way to change the rows of a finding; numbers of rows count from 0."""

    by: str
    """Its name for the headless command, which applies all of a check with the same name."""
    title: str  # of a button
    change: str  # what is different in the new version, in a sentence
    dropped: RowIndices = field(default_factory=no_rows)
    moved: RowIndices = field(default_factory=no_rows)
    moved_to: NDArray[np.int8] = field(default_factory=lambda: np.zeros(0, dtype=np.int8))
    """[moved], an index into SPLITS"""
    spellings: Mapping[str, str] = field(default_factory=dict)  # of labels
    cells: Mapping[int, Mapping[str, str]] = field(default_factory=dict)  # by row and column


@dataclass(frozen=True, eq=False)
class Finding:
    """What a check found: `count` rows, or labels or columns where `check` is about these.

    Without `rows`, it is about all of them.
    """

    check: str  # a key of CHECKS
    severity: Severity
    count: int
    sentence: str
    rows: RowIndices = field(default_factory=no_rows)
    """In the order in which they are best read, such as copies beside one another."""
    cures: tuple[Cure, ...] = ()


class Check(NamedTuple):
    """A check: how it is called, and what it finds."""

    title: str
    find: Callable[["Material"], list[Finding]]
