"""Filter, sort and group the rows of the table of runs, and order the queue.

Plain functions over rows; ten thousand rows take a few milliseconds.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from statistics import fmean

from app.pages.runs.columns import Column, ColumnInfo, column_info, known_columns
from app.pages.runs.job_fields import Value, job_titles
from app.pages.runs.rows import RunRow, queue_key
from app.translation import tr
from app.widgets.text import run_texts
from engine.phrases import number_text
from engine.runs.groups import Aggregate, aggregate

Test = Callable[[RunRow], bool]


class RunFilter(IntEnum):
    """The filter buttons."""

    ALL = 0
    ACTIVE = 1
    FINISHED = 2
    STOPPED_OR_FAILED = 3
    STARRED = 4
    ARCHIVED = 5


@dataclass(frozen=True)
class GroupRow:
    """Runs with equal values in the grouping columns, in table order."""

    columns: tuple[ColumnInfo, ...]
    values: tuple[Value, ...]
    rows: tuple[RunRow, ...]

    def title(self) -> str:
        """“Token classification (NER) · Learning rate 3e-5”."""
        texts = []
        for info, value in zip(self.columns, self.values, strict=True):
            name, text = info.title(), info.text(self.rows[0])
            is_text = isinstance(value, str) and info.key not in job_titles()
            part = text if is_text else f"{name} {text}"
            texts.append(part if value is not None else tr("{0}: none").format(name))
        return " · ".join(texts)


Item = RunRow | GroupRow


def is_shown(row: RunRow, run_filter: RunFilter) -> bool:
    """True if the row passes this filter. Archived runs appear only under ARCHIVED."""
    if row.archived or run_filter is RunFilter.ARCHIVED:
        return row.archived and run_filter is RunFilter.ARCHIVED
    match run_filter:
        case RunFilter.ACTIVE:
            return row.is_active
        case RunFilter.FINISHED:
            return row.state == "finished"
        case RunFilter.STOPPED_OR_FAILED:
            return row.can_resume or row.state == "unreadable"
        case RunFilter.STARRED:
            return row.star
        case _:
            return True


def words_test(words: Sequence[str]) -> Test:
    """Make a test that all `words` (casefolded) occur in the texts of a run."""
    return lambda row: all(word in search_text(row) for word in words)


def search_text(row: RunRow) -> str:
    """Searchable text of a run, casefolded and cached in the row."""
    text: str | None = row.__dict__.get("_search_text")
    if text is None:
        titles = _task_and_state(row.task, row.state)
        texts = (row.name, row.notes, row.data, row.base_model, titles, *row.tags)
        text = " ".join(texts).casefold()
        row.__dict__["_search_text"] = text
    return text


@lru_cache(1024)
def _task_and_state(task: str, state: str) -> str:
    """Searchable names of task and state; cached, since even ten thousand runs have few."""
    return f"{task} {run_texts.task_title(task)} {state} {run_texts.state_text(state)}"


def sort_rows(rows: Sequence[RunRow], key: str, descending: bool) -> list[RunRow]:
    """Sort by a column; runs without a value come last in either direction.

    By start, waiting runs are in queue order in either direction: the next one first.
    """
    info = column_info(key)
    if info is None:
        return list(rows)
    pairs = [(info.sort_key(row), row) for row in rows]
    keyed = [pair for pair in pairs if pair[0] is not None]
    keyed.sort(key=lambda pair: pair[0], reverse=descending)
    result = [row for _, row in keyed] + [row for order, row in pairs if order is None]
    if key == Column.STARTED and descending:
        queue = sorted((row for row in result if row.is_waiting), key=queue_key)
        result = queue + [row for row in result if not row.is_waiting]
    return result


def group_rows(rows: Sequence[RunRow], keys: Sequence[str]) -> list[GroupRow]:
    """Group rows by their values in these columns, in order of first appearance."""
    columns = tuple(known_columns(keys))
    result: dict[tuple[Value, ...], list[RunRow]] = {}
    for row in rows:
        result.setdefault(tuple(info.row_value(row) for info in columns), []).append(row)
    return [GroupRow(columns, values, tuple(members)) for values, members in result.items()]


def best_group(groups: Sequence[GroupRow]) -> GroupRow | None:
    """The group with the best mean score.

    None if fewer than two groups have a score, or the scores are of several metrics.
    """
    scored = [[row for row in group.rows if row.best_score is not None] for group in groups]
    rows = [row for group in scored for row in group]
    if len({(row.best_metric, row.higher_is_better) for row in rows}) != 1:
        return None
    sign = 1 if rows[0].higher_is_better else -1
    means = [
        (sign * fmean(row.best_score or 0.0 for row in group), -index)
        for index, group in enumerate(scored)
        if group
    ]
    return groups[-max(means)[1]] if len(means) > 1 else None


def group_text(group: GroupRow, key: str) -> str:
    """Cell text of a group: mean ± SD of numbers, the common value of texts."""
    info = column_info(key)
    if key == Column.NAME:
        return f"{group.title()} ({tr('%Ln run(s)', len(group.rows))})"
    if info is None or key == Column.SEEDS:
        return ""
    if not info.is_number:
        texts = {info.text(row) for row in group.rows}
        return texts.pop() if len(texts) == 1 else tr("%Ln values", len(texts))
    values = [info.row_value(row) for row in group.rows]
    numbers = [float(value) for value in values if isinstance(value, int | float)]
    metrics = {row.best_metric for row in group.rows if row.best_score is not None}
    if key == Column.BEST and len(metrics) > 1:
        return tr("%Ln metrics", len(metrics))
    result = aggregate(numbers)
    if result is None:
        return ""
    if len(set(numbers)) == 1 and key not in (Column.BEST, Column.LOSS):
        return info.text(group.rows[0])
    metric = info.measure.name if info.measure is not None else ""
    return _format_aggregate(result, metrics.pop() if key == Column.BEST else metric)


def _format_aggregate(result: Aggregate, metric: str) -> str:
    """“82.1 % ± 0.6 %” for a metric; other numbers with four digits."""

    def format_value(value: float) -> str:
        return (
            run_texts.metric_value(metric, value) if metric else number_text(float(f"{value:.4g}"))
        )

    deviation = f" ± {format_value(result.deviation)}" if result.deviation is not None else ""
    return format_value(result.mean) + deviation


def waiting_runs(rows: Iterable[RunRow]) -> list[RunRow]:
    """The waiting runs, the next one first."""
    return sorted((row for row in rows if row.is_waiting), key=queue_key)


def order_after_drop(
    queue: Sequence[str],
    moved: Sequence[str],
    above: Item | None,
    below: Item | None,
) -> list[str] | None:
    """The order of the queue after a drop of rows between two others.

    Args:
        queue: the ids of all waiting runs, the next one first.
        moved: the dropped ids; they keep their order.
        above, below: the rows at the drop position; None at an end of the table.

    Returns:
        None if neither neighbour is waiting, or nothing changes.
    """
    dropped = [run for run in queue if run in set(moved)]
    rest = [run for run in queue if run not in set(moved)]
    if isinstance(below, RunRow) and below.id in rest:
        index = rest.index(below.id)
    elif isinstance(above, RunRow) and above.id in rest:
        index = rest.index(above.id) + 1
    else:
        return None
    order = [*rest[:index], *dropped, *rest[index:]]
    return order if order != list(queue) else None
