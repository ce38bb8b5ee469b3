"""Rows that are nearly equal to an earlier row of the same split."""

import numpy as np

from engine.data.checks.check import Finding, Fix
from engine.data.checks.check_input import CheckInput
from engine.data.checks.groups import combine, later_rows, sort_by_group
from engine.phrases import phrase


def find(data: CheckInput) -> list[Finding]:
    rows = np.flatnonzero(data.has_text)
    groups = combine(data.near, data.splits)
    texts = combine(data.equal_groups, data.splits)
    _, first = np.unique(texts[rows], return_index=True)  # `exact_duplicates` finds equal texts
    surplus = later_rows(groups, np.sort(rows[first]))
    if not len(surplus):
        return []
    rows = rows[np.isin(groups[rows], groups[surplus])]
    dropped = rows[np.isin(texts[rows], texts[surplus])]
    sentence = phrase(
        "{n:,} text(s) with most 5-grams of words in common with an earlier text of their split.",
        n=len(surplus),
    )
    fix = Fix(
        "drop",
        phrase("Drop all but the first"),
        phrase("{n:,} row(s) with nearly equal texts dropped.", n=len(dropped)),
        dropped=dropped,
    )
    name = "near_duplicates"
    return [Finding(name, "note", len(surplus), sentence, sort_by_group(data.near, rows), (fix,))]
