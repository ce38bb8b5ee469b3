"""Rows with the same text and different labels."""

import numpy as np

from engine.data.checks.check import Finding, Fix, drop_fix
from engine.data.checks.check_input import CheckInput, Labels
from engine.data.checks.groups import RowIndices, distinct, sort_by_group
from engine.data.columns.numbers import is_scale, parse_number
from engine.phrases import phrase

SCALE_SHARE = 0.25  # by how much scores of one text may differ, as a fraction of the scale


def find(data: CheckInput) -> list[Finding]:
    labels = data.labels
    if labels is None:
        return []
    labelled = np.flatnonzero(data.has_text & (labels.indices >= 0))
    groups = data.equal
    rows = _conflicting(groups, labels, labelled)
    if not len(rows):
        return []
    texts = len(distinct(groups[rows]))
    sentence = phrase(
        "{n:,} row(s) with the same text and another label (different texts: {texts:,}): a"
        " model cannot be right about all of them.",
        n=len(rows),
        texts=texts,
    )
    change = phrase("{n:,} row(s) dropped whose text has different labels.", n=len(rows))
    drop = drop_fix(np.sort(rows), change)
    fixes = (drop,) if data.classes is None else (_majority(data, labels, rows), drop)
    rows = sort_by_group(groups, rows)
    return [Finding("label_conflicts", "problem", len(rows), sentence, rows, fixes)]


def _conflicting(groups: RowIndices, labels: Labels, rows: RowIndices) -> RowIndices:
    if is_scale(labels.counts()):
        return _far_apart(groups, labels, rows)
    first = np.full(groups.max(initial=0) + 1, -1, dtype=np.int64)
    first[groups[rows[::-1]]] = labels.indices[rows[::-1]]
    differs = np.zeros(len(first), dtype=bool)
    differs[groups[rows][labels.indices[rows] != first[groups[rows]]]] = True
    conflicting: RowIndices = rows[differs[groups[rows]]]
    return conflicting


def _far_apart(groups: RowIndices, labels: Labels, rows: RowIndices) -> RowIndices:
    scores = np.array([parse_number(name) for name in labels.names])[labels.indices[rows]]
    low = np.full(groups.max(initial=0) + 1, np.inf)
    high = -low
    np.minimum.at(low, groups[rows], scores)
    np.maximum.at(high, groups[rows], scores)
    is_far = (high - low)[groups[rows]] > SCALE_SHARE * (scores.max() - scores.min())
    far: RowIndices = rows[is_far]
    return far


def _majority(data: CheckInput, labels: Labels, rows: RowIndices) -> Fix:
    """Give each text its most frequent label; drop its rows if there is a tie."""
    groups, indices = data.equal[rows], labels.indices[rows]
    pairs, counts = np.unique(np.stack([groups, indices]), axis=1, return_counts=True)
    best: dict[int, tuple[int, int]] = {}
    tied: set[int] = set()
    for (group, label), count in zip(pairs.T.tolist(), counts.tolist(), strict=True):
        most, _ = best.get(group, (0, -1))
        if count > most:
            best[group] = count, label
            tied.discard(group)
        elif count == most:
            tied.add(group)
    column = data.mapping.label
    assert column is not None
    dropped = np.array([group in tied for group in groups.tolist()], dtype=bool)
    changed = {
        row: {column: labels.names[best[group][1]]}
        for row, group, label in zip(rows.tolist(), groups.tolist(), indices.tolist(), strict=True)
        if group not in tied and best[group][1] != label
    }
    return Fix(
        "majority",
        phrase("Use the most frequent label"),
        phrase(
            "{n:,} label(s) replaced by the most frequent one of their text; rows dropped because"
            " their labels are tied: {dropped:,}.",
            n=len(changed),
            dropped=int(dropped.sum()),
        ),
        dropped=np.sort(rows[dropped]),
        cells=changed,
    )
