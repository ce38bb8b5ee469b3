"""A cure applied: a new version of the data set, which says what it was made from."""

from collections.abc import Callable
from pathlib import Path

from engine.data.checks.check import Cure
from engine.data.datasets.deriving import Edits, derive
from engine.data.datasets.store import open_dataset
from engine.progress import ProgressCallback, no_progress
from engine.spec.dataset import SPLITS, Cleaning, DatasetSpec


def apply_cure(
    cure: Cure,
    folder: Path,
    into: Path,
    version: int,
    progress: ProgressCallback = no_progress,
    cancelled: Callable[[], bool] | None = None,
) -> DatasetSpec:
    """Write the version in `folder` anew as `into`, with the rows changed as the cure says.

    Raises as `derive` does.
    """
    edits = Edits(
        dropped=frozenset(cure.dropped.tolist()),
        cells=cure.cells,
        splits={
            row: SPLITS[split]
            for row, split in zip(cure.moved.tolist(), cure.moved_to.tolist(), strict=True)
        },
        changes=(cure.change,),
    )
    mapping = open_dataset(folder).spec.mapping
    cleaning = Cleaning(spellings=dict(cure.spellings))
    return derive(folder, into, version, mapping, cleaning, edits, progress, cancelled)
