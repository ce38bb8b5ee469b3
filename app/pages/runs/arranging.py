"""Which runs the table shows and in which order: those that fit search and filter, sorted, grouped.

Plain functions over rows: ten thousand of them take some milliseconds.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from statistics import fmean

from app.pages.runs.columns import Column, column_of
from app.pages.runs.job_fields import Value, job_titles
from app.pages.runs.rows import RunRow, queue_key
from app.translation import tr
from app.widgets.forms.controls import written
from app.widgets.text import run_texts
from engine.runs.groups import Aggregate, aggregate

Test = Callable[[RunRow], bool]


class Shown(IntEnum):
    """Which runs are shown."""

    ALL = 0
    ACTIVE = 1
    FINISHED = 2
    STOPPED_OR_FAILED = 3
    STARRED = 4
    ARCHIVED = 5


@dataclass(frozen=True)
class GroupRow:
    """Runs that say the same in the columns by which they are grouped, in the order of the table.

    `values` has what they say, in the order of these columns.
    """

    keys: tuple[str, ...]
    values: tuple[Value, ...]
    rows: tuple[RunRow, ...]

    def title(self) -> str:
        """“Token classification (NER) · Learning rate 3e-5”."""
        said = []
        for key, value in zip(self.keys, self.values, strict=True):
            facts = column_of(key)
            name = facts.title() if facts is not None else key
            shown = facts.text(self.rows[0], ()) if facts is not None else str(value)
            is_text = isinstance(value, str) and key not in job_titles()
            here = shown if is_text else f"{name} {shown}"
            said.append(here if value is not None else tr("{0}: none").format(name))
        return " · ".join(said)


Item = RunRow | GroupRow


def is_shown(row: RunRow, shown: Shown) -> bool:
    """Whether the row belongs to these. What is archived is shown among the archived alone."""
    if row.archived or shown is Shown.ARCHIVED:
        return row.archived and shown is Shown.ARCHIVED
    match shown:
        case Shown.ACTIVE:
            return row.is_active
        case Shown.FINISHED:
            return row.state == "finished"
        case Shown.STOPPED_OR_FAILED:
            return row.can_resume or row.state == "unreadable"
        case Shown.STARRED:
            return row.star
        case _:
            return True


def has_words(words: Sequence[str]) -> Test:
    """Whether every one of these occurs in what is said of a run; `words` are casefolded."""
    return lambda row: all(word in haystack(row) for word in words)


def haystack(row: RunRow) -> str:
    """What a search reads of a run, casefolded; made once for each row."""
    kept: str | None = row.__dict__.get("_haystack")
    if kept is None:
        known = _task_and_state(row.task, row.state)
        said = (row.name, row.notes, row.data, row.base_model, known, *row.tags)
        kept = " ".join(said).casefold()
        row.__dict__["_haystack"] = kept
    return kept


@lru_cache(1024)
def _task_and_state(task: str, state: str) -> str:
    """Both with their titles: ten thousand runs have a few of them."""
    return f"{task} {run_texts.task_title(task)} {state} {run_texts.state_text(state)}"


def arranged(rows: Sequence[RunRow], key: str, descending: bool) -> list[RunRow]:
    """Sorted by a column; runs of which it says nothing come last, whichever way."""
    facts = column_of(key)
    if facts is None:
        return list(rows)
    pairs = [(facts.order(row), row) for row in rows]
    known = [pair for pair in pairs if pair[0] is not None]
    known.sort(key=lambda pair: pair[0], reverse=descending)
    return [row for _, row in known] + [row for order, row in pairs if order is None]


def grouped(rows: Sequence[RunRow], keys: Sequence[str]) -> list[GroupRow]:
    """The rows by what they say in these columns, in the order in which each first comes."""
    facts = [one for key in keys if (one := column_of(key)) is not None]
    found: dict[tuple[Value, ...], list[RunRow]] = {}
    for row in rows:
        found.setdefault(tuple(one.value_of(row) for one in facts), []).append(row)
    names = tuple(key for key in keys if column_of(key) is not None)
    return [GroupRow(names, values, tuple(members)) for values, members in found.items()]


def best_group(groups: Sequence[GroupRow]) -> GroupRow | None:
    """The group with the best mean of the best scores; None where they cannot be compared.

    That is where there are fewer than two with a score, or scores of several metrics.
    """
    scored = [[row for row in group.rows if row.best_score is not None] for group in groups]
    rows = [row for some in scored for row in some]
    if len({(row.best_metric, row.higher_is_better) for row in rows}) != 1:
        return None
    sign = 1 if rows[0].higher_is_better else -1
    means = [
        (sign * fmean(row.best_score or 0.0 for row in some), -place)
        for place, some in enumerate(scored)
        if some
    ]
    return groups[-max(means)[1]] if len(means) > 1 else None


def group_text(group: GroupRow, key: str) -> str:
    """What a group says in a column: of numbers mean ± SD, of texts the one that all have."""
    facts = column_of(key)
    if key == Column.NAME:
        return f"{group.title()} ({tr('%Ln run(s)', len(group.rows))})"
    if facts is None or key == Column.SEEDS:
        return ""
    if not facts.is_number:
        said = {facts.text(row, ()) for row in group.rows}
        return said.pop() if len(said) == 1 else tr("%Ln values", len(said))
    values = [facts.value_of(row) for row in group.rows]
    numbers = [float(value) for value in values if isinstance(value, int | float)]
    metrics = {row.best_metric for row in group.rows if row.best_score is not None}
    if key == Column.BEST and len(metrics) > 1:
        return tr("%Ln metrics", len(metrics))
    found = aggregate(numbers)
    if found is None:
        return ""
    if len(set(numbers)) == 1 and key not in (Column.BEST, Column.LOSS):
        return facts.text(group.rows[0], ())
    return _spread(found, metrics.pop() if key == Column.BEST else _metric_of(key))


def _metric_of(key: str) -> str:
    facts = column_of(key)
    return facts.measure.name if facts is not None and facts.measure is not None else ""


def _spread(found: Aggregate, metric: str) -> str:
    """“82.1 % ± 0.6 %” of a metric; of other numbers as short as they are."""

    def say(value: float) -> str:
        return run_texts.metric_value(metric, value) if metric else written(float(f"{value:.4g}"))

    return say(found.mean) + (f" ± {say(found.deviation)}" if found.deviation is not None else "")


def in_order(rows: Iterable[RunRow]) -> list[RunRow]:
    """The runs that wait, the next one first."""
    return sorted((row for row in rows if row.is_waiting), key=queue_key)


def dropped(
    queue: Sequence[str], moved: Sequence[str], above: Item | None, below: Item | None, rising: bool
) -> list[str] | None:
    """The new order of the queue where rows are dropped between two others.

    Args:
        queue: the ids of all runs that wait, the next one first.
        moved: those that are dropped, which keep their order.
        above, below: the rows between which they are dropped; None: there is none.
        rising: whether the table has the next run above.

    Returns:
        None where neither neighbour waits in the queue, and where nothing changes.
    """
    there = [run for run in queue if run in set(moved)]
    rest = [run for run in queue if run not in set(moved)]
    before, after = (above, below) if rising else (below, above)
    if isinstance(after, RunRow) and after.id in rest:
        place = rest.index(after.id)
    elif isinstance(before, RunRow) and before.id in rest:
        place = rest.index(before.id) + 1
    else:
        return None
    order = [*rest[:place], *there, *rest[place:]]
    return order if order != list(queue) else None
