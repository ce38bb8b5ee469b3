"""Edits of stored rows that are made on other pages than that of their data set."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject

from app import background
from app.studio import RowEdits, Studio
from engine.config.dataset import DatasetSpec
from engine.data.datasets.editing import edits_file, read_edits, set_cells
from engine.data.datasets.store import open_dataset
from engine.errors import StudioError

Cells = dict[int, dict[str, str]]  # by row index and column


def edit_rows(
    owner: QObject,
    studio: Studio,
    folder: Path,
    spec: DatasetSpec,
    cells: Cells,
    on_done: Callable[[Cells], None],
    on_failed: Callable[[BaseException], None] | None = None,
) -> None:
    """Store new cells of a version as edits; `on_done` gets the cells before, to undo it.

    The page of the data set takes them, with undo, if it is open.
    """
    change = RowEdits(folder, cells)
    studio.rows_edited.emit(change)
    file = edits_file(studio.home.edits, folder, spec)

    def work() -> Cells:
        if change.is_refused:
            raise StudioError(
                "“{name}” is being saved as a new version.",
                "Correct the label in that version.",
                name=spec.name,
            )
        if change.undone is not None:
            return change.undone
        edits = read_edits(file, spec.fingerprint)
        after, undone = set_cells(edits, open_dataset(folder), cells)
        after.write(file)
        return undone

    background.run(owner, work, on_done, on_failed or studio.notices.show)
