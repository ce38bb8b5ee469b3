"""Labels with so few training rows that a model hardly learns them, and no score is reliable."""

import numpy as np

from engine.data.checks.check import Finding, Fix
from engine.data.checks.check_input import CheckInput
from engine.data.datasets.splitting import TRAIN
from engine.phrases import joined, phrase

FEW_ROWS = 10  # training rows of a label, below which it is rare
OTHER = "other"
SHOWN = 6


def find(data: CheckInput) -> list[Finding]:
    labels = data.classes
    if labels is None:
        return []
    counts = labels.counts(data.splits == TRAIN)
    rare = [name for name, count in counts.items() if count < FEW_ROWS]
    if not rare:
        return []
    numbers = [number for number, name in enumerate(labels.names) if counts[name] < FEW_ROWS]
    rows = np.flatnonzero(np.isin(labels.indices, numbers))
    names = joined(", ", [f"“{name[:40]}”" for name in rare[:SHOWN]])
    if len(rare) > SHOWN:
        names = phrase("{names} and {more:,} more", names=names, more=len(rare) - SHOWN)
    sentence = phrase(
        "{n:,} label(s) with fewer than {few} training rows ({names}): too few to learn from, and"
        " to measure by.",
        n=len(rare),
        few=FEW_ROWS,
        names=names,
    )
    fixes = []
    if len(rare) > 1:
        fixes.append(
            Fix(
                "merge",
                phrase("Merge into “{other}”", other=OTHER),
                phrase("{n:,} rare label(s) are “{other}” now.", n=len(rare), other=OTHER),
                spellings=dict.fromkeys(rare, OTHER),
            )
        )
    if len(labels.names) - len(rare) > 1:
        fixes.append(
            Fix(
                "drop",
                phrase("Drop these rows"),
                phrase("{n:,} row(s) with rare labels dropped.", n=len(rows)),
                dropped=rows,
            )
        )
    ordered = rows[np.lexsort((rows, labels.indices[rows]))]
    return [Finding("rare_labels", "warning", len(rare), sentence, ordered, tuple(fixes))]
