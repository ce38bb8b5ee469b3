"""The columns of the table of runs: for each one its title, its text, its tooltip and its order."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from app.pages.runs.groups import best_scores, group_of, mean_and_deviation
from app.pages.runs.rows import RunRow
from app.running_texts import stage_text, step_text
from app.translation import tr, translated
from app.widgets import moments, numbers, run_texts

Rows = Sequence[RunRow]  # those that differ from a run only in their seed, with it


class Column(IntEnum):
    """The columns in their first order."""

    STATE = 0
    NAME = 1
    TASK = 2
    DATA = 3
    BASE_MODEL = 4
    BEST = 5
    LOSS = 6
    PROGRESS = 7
    TIME = 8
    STARTED = 9
    SEEDS = 10  # shown right of BEST, where there are runs of several seeds


@dataclass(frozen=True)
class ColumnFacts:
    """What one column says of a run, and by what it is sorted.

    `order` is None where it says nothing. `tooltip` is asked for more than the text; where it has
    nothing, the text is the tooltip.
    """

    title: Callable[[], str]
    width: int  # px, to begin with
    text: Callable[[RunRow, Rows], str]
    order: Callable[[RunRow], Any]
    tooltip: Callable[[RunRow, Rows], str] = lambda row, seeds: ""


def _best(row: RunRow, _: Rows) -> str:
    if row.best_score is None:
        return ""
    return run_texts.score(row.best_metric, row.best_score)


def _best_order(row: RunRow) -> tuple[str, float] | None:
    """Only scores of one metric can be compared: by metric, then the best first."""
    if row.best_score is None:
        return None
    sign = -1 if row.higher_is_better else 1
    return run_texts.evaluation_title(row.best_metric), sign * row.best_score


def _best_tooltip(row: RunRow, _: Rows) -> str:
    if row.best_score is None:
        return ""
    name = run_texts.metric_title(row.best_metric)
    return tr("Best {0} at step {1}").format(name, numbers.count(row.best_step))


def _time(row: RunRow, _: Rows) -> str:
    if row.seconds_left is not None:
        return tr("{0} left").format(numbers.duration(row.seconds_left))
    return numbers.duration(row.seconds) if row.seconds else ""


def _seeds_tooltip(row: RunRow, seeds: Rows) -> str:
    if row.job is None or row.job.group is None:
        return ""
    group = row.job.group
    template = tr(
        "Mean and standard deviation of the best score; {0} of {1} runs have finished",
    )
    return template.format(len(best_scores(seeds)), group.runs // max(1, len(group.vectors)))


def _name_tooltip(row: RunRow, _: Rows) -> str:
    return f"{row.name}\n{row.notes}" if row.notes else ""


def _state_tooltip(row: RunRow, _: Rows) -> str:
    return f"{translated(row.problem)} {translated(row.advice)}".strip()


COLUMNS = {
    Column.STATE: ColumnFacts(
        lambda: tr("State"),
        112,
        lambda row, _: run_texts.state_text(row.state),
        lambda row: run_texts.state_order(row.state),
        _state_tooltip,
    ),
    Column.NAME: ColumnFacts(
        lambda: tr("Name"),
        170,
        lambda row, _: row.name,
        lambda row: row.name.casefold(),
        _name_tooltip,
    ),
    Column.TASK: ColumnFacts(
        lambda: tr("Task"),
        148,
        lambda row, _: run_texts.task_title(row.task),
        lambda row: run_texts.task_title(row.task),
    ),
    Column.DATA: ColumnFacts(
        lambda: tr("Data set"),
        84,
        lambda row, _: row.data,
        lambda row: row.data.casefold() or None,
    ),
    Column.BASE_MODEL: ColumnFacts(
        lambda: tr("Base model"),
        128,
        lambda row, _: row.base_model,
        lambda row: row.base_model.casefold() or None,
    ),
    Column.BEST: ColumnFacts(
        lambda: tr("Best score"),
        124,
        _best,
        _best_order,
        _best_tooltip,
    ),
    Column.LOSS: ColumnFacts(
        lambda: tr("Training loss"),
        104,
        lambda row, _: numbers.decimal(row.losses[-1], 3) if row.losses else "",
        lambda row: row.losses[-1] if row.losses else None,
    ),
    Column.PROGRESS: ColumnFacts(
        lambda: tr("Progress"),
        96,
        lambda row, _: numbers.percent(row.share, 0) if row.steps else "",
        lambda row: row.share if row.steps else None,
        lambda row, _: " · ".join(filter(None, (stage_text(row), step_text(row)))),
    ),
    Column.TIME: ColumnFacts(lambda: tr("Time"), 84, _time, lambda row: row.seconds or None),
    Column.STARTED: ColumnFacts(
        lambda: tr("Started"),
        84,
        lambda row, _: moments.day(row.started or row.created),
        lambda row: (row.started or row.created).timestamp(),
        lambda row, _: moments.moment(row.started or row.created),
    ),
    Column.SEEDS: ColumnFacts(
        lambda: tr("Mean ± SD (seeds)"),
        140,
        lambda row, seeds: mean_and_deviation(seeds),
        lambda row: group_of(row) or None,
        _seeds_tooltip,
    ),
}
