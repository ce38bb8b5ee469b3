"""Read all rows of files as an import would, to count what is in them."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

from engine.config.dataset import SPLITS, Cleaning, Mapping, Reading, Split
from engine.config.task import TaskSpec
from engine.data.columns.fit import task_problems, unseen_label_problems
from engine.data.datasets.collecting import NO_CLEANING, Sources, collect
from engine.data.datasets.importing import count_empty_cells, unseen_labels
from engine.data.datasets.row_writer import Collected
from engine.errors import StudioError
from engine.files.atomic_write import disk_errors_for
from engine.progress import ProgressCallback


def survey(
    sources: Sources,
    reading: Reading,
    mapping: Mapping,
    split: Split,
    scratch: Path | None = None,
    cleaning: Cleaning = NO_CLEANING,
    progress: ProgressCallback | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Collected:
    """Read every row of every file, without storing them.

    Args:
        scratch: folder for temporary files; that of the system if None.

    Raises:
        BadFile: with the line of the first row that cannot be read.
        Cancelled: soon after `cancelled()` is true.
    """
    place = scratch or Path(gettempdir())
    with disk_errors_for(place), TemporaryDirectory(dir=place, prefix="check-") as folder:
        return collect(
            sources, reading, mapping, split, Path(folder), progress, cancelled, cleaning
        )


def survey_problems(found: Collected, mapping: Mapping, task: TaskSpec) -> list[StudioError]:
    """Problems that prevent a task from using these rows."""
    empty, rows = count_empty_cells(found)
    labels = found.flags or found.labels or found.spans or None
    missing_answers = int((found.given[found.missing_answers] != SPLITS.index("test")).sum())
    wrong = task_problems(found.columns, mapping, task, labels, empty, rows, missing_answers)
    return wrong + unseen_label_problems(unseen_labels(found, found.given), task)
