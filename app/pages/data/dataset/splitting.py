"""Dialog that splits a version again."""

from collections.abc import Callable, Sequence

import numpy as np
from PySide6.QtWidgets import QWidget

from app.pages.data.split_fields import SplitFields
from app.translation import tr
from app.widgets.dialogs import Choice, confirm
from engine.config.dataset import SPLITS, Split
from engine.data.datasets.store import Dataset

FIRST_ROWS = 200  # from which the contents of a column are guessed


def ask_for_split(
    owner: QWidget, dataset: Dataset, number: int, split: Callable[[Split], object]
) -> None:
    """Ask for a split of all rows, and pass it to `split`; `number` is that of the new version.

    The fractions of the version are proposed.
    """
    spec, fields = dataset.spec, SplitFields(_cell_reader(dataset))
    chosen = [Split(**spec.split.model_dump(include={"validation", "test", "stratify"}))]

    def show(new: Split) -> None:
        chosen[:] = [new]
        fields.show_fields(new, spec.columns, SPLITS[1:], True, spec.mapping.label is not None)

    show(chosen[0])
    fields.chosen.connect(show)
    template = tr("All rows are split again. Version {0} will be created; this one stays.")
    create = Choice("split", tr("Create new version"), "primary")
    title, text = tr("Split again"), template.format(number)
    confirm(owner, title, text, create, lambda: split(chosen[0]), [fields])


def _cell_reader(dataset: Dataset) -> Callable[[str], Sequence[str]]:
    """A function that returns the first cells of a column."""
    rows = np.arange(min(FIRST_ROWS, len(dataset)))
    return lambda column: [row[column] or "" for row in dataset.take(rows, [column])]
