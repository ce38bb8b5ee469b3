"""What keeps an import from starting, and what is doubtful about it, in sentences."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from PySide6.QtCore import QCoreApplication

from app.pages.data.importing.roles import Roles
from app.widgets.data_texts import split_title
from engine.data.columns.fit import likely_task, problems_of
from engine.data.datasets.collecting import Collected
from engine.errors import StudioError
from engine.spec.dataset import Mapping, SplitName

translate = QCoreApplication.translate


@dataclass(frozen=True)
class Problem:
    """What is wrong, and what to do. One that `blocks` keeps the data from being imported."""

    text: str
    advice: str = ""
    blocks: bool = True

    @classmethod
    def of(cls, error: StudioError, blocks: bool = True) -> Self:
        return cls(error.problem, error.advice, blocks)


def problems_of_files(splits: Sequence[SplitName | None]) -> list[Problem]:
    """Several files must be of different splits, and one of them for training."""
    named = [split for split in splits if split is not None]
    twice = next((split for split in named if named.count(split) > 1), None)
    if len(splits) < 2:
        return []
    if twice is not None:
        return [
            Problem(
                translate("Import", "Two files are assigned to the same split: {0}.").format(
                    split_title(twice)
                ),
                translate("Import", "Choose another split for one of them, or skip it."),
            )
        ]
    if "train" not in named:
        return [
            Problem(
                translate("Import", "No file is assigned to the training set."),
                translate("Import", "Choose “Training set” for one of the files."),
            )
        ]
    return []


def problems_of_columns(roles: Roles) -> list[Problem]:
    """There must be a text, and no column may be used twice."""
    if roles.text is None:
        return [
            Problem(
                translate("Import", "No text column is chosen."),
                translate("Import", "Choose the column that contains the text."),
            )
        ]
    if roles.mapping() is None:
        return [
            Problem(
                translate("Import", "The same column is used twice."),
                translate(
                    "Import", "Choose a different column for text, second text, label and so on."
                ),
            )
        ]
    return []


def problems_of_name(name: str) -> list[Problem]:
    """A data set needs a name."""
    if name.strip():
        return []
    return [
        Problem(
            translate("Import", "The data set has no name."),
            translate("Import", "Enter a name in the panel on the right."),
        )
    ]


def problems_of_rows(
    columns: tuple[str, ...], mapping: Mapping, counted: Collected
) -> list[Problem]:
    """What would keep the likeliest task from learning from the rows; the import is possible."""
    task = likely_task(mapping, counted.labels)
    wrong = problems_of(columns, mapping, task, counted.labels)
    return [Problem.of(error, blocks=False) for error in wrong]
