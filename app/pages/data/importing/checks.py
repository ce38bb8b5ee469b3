"""Problems and doubts about an import, in sentences."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from pydantic import ValidationError

from app.pages.data.importing.roles import Roles
from app.translation import tr
from engine.config.dataset import Cleaning, Mapping, SplitName
from engine.config.validation import describe_validation
from engine.data.columns.fit import incomplete_columns, label_hint, likely_task, open_targets
from engine.data.columns.joined import joined_columns
from engine.data.columns.label_sets import count_label_sets
from engine.data.columns.spellings import Spellings
from engine.data.datasets.collecting import NO_CLEANING
from engine.data.datasets.importing import (
    count_empty_cells,
    label_spellings,
    spelling_note,
    survey_notes,
    survey_problems,
)
from engine.data.datasets.row_writer import SourceRows
from engine.errors import MissingColumn, StudioError


@dataclass(frozen=True)
class Problem:
    """A problem with advice; if `is_blocking`, it prevents the import.

    `cleaning_title` labels a button that applies `cleaning`.
    """

    text: str
    advice: str = ""
    is_blocking: bool = True
    cleaning_title: str = ""
    cleaning: Cleaning = NO_CLEANING
    is_done: bool = False  # not a problem, but what is made of the rows

    @classmethod
    def from_error(cls, error: StudioError, is_blocking: bool = True) -> Self:
        return cls(error.problem, error.advice, is_blocking)


def file_problems(splits: Sequence[SplitName | None]) -> list[Problem]:
    """Require a training file if there are several files."""
    if len(splits) < 2 or "train" in splits:
        return []
    return [
        Problem(
            tr("No file is assigned to the training set."),
            tr("Choose “Training set” for one of the files."),
        )
    ]


def column_problems(roles: Roles, columns: Sequence[str]) -> list[Problem]:
    """Require a text column, a template of known columns, and no column with two roles."""
    if roles.text is None:
        return [
            Problem(
                tr("No text column is chosen."), tr("Choose the column that contains the text.")
            )
        ]
    try:
        mapping = roles.validated()
        joined_columns(mapping, columns)
        if roles.text not in (*columns, *mapping.templates) and len(mapping.texts) == 1:
            raise MissingColumn(roles.text, [*columns])
        known = (None, *columns, *mapping.templates, mapping.agreed_column(columns))
        if roles.label not in known:
            raise MissingColumn(str(roles.label), [*columns])
    except ValidationError as error:
        if roles.text not in columns or roles.label not in (None, *columns):
            return [Problem.from_error(describe_validation(error, tr("The template")))]
        return [
            Problem(
                tr("The same column is used twice."),
                tr("Choose a different column for text, second text, label and so on."),
            )
        ]
    except MissingColumn as error:
        return [Problem.from_error(error)]
    return []


def name_problems(name: str) -> list[Problem]:
    """Require a name."""
    if name.strip():
        return []
    return [Problem(tr("The data set has no name."), tr("Enter a name in the panel on the right."))]


def row_problems(mapping: Mapping, counted: SourceRows, cleaning: Cleaning) -> list[Problem]:
    """Properties of the rows that would prevent training; the import is possible."""
    task = likely_task(mapping, counted.labels)
    without_answers = counted._replace(
        missing_answers=counted.missing_answers[:0]
    )  # the checks report answers, with buttons
    errors = survey_problems(without_answers, mapping, task)
    problems = [Problem.from_error(error, is_blocking=False) for error in errors]
    for index, (columns, _) in enumerate(
        incomplete_columns(mapping, task, *count_empty_cells(counted))
    ):
        skip = cleaning.model_copy(update={"skip_empty": (*cleaning.skip_empty, *columns)})
        title = tr("Skip rows with empty cells")
        problems[index] = replace(problems[index], cleaning_title=title, cleaning=skip)
    problems += [
        Problem(
            note,
            is_blocking=False,
            cleaning_title=tr("Skip rows without a label"),
            cleaning=cleaning.model_copy(update={"skip_empty": (*cleaning.skip_empty, *columns)}),
            is_done=True,
        )
        for note in survey_notes(counted, mapping, task)
        if (columns := mapping.label_columns or open_targets(mapping, task))
    ]
    if mapping.label is not None and (hint := label_hint(counted.labels)) is not None:
        problems.append(Problem(hint[1], is_blocking=False, is_done=True))
    return problems + _spelling_problems(mapping, counted, cleaning)


def _spelling_problems(mapping: Mapping, counted: SourceRows, cleaning: Cleaning) -> list[Problem]:
    """Labels with several spellings; a button merges them if each row has one label."""
    if mapping.endings:
        return []
    is_single = mapping.label is not None and count_label_sets(counted.labels) is None
    return [
        _spelling_problem(spellings, cleaning if is_single else None)
        for spellings in label_spellings(counted.labels or counted.spans)
    ]


def _spelling_problem(spelling: Spellings, cleaning: Cleaning | None) -> Problem:
    problem = Problem(spelling_note(spelling), is_blocking=False)
    if cleaning is None:
        return problem
    spellings = cleaning.spellings | dict.fromkeys(spelling.others, spelling.usual)
    return replace(
        problem,
        cleaning_title=tr("Merge as “{0}”").format(spelling.usual[:40]),
        cleaning=cleaning.model_copy(update={"spellings": spellings}),
    )


def cleaning_effects(cleaning: Cleaning) -> list[Problem]:
    """The effects of cleaning, each with undo."""
    undo, problems = tr("Undo"), []
    if cleaning.skip_empty:
        names = ", ".join(f"“{name[:60]}”" for name in cleaning.skip_empty)
        single = tr("Rows in which {0} is empty are skipped.")
        several = tr("Rows in which one of {0} is empty are skipped.")
        template = single if len(cleaning.skip_empty) == 1 else several
        undone = cleaning.model_copy(update={"skip_empty": ()})
        problems.append(Problem(template.format(names), "", False, undo, undone, is_done=True))
    if cleaning.spellings:
        template = tr("Other spellings are read as {0}.")
        names = ", ".join(f"“{name[:60]}”" for name in dict.fromkeys(cleaning.spellings.values()))
        undone = cleaning.model_copy(update={"spellings": {}})
        problems.append(Problem(template.format(names), "", False, undo, undone, is_done=True))
    return problems
