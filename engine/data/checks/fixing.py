"""Apply fixes: write a new version of the data set that records what was changed."""

import re
from collections.abc import Callable, Collection, Sequence
from difflib import SequenceMatcher
from pathlib import Path

import numpy as np

from engine.config.dataset import SPLITS, Cleaning, DatasetSpec
from engine.data.checks.check import Fix
from engine.data.checks.run import run_checks
from engine.data.columns.plain_texts import text_columns
from engine.data.datasets.deriving import Edits, derive
from engine.data.datasets.store import Dataset, open_dataset
from engine.progress import ProgressCallback, no_progress

WORDS = re.compile(r"\s*\S+|\s+$")  # with the white space before each

FixName = tuple[str, str]
"""A key of CHECKS and the name of one of its fixes."""


def apply_fixes_by_name(
    names: Collection[FixName],
    folder: Path,
    target: Path,
    version: int,
    progress: ProgressCallback = no_progress,
    cancelled: Callable[[], bool] | None = None,
    label: str | None = None,
) -> DatasetSpec | None:
    """Check the version in `folder` and write a new one to `target` with the named fixes applied.

    Returns None, without writing, if no finding has these fixes. Raises as `derive` does.
    """
    findings = run_checks(open_dataset(folder).with_target(label), progress, cancelled)
    fixes = [
        fix for finding in findings for fix in finding.fixes if (finding.check, fix.name) in names
    ]
    if not fixes:
        return None
    return apply_fixes(fixes, folder, target, version, progress, cancelled, label)


def apply_fixes(
    fixes: Sequence[Fix],
    folder: Path,
    target: Path,
    version: int,
    progress: ProgressCallback = no_progress,
    cancelled: Callable[[], bool] | None = None,
    label: str | None = None,
) -> DatasetSpec:
    """Write the version in `folder` to `target` with the fixes applied.

    `label` is the column of labels that was checked; None: that of the import. If two fixes change
    the same label or the same words of a text, the later one wins.

    Raises as `derive` does.
    """
    dataset = open_dataset(folder).with_target(label)
    spellings = {old: new for fix in fixes for old, new in fix.spellings.items()}
    cells = _merge_cells(fixes, dataset)
    if label is not None and spellings:
        for row, cell in enumerate(dataset.column(label).to_pylist()):
            if (name := (cell or "").strip()) in spellings:
                cells.setdefault(row, {})[label] = spellings[name]
        spellings = {}  # an import respells only its own label column
    edits = Edits(
        dropped=frozenset(row for fix in fixes for row in fix.dropped.tolist()),
        cells=cells,
        splits={
            row: SPLITS[split]
            for fix in fixes
            for row, split in zip(fix.moved.tolist(), fix.moved_to.tolist(), strict=True)
        },
    )
    cleaning = Cleaning(spellings=spellings)
    return derive(folder, target, version, cleaning, edits, progress, cancelled)


def _merge_cells(fixes: Sequence[Fix], dataset: Dataset) -> dict[int, dict[str, str]]:
    """Merge the changed cells of all fixes, by row and column."""
    merged: dict[int, dict[str, str]] = {}
    texts = text_columns(dataset.spec.mapping)
    for fix in fixes:
        for row, cells in fix.cells.items():
            changed = merged.setdefault(row, {})
            for name, cell in cells.items():
                if name in texts and changed.get(name, cell) != cell:
                    (before,) = dataset.take(np.array([row]), (name,))
                    cell = merge_texts(before[name], changed[name], cell)
                changed[name] = cell
    return merged


def merge_texts(text: str, first: str, second: str) -> str:
    """Merge two independent edits of a text; the second wins if both change the same words."""
    words = WORDS.findall(text)
    changes: dict[tuple[int, int], list[str]] = {}
    for other in (first, second):
        other_words = WORDS.findall(other)
        for tag, start, end, other_start, other_end in SequenceMatcher(
            None, words, other_words, autojunk=False
        ).get_opcodes():
            if tag != "equal":
                for overlapping in [span for span in changes if span[0] < end and start < span[1]]:
                    del changes[overlapping]
                changes[start, end] = other_words[other_start:other_end]
    for (start, end), other_words in sorted(changes.items(), reverse=True):
        words[start:end] = other_words
    return "".join(words).strip()
