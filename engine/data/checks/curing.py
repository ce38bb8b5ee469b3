"""Cures applied: a new version of the data set, which says what it was made from."""

from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from engine.data.checks.check import Cure
from engine.data.checks.examining import examine
from engine.data.datasets.deriving import Edits, derive
from engine.data.datasets.store import open_dataset
from engine.progress import ProgressCallback, no_progress
from engine.spec.dataset import SPLITS, Cleaning, DatasetSpec

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

    Where two cures change the same cell, the later one does.

    Raises as `derive` does.
    """
    edits = Edits(
        dropped=frozenset(row for cure in cures for row in cure.dropped.tolist()),
        cells={row: cells for cure in cures for row, cells in cure.cells.items()},
        splits={
            row: SPLITS[split]
            for cure in cures
            for row, split in zip(cure.moved.tolist(), cure.moved_to.tolist(), strict=True)
        },
        changes=tuple(cure.change for cure in cures),
    )
    mapping = open_dataset(folder).spec.mapping
    cleaning = Cleaning(spellings={n: to for cure in cures for n, to in cure.spellings.items()})
    return derive(folder, into, version, mapping, cleaning, edits, progress, cancelled)
