"""Labels of the training set that no validation row has."""

import numpy as np

from engine.data.checks.check import Finding, Fix, no_rows, quote_labels
from engine.data.checks.check_input import CheckInput
from engine.data.checks.groups import RowIndices
from engine.data.datasets.splitting import TRAIN, VALIDATION
from engine.phrases import phrase


def find(data: CheckInput) -> list[Finding]:
    labels = data.classes
    if labels is None or not (data.splits == VALIDATION).any():
        return []
    learned = labels.counts(data.splits == TRAIN)
    measured = labels.counts(data.splits == VALIDATION)
    absent = [name for name, count in learned.items() if count and not measured[name]]
    if not absent:
        return []
    sentence = phrase(
        "{n:,} label(s) of the training set are in no row of the validation set ({names}): scores"
        " say nothing of such rows.",
        n=len(absent),
        names=quote_labels(absent),
    )
    trained = np.where(data.splits == TRAIN, labels.indices, -1)
    of_each = [np.flatnonzero(trained == labels.names.index(name)) for name in absent]
    fix = _move(data, of_each)
    rows = np.concatenate(of_each)
    return [Finding("absent_labels", "warning", len(absent), sentence, rows, (fix,) if fix else ())]


def _move(data: CheckInput, of_each: list[RowIndices]) -> Fix | None:
    """Move a random part of each label's training rows, in the proportion of the two sets.

    Rows that share their text with others stay, and so does at least one row of each label.
    """
    trained, validation = ((data.splits == split).sum() for split in (TRAIN, VALIDATION))
    fraction = validation / (trained + validation)
    alone = np.bincount(data.equal_groups)[data.equal_groups] == 1
    keys = np.random.Philox(data.split.seed).random_raw(data.rows)
    chosen = [no_rows()]
    for rows in of_each:
        wanted = min(max(1, round(fraction * len(rows))), len(rows) - 1)
        free = rows[alone[rows]]
        chosen.append(free[np.argsort(keys[free], kind="stable")][:wanted])
    moved = np.sort(np.concatenate(chosen))
    if not len(moved):
        return None
    return Fix(
        "move",
        phrase("Move some to validation"),
        phrase("{n:,} training row(s) moved to the validation set, which lacked their labels.",
               n=len(moved)),
        moved=moved,
        moved_to=np.full(len(moved), VALIDATION, dtype=np.int8),
    )  # fmt: skip
