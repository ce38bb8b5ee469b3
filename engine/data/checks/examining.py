"""All checks over a version of a data set, or over rows that are to be imported."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import NamedTuple

import pyarrow.parquet as pq

from engine.config.dataset import Cleaning, Mapping, Reading, Split
from engine.data.checks import CHECKS
from engine.data.checks.check import SEVERITIES, Finding
from engine.data.checks.material import Material
from engine.data.datasets.collecting import NO_CLEANING, Sources, collect
from engine.data.datasets.importing import DATA, drawn_splits, split_rows
from engine.data.datasets.row_writer import Collected
from engine.data.datasets.store import Dataset
from engine.files.atomic_write import disk_errors_for
from engine.files.regular_file import regular
from engine.progress import CancellableProgress, ProgressCallback, no_progress

FIRST_LINES = 20  # of a finding that are told
NEAR_WORK = 1.0  # that comparing texts is, where reading them is 1
CHECK_WORK = 0.1  # that each check is


def watch_for(
    rows: int, progress: ProgressCallback, cancelled: Callable[[], bool] | None
) -> CancellableProgress:
    """`progress` gets rows, as if each was read once for everything that is done."""
    return CancellableProgress(
        int(rows * (1 + NEAR_WORK + CHECK_WORK * len(CHECKS))), progress, cancelled
    )


def examine(
    dataset: Dataset,
    progress: ProgressCallback = no_progress,
    cancelled: Callable[[], bool] | None = None,
) -> list[Finding]:
    """Everything that the checks find, the worst first.

    Raises:
        StudioError: where the rows cannot be read.
        Cancelled: soon after `cancelled()` is true.
    """
    spec = dataset.spec
    watch = watch_for(len(dataset), progress, cancelled)
    path = dataset.folder / DATA
    drawn = drawn_splits(tuple(spec.sources), spec.split)
    return findings_in(Material(path, spec.mapping, dataset.splits, spec.split, drawn, watch))


def findings_in(material: Material) -> list[Finding]:
    """The same of rows wherever they are."""
    found: list[Finding] = []
    for check in CHECKS.values():
        found += check.find(material)
        material.progress.advance(CHECK_WORK * material.rows)
    return sorted(found, key=lambda one: SEVERITIES.index(one.severity))


class Examined(NamedTuple):
    """What is in files that are to be imported."""

    collected: Collected
    findings: list[Finding]
    lines: list[tuple[int, ...]]  # of each finding, where its first rows begin in their file


def examine_files(
    sources: Sources,
    reading: Reading,
    mapping: Mapping,
    split: Split,
    scratch: Path | None = None,
    cleaning: Cleaning = NO_CLEANING,
    progress: ProgressCallback = no_progress,
    cancelled: Callable[[], bool] | None = None,
) -> Examined:
    """Read all rows of files as an import would, and check them; nothing of it is kept.

    `progress` gets bytes of the files, then rows.

    Args:
        scratch: a folder for what is written meanwhile; None: that of the system.

    Raises:
        BadFile: with the line of the first row that cannot be read.
        Cancelled: soon after `cancelled()` is true.
    """
    place = scratch or Path(gettempdir())
    with disk_errors_for(place), TemporaryDirectory(dir=place, prefix="check-") as made:
        folder = Path(made)
        collected = collect(sources, reading, mapping, split, folder, progress, cancelled, cleaning)
        splits, _ = split_rows(collected, sources, split)
        watch = watch_for(len(splits), progress, cancelled)
        drawn = drawn_splits(tuple(sources), split)
        material = Material(collected.rows, mapping, splits, split, drawn, watch)
        found = findings_in(material)
        lines = pq.read_table(regular(collected.rows), columns=["_line"]).column(0).to_numpy()
        first = [tuple(lines[one.rows[:FIRST_LINES]].tolist()) for one in found]
    return Examined(collected, found, first)
