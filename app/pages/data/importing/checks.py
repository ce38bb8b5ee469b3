"""What keeps an import from starting, and what is doubtful about it, in sentences."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from PySide6.QtCore import QCoreApplication

from app.pages.data.importing.roles import Roles
from engine.config.dataset import Cleaning, Mapping, SplitName
from engine.data.checks.check import Fix
from engine.data.checks.fixing import FixName
from engine.data.columns.fit import incomplete_columns, likely_task
from engine.data.columns.label_sets import count_label_sets
from engine.data.columns.spellings import Spellings
from engine.data.datasets.collecting import NO_CLEANING
from engine.data.datasets.importing import count_empty_cells, label_spellings, spelling_note
from engine.data.datasets.row_writer import Collected
from engine.data.datasets.surveying import survey_problems
from engine.errors import StudioError

translate = QCoreApplication.translate


@dataclass(frozen=True)
class Problem:
    """What is wrong, and what to do. One that `blocks` keeps the data from being imported.

    `cleaning_title` is the title of a button that cleans the rows as `cleaning` says, or leaves the
    `chosen` fix out again. Each of the `fixes` of a `check` has a button of its own.
    """

    text: str
    advice: str = ""
    blocks: bool = True
    cleaning_title: str = ""
    cleaning: Cleaning = NO_CLEANING
    check: str = ""
    fixes: tuple[Fix, ...] = ()
    chosen: FixName | None = None
    is_done: bool = False  # nothing is wrong: it says what was done about it

    @classmethod
    def of(cls, error: StudioError, blocks: bool = True) -> Self:
        return cls(error.problem, error.advice, blocks)


def problems_of_files(splits: Sequence[SplitName | None]) -> list[Problem]:
    """Of several files, one must be for training."""
    if len(splits) < 2 or "train" in splits:
        return []
    return [
        Problem(
            translate("Import", "No file is assigned to the training set."),
            translate("Import", "Choose “Training set” for one of the files."),
        )
    ]


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


def problems_of_rows(mapping: Mapping, counted: Collected, cleaning: Cleaning) -> list[Problem]:
    """What would keep the likeliest task from learning from the rows; the import is possible."""
    task = likely_task(mapping, counted.labels)
    told = counted._replace(
        missing_answers=counted.missing_answers[:0]
    )  # the checks tell of answers, with buttons
    wrong = survey_problems(told, mapping, task)
    found = [Problem.of(error, blocks=False) for error in wrong]
    for place, (columns, _) in enumerate(
        incomplete_columns(mapping, task, *count_empty_cells(counted))
    ):
        skip = cleaning.model_copy(update={"skip_empty": (*cleaning.skip_empty, *columns)})
        title = translate("Import", "Skip these rows")
        found[place] = replace(found[place], cleaning_title=title, cleaning=skip)
    return found + _spellings(mapping, counted, cleaning)


def _spellings(mapping: Mapping, found: Collected, cleaning: Cleaning) -> list[Problem]:
    """Labels that are written in several ways; where each row has one, with the button that makes
    them one."""
    if mapping.endings:
        return []
    is_single = mapping.label is not None and count_label_sets(found.labels) is None
    return [
        _spelling(one, cleaning if is_single else None)
        for one in label_spellings(found.labels or found.spans)
    ]


def _spelling(found: Spellings, cleaning: Cleaning | None) -> Problem:
    problem = Problem(spelling_note(found), blocks=False)
    if cleaning is None:
        return problem
    spellings = cleaning.spellings | dict.fromkeys(found.others, found.usual)
    return replace(
        problem,
        cleaning_title=translate("Import", "Read all as “{0}”").format(found.usual[:40]),
        cleaning=cleaning.model_copy(update={"spellings": spellings}),
    )


def cleaned(cleaning: Cleaning) -> list[Problem]:
    """What is done about the rows, with Undo."""
    undo, found = translate("Import", "Undo"), []
    if cleaning.skip_empty:
        names = ", ".join(f"“{name[:60]}”" for name in cleaning.skip_empty)
        one = translate("Import", "Rows in which {0} is empty are skipped.")
        several = translate("Import", "Rows in which one of {0} is empty are skipped.")
        template = one if len(cleaning.skip_empty) == 1 else several
        without = cleaning.model_copy(update={"skip_empty": ()})
        found.append(Problem(template.format(names), "", False, undo, without, is_done=True))
    if cleaning.spellings:
        template = translate("Import", "Other spellings are read as {0}.")
        names = ", ".join(f"“{name[:60]}”" for name in dict.fromkeys(cleaning.spellings.values()))
        without = cleaning.model_copy(update={"spellings": {}})
        found.append(Problem(template.format(names), "", False, undo, without, is_done=True))
    return found
