"""Runs of one job: seeds, rows of a layer sweep, or combinations of a search; their mean score."""

from collections.abc import Sequence

from app.pages.runs.rows import RunRow
from app.translation import tr
from app.widgets.text import run_texts
from app.widgets.text.spec_texts import short_title_of, value_text
from engine.config.job import JobSpec
from engine.config.search import SearchSpec, field_at
from engine.messages.searching import Trial
from engine.runs.groups import aggregate, value_label
from engine.runs.searching import SearchRun, best_trial, get_values, is_by_search, list_trials


def row_search(row: RunRow) -> SearchSpec | None:
    """The search that a run belongs to."""
    return row.job.group.search if row.job is not None and row.job.group is not None else None


def values_text(row: RunRow) -> str:
    """The values of a run's combination."""
    search = row_search(row)
    if row.job is None or search is None:
        return ""
    values = get_values(row.job, search)
    return ", ".join(
        value_label(v) if isinstance(v, dict) else f"{_title(row.job, path)} {value_text(v)}"
        for path, v in values.items()
    )


def _title(job: JobSpec, path: str) -> str:
    info = field_at(job, path)
    return short_title_of(path.rpartition(".")[2], info) if info is not None else path


def field_title(job: JobSpec, path: str) -> str:
    """Title of a searched field, or of a part of the job."""
    titles = {"base_model": tr("Base model"), "data": tr("Data set")}
    return titles.get(path) or _title(job, path)


def is_pruned(row: RunRow) -> bool:
    """True if the run was stopped by its search."""
    return row.state == "stopped" and is_by_search(row.problem)


def trials(rows: Sequence[RunRow]) -> list[Trial]:
    """The combinations of these runs of one search."""
    return list_trials(
        [
            SearchRun(
                row.job, row.state, row.best_score, (), row.seconds, is_by_search(row.problem)
            )
            for row in rows
            if row.job is not None and row_search(row) is not None
        ]
    )


def best_setting(rows: Sequence[RunRow]) -> int:
    """Index of the combination with the best mean score of a search; -1 without scores."""
    if not rows or row_search(rows[0]) is None:
        return -1
    higher = all(row.higher_is_better for row in rows if row.best_score is not None)
    best = best_trial(trials(rows), higher)
    return next(
        (
            row.setting
            for row in rows
            if best is not None
            and row.job is not None
            and (search := row_search(row)) is not None
            and get_values(row.job, search) == best.values
        ),
        -1,
    )


def seeds_key(row: RunRow) -> tuple[str, str, int]:
    """Key shared by the runs that differ only in their seed."""
    return row.group, row.sweep, row.setting


def best_scores(rows: Sequence[RunRow]) -> list[float]:
    """The best scores of the finished runs."""
    scores = [row.best_score for row in rows if row.state == "finished"]
    return [score for score in scores if score is not None]


def mean_and_deviation(rows: Sequence[RunRow]) -> str:
    """Mean ± standard deviation of the best scores; “” if no run has finished."""
    result = aggregate(best_scores(rows))
    if result is None:
        return ""
    name = next(row.best_metric for row in rows if row.best_score is not None)
    mean = run_texts.metric_value(name, result.mean)
    if result.deviation is None:
        return mean
    return f"{mean} ± {run_texts.metric_value(name, result.deviation)}"
