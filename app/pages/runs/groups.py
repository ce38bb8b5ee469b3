"""Runs that belong to one job: its seeds, or the rows of a layer sweep; and their mean score."""

from collections.abc import Sequence

from app.pages.runs.rows import RunRow
from app.widgets import run_texts
from engine.runs.groups import aggregate


def group_of(row: RunRow) -> str:
    """What the runs of one job have in common; empty for a run that is alone."""
    return row.job.group.id if row.job is not None and row.job.group is not None else ""


def sweep_row_of(row: RunRow) -> str:
    """Which features a run of a layer sweep reads; empty for any other run."""
    is_sweep = row.job is not None and row.job.group is not None and row.job.group.vectors
    return row.job.features.vectors if row.job and is_sweep else ""


def seeds_key(row: RunRow) -> tuple[str, str]:
    """What runs that differ only in their seed have in common."""
    return group_of(row), sweep_row_of(row)


def best_scores(rows: Sequence[RunRow]) -> list[float]:
    """The best scores of the runs that are finished."""
    ended = [row.best_score for row in rows if row.state == "finished"]
    return [score for score in ended if score is not None]


def mean_and_deviation(rows: Sequence[RunRow]) -> str:
    """Mean ± standard deviation of the best scores; empty where no run is finished."""
    found = aggregate(best_scores(rows))
    if found is None:
        return ""
    name = next(row.best_metric for row in rows if row.best_score is not None)
    mean = run_texts.metric_value(name, found.mean)
    if found.deviation is None:
        return mean
    return f"{mean} ± {run_texts.metric_value(name, found.deviation)}"
