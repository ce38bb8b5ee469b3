"""Rows of the validation or test set whose text stands in the training set, equal or nearly so."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.config.dataset import SPLITS
from engine.data.checks.check import Cure, Finding
from engine.data.checks.groups import RowIndices, together
from engine.data.checks.material import Material
from engine.data.datasets.splitting import TEST, TRAIN, VALIDATION, draw_splits
from engine.phrases import phrase


class Leak(NamedTuple):
    """Rows to evaluate by, and the training rows that they are copies of."""

    evaluated: RowIndices
    trained: RowIndices


def find_equal(material: Material) -> list[Finding]:
    groups = material.equal_groups
    leak = _leak(material, groups, material.has_text)
    if not len(leak.evaluated):
        return []
    sentence = phrase(
        "{n:,} validation or test row(s) with a text of the training set: scores on them measure"
        " memory.",
        n=len(leak.evaluated),
    )
    return [_finding("leaked_rows", "problem", sentence, material, groups, leak)]


def find_near(material: Material) -> list[Finding]:
    equal = _leak(material, material.equal_groups, material.has_text).evaluated
    others = material.has_text.copy()
    others[equal] = False
    groups = material.near
    leak = _leak(material, groups, others)
    if not len(leak.evaluated):
        return []
    sentence = phrase(
        "{n:,} validation or test row(s) with nearly the text of a training row: scores on them are"
        " too high.",
        n=len(leak.evaluated),
    )
    return [_finding("nearly_leaked_rows", "warning", sentence, material, groups, leak)]


def _leak(material: Material, groups: RowIndices, considered: NDArray[np.bool_]) -> Leak:
    is_train = material.splits == TRAIN
    has_train = np.zeros(material.rows, dtype=bool)  # by group
    has_train[groups[is_train & material.has_text]] = True
    evaluated = considered & ~is_train & has_train[groups]
    has_other = np.zeros(material.rows, dtype=bool)
    has_other[groups[evaluated]] = True
    trained = is_train & material.has_text & has_other[groups]
    return Leak(np.flatnonzero(evaluated), np.flatnonzero(trained))


def _finding(
    name: str, severity: str, sentence: str, material: Material, groups: RowIndices, leak: Leak
) -> Finding:
    rows = together(groups, np.concatenate([leak.evaluated, leak.trained]))
    cures = [_drop(material, leak), _move(leak), *_redraw(material, groups)]
    return Finding(
        name,
        "problem" if severity == "problem" else "warning",
        len(leak.evaluated),
        sentence,
        rows,
        tuple(cure for cure in cures if cure is not None),
    )


def _drop(material: Material, leak: Leak) -> Cure | None:
    """Without the copies in training; not where nothing would be left there."""
    if len(leak.trained) >= (material.splits == TRAIN).sum():
        return None
    return Cure(
        "drop",
        phrase("Drop them from training"),
        phrase(
            "{n:,} training row(s) dropped whose text is also in the validation or test set.",
            n=len(leak.trained),
        ),
        dropped=leak.trained,
    )


def _move(leak: Leak) -> Cure:
    return Cure(
        "move",
        phrase("Move them to training"),
        phrase(
            "{n:,} validation or test row(s) moved to the training set, where their texts are.",
            n=len(leak.evaluated),
        ),
        moved=leak.evaluated,
        moved_to=np.full(len(leak.evaluated), TRAIN, dtype=np.int8),
    )


def _redraw(material: Material, groups: RowIndices) -> list[Cure]:
    """A new random split that keeps these groups together, where the split was drawn at random."""
    if set(material.drawn) != set(SPLITS):
        return []
    validation, test = (float((material.splits == split).mean()) for split in (VALIDATION, TEST))
    labels = None if material.classes is None else material.classes.numbers + 1
    _, numbers = np.unique(groups, return_inverse=True)
    strata = None if labels is None else np.unique(labels, return_inverse=True)[1].astype(np.int32)
    splits, _ = draw_splits(
        material.rows, validation, test, material.split.seed, strata, numbers.astype(np.int32)
    )
    moved = np.flatnonzero(splits != material.splits)
    if not len(moved) or not (splits == VALIDATION).any():
        return []
    return [
        Cure(
            "split",
            phrase("Split again, copies together"),
            phrase(
                "Split again at random with equal and nearly equal texts in one split; {n:,} row(s)"
                " are in another split now.",
                n=len(moved),
            ),
            moved=moved,
            moved_to=splits[moved],
        )
    ]
