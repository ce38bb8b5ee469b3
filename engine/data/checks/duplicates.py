"""Rows that are equal, or nearly equal, to an earlier row of the same split."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.data.checks.check import Finding, Fix
from engine.data.checks.check_input import CheckInput
from engine.data.checks.groups import combine, later_rows, repeated_rows, sort_by_group
from engine.phrases import phrase


def find_exact(data: CheckInput) -> list[Finding]:
    """Rows with the texts and the label of an earlier row."""
    groups = data.equal
    keys: list[NDArray[Any]] = [groups, data.splits]
    if data.labels is not None:
        keys.append(data.labels.indices)
    same = combine(*keys)
    rows = repeated_rows(same, np.flatnonzero(data.has_text))
    if not len(rows):
        return []
    surplus = later_rows(same, rows)
    count = len(surplus)
    sentence = phrase(
        "{n:,} row(s) with the texts and label of an earlier row: they weigh more in training, and"
        " scores count them again.",
        n=count,
    )
    change = phrase("{n:,} exact duplicate(s) dropped; the first of each is kept.", n=count)
    fix = Fix("drop", phrase("Drop the copies"), change, dropped=surplus)
    rows = sort_by_group(groups, rows)
    return [Finding("exact_duplicates", "warning", count, sentence, rows, (fix,))]


def find_near(data: CheckInput) -> list[Finding]:
    """Texts nearly equal to an earlier one; equal ones are found by `find_exact`."""
    rows = np.flatnonzero(data.has_text)
    groups = combine(data.near, data.splits)
    texts = combine(data.equal_groups, data.splits)
    _, first = np.unique(texts[rows], return_index=True)
    surplus = later_rows(groups, np.sort(rows[first]))
    count = len(surplus)
    if not count:
        return []
    rows = rows[np.isin(groups[rows], groups[surplus])]
    dropped = rows[np.isin(texts[rows], texts[surplus])]
    sentence = phrase(
        "{n:,} text(s) with most 5-grams of words in common with an earlier text of their split.",
        n=count,
    )
    change = phrase("{n:,} row(s) with nearly equal texts dropped.", n=len(dropped))
    fix = Fix("drop", phrase("Drop all but the first"), change, dropped=dropped)
    rows = sort_by_group(data.near, rows)
    return [Finding("near_duplicates", "note", count, sentence, rows, (fix,))]
