"""Validation and test rows whose text is in the training set, exactly or nearly."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.config.dataset import SPLITS
from engine.data.checks.check import Finding, Fix, Severity
from engine.data.checks.check_input import CheckInput
from engine.data.checks.groups import RowIndices, sort_by_group
from engine.data.datasets.splitting import TEST, TRAIN, VALIDATION, draw_splits
from engine.phrases import phrase


class Leak(NamedTuple):
    """Leaked evaluation rows and the training rows that they copy."""

    evaluated: RowIndices
    trained: RowIndices


def find_equal(data: CheckInput) -> list[Finding]:
    groups = data.equal_groups
    leak = _leak(data, groups, data.has_text)
    if not len(leak.evaluated):
        return []
    sentence = phrase(
        "{n:,} validation or test row(s) with a text of the training set: scores on them measure"
        " memory.",
        n=len(leak.evaluated),
    )
    return [_finding("leaked_rows", "problem", sentence, data, groups, leak)]


def find_near(data: CheckInput) -> list[Finding]:
    equal = _leak(data, data.equal_groups, data.has_text).evaluated
    others = data.has_text.copy()
    others[equal] = False
    groups = data.near
    leak = _leak(data, groups, others)
    if not len(leak.evaluated):
        return []
    sentence = phrase(
        "{n:,} validation or test row(s) with nearly the text of a training row: scores on them are"
        " too high.",
        n=len(leak.evaluated),
    )
    return [_finding("nearly_leaked_rows", "warning", sentence, data, groups, leak)]


def _leak(data: CheckInput, groups: RowIndices, considered: NDArray[np.bool_]) -> Leak:
    is_train = data.splits == TRAIN
    has_train = np.zeros(data.rows, dtype=bool)  # by group
    has_train[groups[is_train & data.has_text]] = True
    evaluated = considered & ~is_train & has_train[groups]
    has_other = np.zeros(data.rows, dtype=bool)
    has_other[groups[evaluated]] = True
    trained = is_train & data.has_text & has_other[groups]
    return Leak(np.flatnonzero(evaluated), np.flatnonzero(trained))


def _finding(
    name: str, severity: Severity, sentence: str, data: CheckInput, groups: RowIndices, leak: Leak
) -> Finding:
    rows = sort_by_group(groups, np.concatenate([leak.evaluated, leak.trained]))
    fixes = (*_drop(data, leak), _move(leak), *_redraw(data, groups))
    return Finding(name, severity, len(leak.evaluated), sentence, rows, fixes)


def _drop(data: CheckInput, leak: Leak) -> list[Fix]:
    """Drop the training copies, unless no training row would be left."""
    if len(leak.trained) >= (data.splits == TRAIN).sum():
        return []
    change = phrase(
        "{n:,} training row(s) dropped whose text is also in the validation or test set.",
        n=len(leak.trained),
    )
    return [Fix("drop", phrase("Drop them from training"), change, dropped=leak.trained)]


def _move(leak: Leak) -> Fix:
    return Fix(
        "move",
        phrase("Move them to training"),
        phrase(
            "{n:,} validation or test row(s) moved to the training set, where their texts are.",
            n=len(leak.evaluated),
        ),
        moved=leak.evaluated,
        moved_to=np.full(len(leak.evaluated), TRAIN, dtype=np.int8),
    )


def _redraw(data: CheckInput, groups: RowIndices) -> list[Fix]:
    """Split again at random with these groups kept together, if the split was random."""
    if set(data.drawn) != set(SPLITS):
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
        "Split again at random with equal and nearly equal texts in one split; {n:,} row(s) are in"
        " another split now.",
        n=len(moved),
    )
    title = phrase("Split again, copies together")
    return [Fix("split", title, change, moved=moved, moved_to=splits[moved])]
