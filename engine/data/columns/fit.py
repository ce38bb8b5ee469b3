"""Compatibility of data sets and tasks, by columns and label counts.

The window, `check`, `job` and training share these rules.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from collections.abc import Mapping as Counts
from dataclasses import dataclass
from functools import cached_property

from engine.config.dataset import DatasetSpec, Mapping, SplitName
from engine.config.levels import path_note
from engine.config.task import LabelledTask, TaskSpec, shorten, target
from engine.config.tasks import HIERARCHICAL, ORDINAL, TASKS
from engine.data.columns.label_sets import count_label_sets
from engine.data.columns.mapping import find_answer_column, flag_columns, label_columns
from engine.data.columns.names import plain_name
from engine.data.columns.numbers import comma_problem, is_scale, parse_number, unit_problem
from engine.data.columns.scales import order_labels, order_note
from engine.data.columns.spellings import match_labels
from engine.errors import MissingColumn, StudioError
from engine.phrases import Phrase, join, phrase

MAX_TRIED_COLUMNS = 10


@dataclass(frozen=True)
class CountedLabels:
    """A `LabelColumn` from the number of rows with each cell."""

    cells: Counts[str, int]

    @cached_property
    def sets(self) -> dict[str, int] | None:
        return count_label_sets(self.cells)

    @cached_property
    def is_scale(self) -> bool:
        return is_scale(self.cells)

    @cached_property
    def not_numbers(self) -> dict[str, int]:
        cells = self.cells.items()
        return {cell: rows for cell, rows in cells if cell.strip() and parse_number(cell) is None}

    @cached_property
    def numbers(self) -> frozenset[float]:
        parsed = (parse_number(cell) for cell in self.cells)
        return frozenset(number for number in parsed if number is not None)

    @cached_property
    def ordered(self) -> tuple[str, ...]:
        return order_labels([label for label in self.cells if label])

    @cached_property
    def spelling_problem(self) -> StudioError | None:
        return comma_problem(self.cells) or unit_problem(self.cells)

    def unknown_labels(self, known: tuple[str, ...]) -> list[str]:
        _, unknown = match_labels((label for label in self.sets or self.cells if label), known)
        return sorted(unknown)


def task_problems(
    columns: tuple[str, ...],
    mapping: Mapping,
    task: TaskSpec,
    labels: Counts[str, int] | None = None,
    empty: Counts[str, int] | None = None,
    rows: int = 0,
    missing_answers: int = 0,
    uneven_choices: int = 0,
    is_labelled: bool = True,
) -> list[StudioError]:
    """Problems that prevent a task from using this data.

    Args:
        labels: rows with each label, or spans of each type; None if not counted yet.
        empty: number of training and validation rows in which each column is empty.
        rows: number of training and validation rows.
        missing_answers: number of these rows whose passage does not contain the answer.
        uneven_choices: number of rows with another number of choices than the first one.
        is_labelled: some row to train on has a label.
    """
    if not is_labelled:
        return [
            StudioError(
                "No training row has a label.",
                "Label some rows on the page of the data set, or choose another label column.",
            )
        ]
    missing = [
        MissingColumn(name, list(columns)) for name in mapping.columns if name not in columns
    ]
    counted = None if labels is None else CountedLabels(labels)
    incomplete = [problem for _, problem in incomplete_columns(mapping, task, empty or {}, rows)]
    if missing_answers and "answers" in task.info.reads:
        message = phrase(
            "{missing:,} of {rows:,} rows have an answer that their passage does not contain.",
            missing=missing_answers,
            rows=rows,
        )
        advice = phrase("The checks of the data set can correct or drop these rows.")
        incomplete.append(StudioError(message, advice))
    if uneven_choices and "endings" in task.info.reads:
        message = phrase(
            "{n:,} row(s) have another number of choices than the first row.",
            n=uneven_choices,
        )
        advice = phrase("All rows need the same number: correct or remove those that differ.")
        incomplete.append(StudioError(message, advice))
    return [*missing, *incomplete, *task.problems(mapping, counted)]


def dataset_problems(spec: DatasetSpec, task: TaskSpec) -> list[StudioError]:
    """Problems that prevent a task from using a stored data set."""
    rows = spec.rows.get("train", 0) + spec.rows.get("validation", 0)
    labels = spec.labels or spec.spans or None
    train = spec.rows.get("train", 0)
    is_labelled = not train or unlabelled_rows(spec, task).get("train", 0) < train
    problems = task_problems(
        *(spec.columns, spec.mapping, task, labels, spec.empty, rows),
        *(spec.missing_answers, spec.uneven_choices, is_labelled),
    )
    problems += unseen_label_problems(spec.unseen, task)
    if not train:
        problems.append(
            StudioError("There are no training rows.", "Import it again with another split.")
        )
    return problems


def unlabelled_rows(spec: DatasetSpec, task: TaskSpec | None = None) -> dict[SplitName, int]:
    """Rows without a label in each split that has any, for a task, by default the likely one."""
    task = task or likely_task(spec.mapping, spec.labels)
    is_read = blank_columns(spec, task) == spec.mapping.label_columns
    return spec.unlabelled if is_read else {}


def blank_columns(spec: DatasetSpec, task: TaskSpec) -> tuple[str, ...]:
    """The columns that are all empty in a row without a label for a task."""
    if spec.sets_are_coded and not task.info.is_pretraining:
        return spec.mapping.label_columns
    return task.label_columns(spec.mapping)


def unlabelled_notes(spec: DatasetSpec, task: TaskSpec) -> list[str]:
    """Notes on the rows of a version without a label; none if all have one."""
    unlabelled = sum(unlabelled_rows(spec, task).values())
    return label_gaps(unlabelled, sum(spec.rows.values()), spec.mapping, task, spec.empty)


def label_gaps(
    unlabelled: int, rows: int, mapping: Mapping, task: TaskSpec, empty: Counts[str, int]
) -> list[str]:
    """Notes on rows without a label; `empty` has the number of empty cells by column."""
    notes = list[str]()
    if unlabelled:
        sentence = phrase(
            "{unlabelled:,} of {rows:,} rows ({fraction:.1%}) have no label: they are kept, and "
            "left out of training and scores until they are labelled.",
            unlabelled=unlabelled,
            rows=rows,
            fraction=unlabelled / rows,
        )
        notes.append(sentence)
    if task.info.empty_label and any(map(empty.get, open_targets(mapping, task))):
        notes.append(task.info.empty_label)
    return notes


def open_targets(mapping: Mapping, task: TaskSpec) -> tuple[str, ...]:
    """Columns of the target whose empty cells are labels themselves, such as “no answer”."""
    role = target(mapping)
    reads = (*task.info.reads, *task.info.may_read)
    if not task.info.empty_label or role not in reads or role in task.info.labelled_by:
        return ()
    return dict(mapping.by_field())[role]


def unseen_label_problems(unseen: tuple[str, ...], task: TaskSpec) -> list[StudioError]:
    """The problem of validation labels that are in no training row, if any."""
    if not unseen or not isinstance(task, LabelledTask) or task.labels:
        return []
    names = join(", ", [f"“{shorten(label)}”" for label in unseen[:5]])
    return [
        StudioError(
            "Validation rows have labels that no training row has: {names}.",
            "Add training rows with them, or use another split.",
            names=names,
        )
    ]


def empty_columns(spec: DatasetSpec, task: TaskSpec) -> tuple[str, ...]:
    """Columns with empty cells that the task needs in every row."""
    incomplete = incomplete_columns(spec.mapping, task, spec.empty, sum(spec.rows.values()))
    return tuple(name for names, _ in incomplete for name in names)


def incomplete_columns(
    mapping: Mapping, task: TaskSpec, empty: Counts[str, int], rows: int
) -> Iterator[tuple[tuple[str, ...], StudioError]]:
    """Yield the incomplete columns, and the problem, of roles that the task needs in every row."""
    for role, names in mapping.by_field():
        incomplete = tuple(name for name in names if empty.get(name))
        if incomplete and role in task.info.required_cells:
            yield (
                incomplete,
                missing_cells_problem(role, max(empty[name] for name in incomplete), rows),
            )


def missing_cells_problem(role: str, missing: int, rows: int) -> StudioError:
    """Problem for a role that is missing in some rows."""
    match role:
        case "text":
            text = phrase("{missing:,} of {rows:,} rows have no text.", missing=missing, rows=rows)
        case "pair":
            text = phrase(
                "{missing:,} of {rows:,} rows have no second text.", missing=missing, rows=rows
            )
        case "endings":
            text = phrase(
                "{missing:,} of {rows:,} rows have an empty choice.", missing=missing, rows=rows
            )
        case _:
            text = phrase("{missing:,} of {rows:,} rows have no label.", missing=missing, rows=rows)
    return StudioError(text, "Skip these rows, or complete them in the file.")


def likely_task(
    mapping: Mapping, labels: Counts[str, int] | None = None, overlaps: int = 0
) -> TaskSpec:
    """The first task that suits rows with these columns; no tagger if spans overlap others."""
    counted = CountedLabels(labels) if labels else None
    suiting = (task for task in TASKS.values() if task.suits(mapping, counted))
    heads = ((task, task.info.head) for task in suiting)
    first = next(t for t, head in heads if not (overlaps and head is not None and head.tags_tokens))
    return first(kind=first.task_name())


def label_hint(labels: Counts[str, int]) -> tuple[str, Phrase] | None:
    """A task that learns more of labels than their names, and a note that says so.

    The likely task is never one of these: the user decides.
    """
    if count_label_sets(labels) is not None:
        return None
    if (note := order_note(labels)) is not None:
        return ORDINAL, note
    note = path_note([label for label in labels if label])
    return None if note is None else (HIERARCHICAL, note)


def mapping_for(
    task: TaskSpec, mapping: Mapping, columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]
) -> Mapping:
    """Adapt the label columns of a mapping to a task, by the first rows.

    The mapping is unchanged if its column suits the task, or none does. For questions, a column
    named like answers is used even if few passages contain them; for several labels per row, all
    yes/no columns are used if the label is one of them.
    """
    if "answers" in task.info.reads and mapping.pair is not None and mapping.answers is None:
        answers = find_answer_column({plain_name(column): column for column in reversed(columns)})
        if answers is not None and answers not in mapping.texts:
            return Mapping(text=mapping.text, pair=mapping.pair, answers=answers)
    if "flags" in task.info.may_read and target(mapping) == "label":
        flags = flag_columns(columns, rows, mapping)
        if len(flags) > 1 and mapping.label in flags:
            return mapping.model_copy(update={"label": None, "flags": flags})
    return _with_label(task, mapping, columns, rows, label_columns(columns, rows, mapping))


def suitable_target(spec: DatasetSpec, task: TaskSpec) -> str | None:
    """The first of the other targets that suits a task, if any."""
    suits = (name for name in spec.targets if not dataset_problems(spec.with_target(name), task))
    return next(suits, None)


def matching_target(spec: DatasetSpec, labels: Sequence[str]) -> str | None:
    """The column of labels with most of these labels of a model, by default that of the import."""
    counts = {name: target.labels for name, target in spec.targets.items()}
    own = {} if spec.mapping.label is None else {spec.mapping.label: spec.labels}
    known = {
        name: len({*labels} & (count_label_sets(cells) or cells).keys())
        for name, cells in (own | counts).items()
    }
    best = max(known, key=known.__getitem__, default=None)
    return best if best in spec.targets and known[best] else None


def labelled_spec(spec: DatasetSpec, task: TaskSpec) -> DatasetSpec:
    """The version with only the rows that have a label for a task."""
    unlabelled = unlabelled_rows(spec, task)
    rows = {name: count - unlabelled.get(name, 0) for name, count in spec.rows.items()}
    return spec.model_copy(update={"rows": rows, "unlabelled": {}})


def _with_label(
    task: TaskSpec,
    mapping: Mapping,
    columns: tuple[str, ...],
    rows: Sequence[tuple[str, ...]],
    others: tuple[str, ...],
) -> Mapping:
    """Use the first label column that suits the task, starting with that of the mapping."""
    read = (*task.info.reads, *task.info.may_read)
    if mapping.flags and "flags" not in read:
        mapping = mapping.model_copy(update={"flags": ()})
    if "label" not in read or target(mapping) not in ("label", None):
        return mapping
    current = () if mapping.label is None else (mapping.label,)
    for label in dict.fromkeys((*current, *others[:MAX_TRIED_COLUMNS])):
        candidate = mapping.model_copy(update={"label": label})
        cells = Counter(row[columns.index(label)].strip() for row in rows)
        if not any(task.problems(candidate, CountedLabels(cells))):
            return candidate
    return mapping
