"""Columns of the table of runs, for all tasks."""

from dataclasses import replace

import pytest

from app.pages.runs.columns import COLUMNS, Column
from app.pages.runs.groups import mean_and_deviation
from app.pages.runs.rows import RunRow, read_rows
from app.widgets.text import run_texts
from engine.config.tasks import TASKS
from engine.runs.groups import expand
from tests.engine.runs import fake_worker


@pytest.fixture
def row(studio, make_run) -> RunRow:
    job = fake_worker.job("films")
    training = job.training.model_copy(update={"seeds": 2})
    make_run("films", job=expand(job.model_copy(update={"training": training}))[0])
    (run_row,) = read_rows(studio.record)
    return run_row


def test_every_column_has_a_title_and_a_text(row):
    assert set(COLUMNS) == set(Column)
    row = replace(row, tags=("paper",), notes="a note")
    for column, info in COLUMNS.items():
        assert info.title() and (info.text(row) or column is Column.SEEDS), column
        info.sort_key(row)


def test_tasks_and_metrics_have_titles_and_a_best_score(row):
    for kind in TASKS:
        info = TASKS[kind].info
        name = f"{run_texts.VALIDATION}{info.best_metric}"
        metric = next(metric for metric in info.metrics if metric.name == info.best_metric)
        scored = replace(row, task=kind, best_metric=name, best_score=0.5, best_step=3)
        other = replace(scored, best_score=0.75)
        assert COLUMNS[Column.TASK].text(scored) == info.title
        assert COLUMNS[Column.BEST].text(scored).endswith(f" {metric.short or metric.title}")
        assert COLUMNS[Column.BEST].tooltip(scored) == f"Best validation {metric.title} at step 3"
        assert mean_and_deviation([scored, other])
    for kind in TASKS:
        for metric in TASKS[kind].info.metrics:
            name = f"{run_texts.VALIDATION}{metric.name}"
            assert run_texts.metric_title(name) == f"validation {metric.title}"
            assert run_texts.evaluation_title(name) == metric.title
