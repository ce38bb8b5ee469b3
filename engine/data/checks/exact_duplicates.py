"""Rows with the texts and the label of an earlier row in the same split."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.data.checks.check import Finding, Fix
from engine.data.checks.check_input import CheckInput
from engine.data.checks.groups import combine, later_rows, repeated_rows, sort_by_group
from engine.phrases import phrase


def find(data: CheckInput) -> list[Finding]:
    groups = data.equal
    keys: list[NDArray[Any]] = [groups, data.splits]
    if data.labels is not None:
        keys.append(data.labels.indices)
    same = combine(*keys)
    rows = repeated_rows(same, np.flatnonzero(data.has_text))
    if not len(rows):
        return []
    surplus = later_rows(same, rows)
    sentence = phrase(
        "{n:,} row(s) with the texts and label of an earlier row: they weigh more in training, and"
        " scores count them again.",
        n=len(surplus),
    )
    fix = Fix(
        "drop",
        phrase("Drop the copies"),
        phrase("{n:,} exact duplicate(s) dropped; the first of each is kept.", n=len(surplus)),
        dropped=surplus,
    )
    name = "exact_duplicates"
    return [Finding(name, "warning", len(surplus), sentence, sort_by_group(groups, rows), (fix,))]
