"""Checks of labels."""

from collections.abc import Sequence

import numpy as np

from engine.data.checks.check import Finding, Fix, drop_fix, no_rows, quote_labels
from engine.data.checks.check_input import CheckInput, Labels
from engine.data.checks.groups import RowIndices, sort_by_group, sorted_unique
from engine.data.columns.label_sets import join_labels
from engine.data.columns.numbers import is_scale, parse_number
from engine.data.columns.placeholders import find_codes
from engine.data.columns.spellings import Spellings, find_spellings
from engine.data.datasets.splitting import TRAIN, VALIDATION
from engine.phrases import join, phrase

MAX_SCALE_DIFFERENCE = 0.25  # between the scores of one text, as a fraction of the scale
MAX_QUOTED_SPELLINGS = 4
MAX_SEPARATE = 20  # labels with a separate finding; the others share a finding
MIN_TRAINING_ROWS = 10  # below, a label is rare
ROUNDING = 1e-9  # relative distance of numbers that only differ by rounding
OUTLYING, USUAL_QUANTILE = 20, 0.95  # 4 of a million log-normal numbers are as far
OTHER = "other"


def find_conflicts(data: CheckInput) -> list[Finding]:
    """Rows with the same text and different labels."""
    labels = data.labels
    if labels is None:
        return []
    labelled = np.flatnonzero(data.has_text & (labels.indices >= 0))
    groups = data.text_groups
    rows = _find_conflicting(groups, labels, labelled)
    if not len(rows):
        return []
    texts = len(sorted_unique(groups[rows]))
    sentence = phrase(
        "{n:,} row(s) with the same text and another label: {texts:,} text(s) with"
        " conflicting labels.",
        n=len(rows),
        texts=texts,
    )
    change = phrase("{n:,} row(s) dropped whose text has different labels.", n=len(rows))
    drop = drop_fix(np.sort(rows), change)
    fixes: tuple[Fix, ...] = (drop,)
    if data.classes is not None:
        majority, several = (make(data, labels, rows) for make in (_majority_fix, _several_fix))
        fixes = (majority, several, drop)
    rows = sort_by_group(groups, rows)
    return [Finding("label_conflicts", "problem", len(rows), sentence, rows, fixes)]


def _find_conflicting(groups: RowIndices, labels: Labels, rows: RowIndices) -> RowIndices:
    if is_scale(labels.counts()):
        return _find_far_apart(groups, labels, rows)
    first = np.full(groups.max(initial=0) + 1, -1, dtype=np.int64)
    first[groups[rows[::-1]]] = labels.indices[rows[::-1]]
    differs = np.zeros(len(first), dtype=bool)
    differs[groups[rows][labels.indices[rows] != first[groups[rows]]]] = True
    conflicting: RowIndices = rows[differs[groups[rows]]]
    return conflicting


def _find_far_apart(groups: RowIndices, labels: Labels, rows: RowIndices) -> RowIndices:
    scores = np.array([parse_number(name) for name in labels.names])[labels.indices[rows]]
    lowest = np.full(groups.max(initial=0) + 1, np.inf)
    highest = -lowest
    np.minimum.at(lowest, groups[rows], scores)
    np.maximum.at(highest, groups[rows], scores)
    is_far = (highest - lowest)[groups[rows]] > MAX_SCALE_DIFFERENCE * (scores.max() - scores.min())
    far: RowIndices = rows[is_far]
    return far


def _majority_fix(data: CheckInput, labels: Labels, rows: RowIndices) -> Fix:
    """Give each text its most frequent label; drop its rows if there is a tie."""
    groups, indices = data.text_groups[rows], labels.indices[rows]
    pairs, counts = np.unique(np.stack([groups, indices]), axis=1, return_counts=True)
    best: dict[int, tuple[int, int]] = {}
    tied: set[int] = set()
    for (group, label), count in zip(pairs.T.tolist(), counts.tolist(), strict=True):
        best_count, _ = best.get(group, (0, -1))
        if count > best_count:
            best[group] = count, label
            tied.discard(group)
        elif count == best_count:
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


def _several_fix(data: CheckInput, labels: Labels, rows: RowIndices) -> Fix:
    """Keep the first row of each text, with the labels of all of its rows."""
    sets: dict[int, dict[str, int]] = {}
    first: dict[int, int] = {}
    for row in np.sort(rows).tolist():
        group = int(data.text_groups[row])
        sets.setdefault(group, {})[labels.names[labels.indices[row]]] = row
        first.setdefault(group, row)
    column = data.mapping.label
    assert column is not None
    return Fix(
        "several",
        phrase("Several labels per text"),
        phrase("{n:,} text(s) with a row for each label have all labels in one row.", n=len(first)),
        dropped=np.setdiff1d(rows, [*first.values()]),
        cells={row: {column: join_labels([*sets[group]])} for group, row in first.items()},
    )


def find_variants(data: CheckInput) -> list[Finding]:
    """Labels that differ only by case, white space or a typing error."""
    labels = data.classes
    if labels is None:
        return []
    spellings = sorted(find_spellings(labels.counts()), key=lambda group: -group.rows)
    separate, others = spellings[:MAX_SEPARATE], spellings[MAX_SEPARATE:]
    findings = []
    for group in separate:
        usual, variants = (
            group.usual[:60],
            join(", ", [f"“{name[:60]}”" for name in group.others[:MAX_QUOTED_SPELLINGS]]),
        )
        sentence = phrase(
            "The label “{usual}” seems to be written {others}, too: the model learns these as"
            " different classes.",
            others=variants,
            usual=usual,
        )
        merge = phrase("Merge into “{usual}”", usual=group.usual[:40])
        change = phrase("{others} merged into “{usual}”.", others=variants, usual=usual)
        findings.append(_spelling_finding(labels, [group], sentence, merge, change))
    if others:
        sentence = phrase(
            "{n:,} more label(s) are written in several ways: the model learns each of these as a"
            " separate class.",
            n=len(others),
        )
        change = phrase("Other spellings are merged.")
        findings.append(
            _spelling_finding(labels, others, sentence, phrase("Merge all of these"), change)
        )
    return findings


def _spelling_finding(
    labels: Labels, spellings: Sequence[Spellings], sentence: str, merge: str, change: str
) -> Finding:
    usual = {other: group.usual for group in spellings for other in group.others}
    indices = [index for index, name in enumerate(labels.names) if name in usual]
    rows = np.flatnonzero(np.isin(labels.indices, indices))
    fix = Fix("merge", merge, change, spellings=usual)
    count = sum(group.rows for group in spellings)
    return Finding("label_spellings", "problem", count, sentence, rows, (fix,))


def find_outliers(data: CheckInput) -> list[Finding]:
    """Numbers of a scale much further from the median than nearly all others."""
    labels = data.labels
    if labels is None or not is_scale(labels.counts()):
        return []
    rows = np.flatnonzero(labels.indices >= 0)
    values = np.array([parse_number(name) for name in labels.names], np.float64)
    middle = np.median(values[labels.indices[rows]])
    distances = np.abs(values - middle)[labels.indices[rows]]
    usual = np.quantile(distances, USUAL_QUANTILE, method="lower")
    if usual <= ROUNDING * abs(middle):  # nearly all are equal
        usual = abs(middle)
    far = rows[distances > OUTLYING * usual] if usual else no_rows()
    if not len(far):
        return []
    shown = dict.fromkeys(labels.names[index] for index in labels.indices[far])
    sentence = phrase(
        "{n:,} outlier(s), more than {times} × as far from the median as "
        "{usual:.0%} of the rows ({shown}): the loss depends on these few.",
        n=len(far),
        times=OUTLYING,
        usual=USUAL_QUANTILE,
        shown=quote_labels(list(shown)),
    )
    change = phrase("{n:,} row(s) with an outlier dropped.", n=len(far))
    return [
        Finding("outlying_numbers", "warning", len(far), sentence, far, (drop_fix(far, change),))
    ]


def find_placeholders(data: CheckInput) -> list[Finding]:
    """Rows with a label such as -1, which often means that a row has none."""
    labels = data.labels
    if labels is None or data.mapping.label is None or data.mapping.endings:
        return []
    counts = labels.counts()
    codes = find_codes(counts)
    if is_scale(counts):
        codes = [code for code in codes if counts[code] > 1]
    if not codes:
        return []
    rows = np.flatnonzero(np.isin(labels.indices, [labels.names.index(code) for code in codes]))
    sentence = phrase(
        "{n:,} row(s) with {names} as the label, which often means that there is none: the model"
        " would learn it as a label.",
        n=len(rows),
        names=quote_labels(codes),
    )
    change = phrase(
        "{n:,} row(s) with {names} have no label now.", n=len(rows), names=join(", ", codes)
    )
    fix = Fix("unlabel", phrase("Read as no label"), change, spellings=dict.fromkeys(codes, ""))
    return [Finding("placeholder_labels", "problem", len(rows), sentence, rows, (fix,))]


def find_rare(data: CheckInput) -> list[Finding]:
    """Labels with too few training rows."""
    labels = data.classes
    if labels is None:
        return []
    counts = labels.counts(data.splits == TRAIN)
    for code in find_codes(labels.names):
        del counts[code]
    rare = [name for name, count in counts.items() if count < MIN_TRAINING_ROWS]
    if not rare:
        return []
    few = set(rare)
    indices = [index for index, name in enumerate(labels.names) if name in few]
    rows = np.flatnonzero(np.isin(labels.indices, indices))
    sentence = phrase(
        "{n:,} label(s) with fewer than {few} training rows ({names}): too few to learn from"
        " and to measure.",
        n=len(rare),
        few=MIN_TRAINING_ROWS,
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


def find_absent(data: CheckInput) -> list[Finding]:
    """Labels of the training set that no validation row has."""
    labels = data.classes
    if labels is None or not (data.splits == VALIDATION).any():
        return []
    train_counts = labels.counts(data.splits == TRAIN)
    validation_counts = labels.counts(data.splits == VALIDATION)
    for code in find_codes(labels.names):
        del train_counts[code]
    absent = [name for name, count in train_counts.items() if count and not validation_counts[name]]
    if not absent:
        return []
    sentence = phrase(
        "{n:,} label(s) without validation rows ({names}): scores do not measure them.",
        n=len(absent),
        names=quote_labels(absent),
    )
    train_labels = np.where(data.splits == TRAIN, labels.indices, -1)
    label_rows = [np.flatnonzero(train_labels == labels.names.index(name)) for name in absent]
    fix = _move_fix(data, label_rows)
    rows = np.concatenate(label_rows)
    return [Finding("absent_labels", "warning", len(absent), sentence, rows, (fix,) if fix else ())]


def _move_fix(data: CheckInput, label_rows: list[RowIndices]) -> Fix | None:
    """Move a random part of each label's training rows, in the proportion of the two sets.

    Rows that share their text with others stay, and so does at least one row of each label.
    """
    train_rows, validation_rows = ((data.splits == split).sum() for split in (TRAIN, VALIDATION))
    fraction = validation_rows / (train_rows + validation_rows)
    is_unique = np.bincount(data.split_groups)[data.split_groups] == 1
    keys = np.random.Philox(data.split.seed).random_raw(data.rows)
    chosen = [no_rows()]
    for rows in label_rows:
        count = min(max(1, round(fraction * len(rows))), len(rows) - 1)
        candidates = rows[is_unique[rows]]
        chosen.append(candidates[np.argsort(keys[candidates], kind="stable")][:count])
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
