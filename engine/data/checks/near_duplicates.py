"""Nearly the same row again in the same split, as `near_copies` compares texts."""

import numpy as np

from engine.data.checks.check import Cure, Finding
from engine.data.checks.groups import combined, later_ones, together
from engine.data.checks.material import Material
from engine.phrases import phrase


def find(material: Material) -> list[Finding]:
    rows = np.flatnonzero(material.has_text)
    groups = combined(material.near, material.splits)
    texts = combined(material.equal_groups, material.splits)
    _, first = np.unique(texts[rows], return_index=True)  # equal texts are another check's
    surplus = later_ones(groups, np.sort(rows[first]))
    if not len(surplus):
        return []
    rows = rows[np.isin(groups[rows], groups[surplus])]
    dropped = rows[np.isin(texts[rows], texts[surplus])]
    sentence = phrase(
        "{n:,} text(s) with most 5-grams of words in common with an earlier text of their split.",
        n=len(surplus),
    )
    cure = Cure(
        "drop",
        phrase("Drop all but the first"),
        phrase("{n:,} row(s) with nearly equal texts dropped.", n=len(dropped)),
        dropped=dropped,
    )
    name = "near_duplicates"
    return [Finding(name, "note", len(surplus), sentence, together(material.near, rows), (cure,))]
