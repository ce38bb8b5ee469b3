"""Labels with too few training rows."""

import numpy as np

from engine.data.checks.check import Finding, Fix, drop_fix, quote_labels
from engine.data.checks.check_input import CheckInput
from engine.data.datasets.splitting import TRAIN
from engine.phrases import phrase

FEW_ROWS = 10  # training rows, below which a label is rare
OTHER = "other"


def find(data: CheckInput) -> list[Finding]:
    labels = data.classes
    if labels is None:
        return []
    counts = labels.counts(data.splits == TRAIN)
    rare = [name for name, count in counts.items() if count < FEW_ROWS]
    if not rare:
        return []
    indices = [index for index, name in enumerate(labels.names) if counts[name] < FEW_ROWS]
    rows = np.flatnonzero(np.isin(labels.indices, indices))
    sentence = phrase(
        "{n:,} label(s) with fewer than {few} training rows ({names}): too few to learn from, and"
        " to measure by.",
        n=len(rare),
        few=FEW_ROWS,
        names=quote_labels(rare),
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
        change = phrase("{n:,} row(s) with rare labels dropped.", n=len(rows))
        fixes.append(drop_fix(rows, change))
    ordered = rows[np.lexsort((rows, labels.indices[rows]))]
    return [Finding("rare_labels", "warning", len(rare), sentence, ordered, tuple(fixes))]
