"""Cures applied: a new version of the data set, which says what it was made from."""

import re
from collections.abc import Callable, Collection, Sequence
from difflib import SequenceMatcher
from pathlib import Path

import numpy as np

from engine.config.dataset import SPLITS, Cleaning, DatasetSpec
from engine.data.checks.check import Cure
from engine.data.checks.examining import examine
from engine.data.columns.plain_texts import texts_of
from engine.data.datasets.deriving import Edits, derive
from engine.data.datasets.store import Dataset, open_dataset
from engine.progress import ProgressCallback, no_progress

PARTS = re.compile(r"\s*\S+|\s+$")  # of a text: a word with the white space before it

Named = tuple[str, str]
"""A check and one of its cures: a key of CHECKS, and what `Cure.by` is."""


def apply_named(
    names: Collection[Named],
    folder: Path,
    into: Path,
    version: int,
    progress: ProgressCallback = no_progress,
    cancelled: Callable[[], bool] | None = None,
) -> DatasetSpec | None:
    """Check the version in `folder` and write it anew as `into` with these cures.

    None, and no version, where nothing is found that they cure. Raises as `derive` does.
    """
    findings = examine(open_dataset(folder), progress, cancelled)
    cures = [cure for one in findings for cure in one.cures if (one.check, cure.by) in names]
    if not cures:
        return None
    return apply_cures(cures, folder, into, version, progress, cancelled)


def apply_cures(
    cures: Sequence[Cure],
    folder: Path,
    into: Path,
    version: int,
    progress: ProgressCallback = no_progress,
    cancelled: Callable[[], bool] | None = None,
) -> DatasetSpec:
    """Write the version in `folder` anew as `into`, with the rows changed as the cures say.

    Where two cures change the same label, or the same words of a text, the later one does.

    Raises as `derive` does.
    """
    dataset = open_dataset(folder)
    edits = Edits(
        dropped=frozenset(row for cure in cures for row in cure.dropped.tolist()),
        cells=_cells(cures, dataset),
        splits={
            row: SPLITS[split]
            for cure in cures
            for row, split in zip(cure.moved.tolist(), cure.moved_to.tolist(), strict=True)
        },
        changes=tuple(cure.change for cure in cures),
    )
    cleaning = Cleaning(spellings={n: to for cure in cures for n, to in cure.spellings.items()})
    mapping = dataset.spec.mapping
    return derive(folder, into, version, mapping, cleaning, edits, progress, cancelled)


def _cells(cures: Sequence[Cure], dataset: Dataset) -> dict[int, dict[str, str]]:
    """By row and column, what all cures together make of the cells."""
    found: dict[int, dict[str, str]] = {}
    texts = texts_of(dataset.spec.mapping)
    for cure in cures:
        for row, cells in cure.cells.items():
            changed = found.setdefault(row, {})
            for name, cell in cells.items():
                if name in texts and changed.get(name, cell) != cell:
                    (before,) = dataset.take(np.array([row]), (name,))
                    cell = merged(before[name], changed[name], cell)
                changed[name] = cell
    return found


def merged(text: str, first: str, second: str) -> str:
    """A text with two changes that were made apart; of the same words the second one counts."""
    words = PARTS.findall(text)
    changes: dict[tuple[int, int], list[str]] = {}
    for other in (first, second):
        others = PARTS.findall(other)
        for tag, start, end, begin, stop in SequenceMatcher(
            None, words, others, autojunk=False
        ).get_opcodes():
            if tag != "equal":
                taken = [one for one in changes if one[0] < end and start < one[1]]
                for one in taken:
                    del changes[one]
                changes[start, end] = others[begin:stop]
    for (start, end), others in sorted(changes.items(), reverse=True):
        words[start:end] = others
    return "".join(words).strip()
