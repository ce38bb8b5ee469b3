"""Labels that are learned and never measured: the validation set has no row with them."""

import numpy as np
from numpy.typing import NDArray

from engine.data.checks.check import Finding, Fix, no_rows
from engine.data.checks.check_input import CheckInput, Labels
from engine.data.checks.groups import RowIndices
from engine.data.datasets.splitting import TRAIN, VALIDATION
from engine.phrases import joined, phrase

SHOWN = 6


def find(data: CheckInput) -> list[Finding]:
    labels = data.classes
    if labels is None or not (data.splits == VALIDATION).any():
        return []
    learned = labels.counts(data.splits == TRAIN)
    measured = labels.counts(data.splits == VALIDATION)
    absent = [name for name, count in learned.items() if count and not measured[name]]
    if not absent:
        return []
    names = joined(", ", [f"“{name[:40]}”" for name in absent[:SHOWN]])
    if len(absent) > SHOWN:
        names = phrase("{names} and {more:,} more", names=names, more=len(absent) - SHOWN)
    sentence = phrase(
        "{n:,} label(s) of the training set are in no row of the validation set ({names}): scores"
        " say nothing of such rows.",
        n=len(absent),
        names=names,
    )
    of_each = [np.flatnonzero(_trained(data, labels, name)) for name in absent]
    fix = _move(data, of_each)
    rows = np.concatenate(of_each)
    return [Finding("absent_labels", "warning", len(absent), sentence, rows, (fix,) if fix else ())]


def _trained(data: CheckInput, labels: Labels, name: str) -> NDArray[np.bool_]:
    """Which rows of the training set have this label, bool [N]."""
    trained: NDArray[np.bool_] = (labels.indices == labels.names.index(name)) & (
        data.splits == TRAIN
    )
    return trained


def _move(data: CheckInput, of_each: list[RowIndices]) -> Fix | None:
    """A part of the training rows of each label, as large as that of the validation set.

    Rows whose text stands in others too stay, and so does one row of each label.
    """
    trained, validation = ((data.splits == split).sum() for split in (TRAIN, VALIDATION))
    share = validation / (trained + validation)
    alone = np.bincount(data.equal_groups)[data.equal_groups] == 1
    keys = np.random.Philox(data.split.seed).random_raw(data.rows)
    moved = [no_rows()]
    for rows in of_each:
        wanted = min(max(1, round(share * len(rows))), len(rows) - 1)
        free = rows[alone[rows]]
        moved.append(free[np.argsort(keys[free], kind="stable")][:wanted])
    found = np.sort(np.concatenate(moved))
    if not len(found):
        return None
    return Fix(
        "move",
        phrase("Move some to validation"),
        phrase("{n:,} training row(s) moved to the validation set, which lacked their labels.",
               n=len(found)),
        moved=found,
        moved_to=np.full(len(found), VALIDATION, dtype=np.int8),
    )  # fmt: skip
