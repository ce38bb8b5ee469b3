"""Rows that equal, or nearly equal, others: in another split, or earlier in the same one."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.config.dataset import SPLITS
from engine.data.checks.check import Finding, Fix, Severity
from engine.data.checks.check_input import CheckInput
from engine.data.checks.groups import RowIndices, combine, later_rows, repeated_rows, sort_by_group
from engine.data.datasets.splitting import TEST, TRAIN, VALIDATION, draw_splits
from engine.phrases import phrase


class Leak(NamedTuple):
    """Leaked evaluation rows and the training rows that they copy."""

    evaluation_rows: RowIndices
    training_rows: RowIndices


def find_leaked(data: CheckInput) -> list[Finding]:
    """Validation and test rows whose text is in the training set."""
    leak = _find_leak(data, data.split_groups, data.has_text)
    sentence = phrase(
        "{n:,} validation or test row(s) with a text of the training set "
        "(leakage): scores on them are too high.",
        n=len(leak.evaluation_rows),
    )
    return _leak_findings("leaked_rows", "problem", sentence, data, data.split_groups, leak)


def find_nearly_leaked(data: CheckInput) -> list[Finding]:
    """Near-duplicates across splits (leakage), without the rows of `find_leaked`."""
    candidates = data.has_text.copy()
    candidates[_find_leak(data, data.split_groups, data.has_text).evaluation_rows] = False
    leak = _find_leak(data, data.near_groups, candidates)
    sentence = phrase(
        "{n:,} near-duplicate(s) of training rows among the validation or test rows: scores on "
        "them are too high.",
        n=len(leak.evaluation_rows),
    )
    return _leak_findings("nearly_leaked_rows", "warning", sentence, data, data.near_groups, leak)


def _find_leak(data: CheckInput, groups: RowIndices, candidates: NDArray[np.bool_]) -> Leak:
    is_train = data.splits == TRAIN
    has_train = np.zeros(data.rows, dtype=bool)  # by group
    has_train[groups[is_train & data.has_text]] = True
    evaluation_rows = candidates & ~is_train & has_train[groups]
    has_other = np.zeros(data.rows, dtype=bool)
    has_other[groups[evaluation_rows]] = True
    training_rows = is_train & data.has_text & has_other[groups]
    return Leak(np.flatnonzero(evaluation_rows), np.flatnonzero(training_rows))


def _leak_findings(
    name: str, severity: Severity, sentence: str, data: CheckInput, groups: RowIndices, leak: Leak
) -> list[Finding]:
    if not len(leak.evaluation_rows):
        return []
    rows = sort_by_group(groups, np.concatenate([leak.evaluation_rows, leak.training_rows]))
    fixes = (*_drop_fix(data, leak), _move_fix(leak), *_redraw_fix(data, groups))
    return [Finding(name, severity, len(leak.evaluation_rows), sentence, rows, fixes)]


def _drop_fix(data: CheckInput, leak: Leak) -> list[Fix]:
    """Drop the training copies, unless no training row would be left."""
    if len(leak.training_rows) >= (data.splits == TRAIN).sum():
        return []
    change = phrase(
        "{n:,} training row(s) dropped whose text is also in the validation or test set.",
        n=len(leak.training_rows),
    )
    return [Fix("drop", phrase("Drop from training"), change, dropped=leak.training_rows)]


def _move_fix(leak: Leak) -> Fix:
    return Fix(
        "move",
        phrase("Move to training"),
        phrase(
            "{n:,} validation or test row(s) moved to the training set, where their texts are.",
            n=len(leak.evaluation_rows),
        ),
        moved=leak.evaluation_rows,
        moved_to=np.full(len(leak.evaluation_rows), TRAIN, dtype=np.int8),
    )


def _redraw_fix(data: CheckInput, groups: RowIndices) -> list[Fix]:
    """Split again at random with these groups kept together, if the split was random."""
    if set(data.random_splits) != set(SPLITS):
        return []
    validation, test = (float((data.splits == split).mean()) for split in (VALIDATION, TEST))
    group, strata = (
        None if keys is None else np.unique(keys, return_inverse=True)[1].astype(np.int32)
        for keys in (groups, None if data.classes is None else data.classes.indices)
    )
    splits, _ = draw_splits(data.rows, validation, test, data.split.seed, strata, group)
    moved = np.flatnonzero(splits != data.splits)
    if not len(moved) or not (splits == VALIDATION).any():
        return []
    change = phrase(
        "Split again at random, with duplicates and near-duplicates in one split; "
        "{n:,} row(s) moved.",
        n=len(moved),
    )
    title = phrase("Split again, duplicates together")
    return [Fix("split", title, change, moved=moved, moved_to=splits[moved])]


def find_exact(data: CheckInput) -> list[Finding]:
    """Rows with the texts and the label of an earlier row."""
    groups = data.text_groups
    keys: list[NDArray[Any]] = [groups, data.splits]
    if data.labels is not None:
        keys.append(data.labels.indices)
    same = combine(*keys)
    rows = repeated_rows(same, np.flatnonzero(data.has_text))
    if not len(rows):
        return []
    copies = later_rows(same, rows)
    count = len(copies)
    sentence = phrase(
        "{n:,} row(s) with the texts and label of an earlier row: over-weighted in"
        " training, counted twice in scores.",
        n=count,
    )
    change = phrase("{n:,} exact duplicate(s) dropped; the first of each is kept.", n=count)
    fix = Fix("drop", phrase("Drop the duplicates"), change, dropped=copies)
    rows = sort_by_group(groups, rows)
    return [Finding("exact_duplicates", "warning", count, sentence, rows, (fix,))]


def find_near(data: CheckInput) -> list[Finding]:
    """Texts nearly equal to an earlier one, without the rows of `find_exact`."""
    rows = np.flatnonzero(data.has_text)
    groups = combine(data.near_groups, data.splits)
    texts = combine(data.split_groups, data.splits)
    _, first = np.unique(texts[rows], return_index=True)
    copies = later_rows(groups, np.sort(rows[first]))
    count = len(copies)
    if not count:
        return []
    rows = rows[np.isin(groups[rows], groups[copies])]
    dropped = rows[np.isin(texts[rows], texts[copies])]
    sentence = phrase(
        "{n:,} near-duplicate(s): most 5-grams of words in common with an earlier "
        "text of the split.",
        n=count,
    )
    change = phrase("{n:,} near-duplicate(s) dropped.", n=len(dropped))
    fix = Fix("drop", phrase("Drop all but the first"), change, dropped=dropped)
    rows = sort_by_group(data.near_groups, rows)
    return [Finding("near_duplicates", "note", count, sentence, rows, (fix,))]
