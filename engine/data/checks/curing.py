"""Cures applied: a new version of the data set, which says what it was made from."""

from collections.abc import Callable, Sequence
from pathlib import Path

from engine.data.checks.check import Cure
from engine.data.datasets.deriving import Edits, derive
from engine.data.datasets.store import open_dataset
from engine.progress import ProgressCallback, no_progress
from engine.spec.dataset import SPLITS, Cleaning, DatasetSpec


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
