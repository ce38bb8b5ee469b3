"""The same row again: equal texts with the same label in the same split."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.data.checks.check import Cure, Finding
from engine.data.checks.groups import combined, later_ones, sharing, together
from engine.data.checks.material import Material
from engine.phrases import phrase


def find(material: Material) -> list[Finding]:
    groups = material.equal
    keys: list[NDArray[Any]] = [groups, material.splits]
    if material.labels is not None:
        keys.append(material.labels.numbers)
    same = combined(*keys)
    rows = sharing(same, np.flatnonzero(material.has_text))
    if not len(rows):
        return []
    surplus = later_ones(same, rows)
    sentence = phrase(
        "{n:,} row(s) with the texts and label of an earlier row: they weigh more in training, and"
        " scores count them again.",
        n=len(surplus),
    )
    cure = Cure(
        "drop",
        phrase("Drop the copies"),
        phrase("{n:,} exact duplicate(s) dropped; the first of each is kept.", n=len(surplus)),
        dropped=surplus,
    )
    name = "exact_duplicates"
    return [Finding(name, "warning", len(surplus), sentence, together(groups, rows), (cure,))]
