"""Labels that differ by case, white space or a typing error, and so count as different ones."""

import numpy as np

from engine.data.checks.check import Cure, Finding
from engine.data.checks.material import Material
from engine.data.columns.spellings import Spellings, spellings_in
from engine.phrases import joined, phrase

SHOWN = 4


def find(material: Material) -> list[Finding]:
    labels = material.classes
    if labels is None:
        return []
    found = []
    for one in spellings_in(labels.counts()):
        numbers = [labels.names.index(name) for name in (one.usual, *one.others)]
        rows = np.flatnonzero(np.isin(labels.numbers, numbers[1:]))
        found.append(
            Finding("label_spellings", "problem", one.rows, _said(one), rows, (_cure(one),))
        )
    return found


def _said(one: Spellings) -> str:
    return phrase(
        "The labels {others} look like other spellings of “{usual}”: the model learns them as"
        " different classes.",
        others=_names(one),
        usual=one.usual[:60],
    )


def _cure(one: Spellings) -> Cure:
    return Cure(
        phrase("Merge into “{usual}”", usual=one.usual[:40]),
        phrase("The labels {others} are “{usual}” now.", others=_names(one), usual=one.usual[:60]),
        spellings=dict.fromkeys(one.others, one.usual),
    )


def _names(one: Spellings) -> str:
    return joined(", ", [f"“{label[:60]}”" for label in one.others[:SHOWN]])
