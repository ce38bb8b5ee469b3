"""A new task needs only its own files and one line in the table."""

import importlib
import inspect
import sys
from collections.abc import Iterator
from dataclasses import replace

import pytest

from app.pages.train.choices import Goal, goals
from app.tasks import task_part, view_class
from app.widgets.text import run_texts
from engine.checkpoints.heads import TASK, head_kind
from engine.checkpoints.info import checkpoint_info
from engine.cli import compose
from engine.config.job import JobSpec
from engine.config.tasks import TASKS
from engine.config.tasks.regression import Regression
from engine.data.datasets.rows import Rows
from engine.explore.prediction import predict
from engine.messages.explore.prediction import Predict
from engine.models import checkpoint
from engine.models.outputs import head_outputs
from engine.record.follow import record_folder
from engine.record.metrics import curves
from engine.record.opening import open_record
from engine.results.measures import main_metric, main_score
from engine.results.predictions import read_predictions
from engine.results.store import predictions_file
from engine.tasks import checkpoint_learner
from engine.tasks.predicting import Predictor
from engine.training.loop import train
from tests.engine.training import small
from tests.tasks.another import evaluation, learner, part, spec


@pytest.fixture
def mood(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install the files of the task and its line in the table."""
    monkeypatch.setitem(TASKS, "mood", spec.Mood)
    monkeypatch.setitem(sys.modules, "engine.evaluation.mood", evaluation)
    monkeypatch.setitem(sys.modules, "engine.tasks.mood", learner)
    monkeypatch.setitem(sys.modules, "app.tasks.mood", part)
    importlib.reload(compose)
    yield
    monkeypatch.undo()
    importlib.reload(compose)


@pytest.mark.usefixtures("mood")
def test_a_job_of_another_task_is_trained_recorded_and_queried(home, tmp_path):
    raw = small.classifying(tmp_path, epochs=2).model_dump(mode="json")
    raw["task"] = {"kind": "mood", "balanced": True}
    job = JobSpec.model_validate_json(JobSpec.model_validate(raw).model_dump_json())
    assert isinstance(job.task, spec.Mood) and job.task.balanced

    run = small.new_run(home.runs / "one", job)
    train(job, run, run.append)
    record = open_record(home.record, home.backups)
    with record.session() as session:
        row = record_folder(session, run, job)
        assert (row.task, row.best_metric) == ("mood", "validation_errors")
        assert row.best_score is not None and row.best_step
        lowest = row.best_score
        points = curves(session, row.id)["validation_errors"].values.tolist()
    record.close()
    assert lowest == min(points)
    assert run_texts.score("validation_errors", lowest).endswith("% error rate")
    assert run_texts.task_title("mood") == "Mood of a text"

    predictions = read_predictions(predictions_file(run.results, "validation"))
    assert main_metric(predictions).name == "errors"
    assert main_score(predictions).value == pytest.approx(lowest)

    folder = run.checkpoint_folders()[-1]
    assert checkpoint_info(folder).task == "mood"
    loaded = checkpoint.load(folder)
    assert head_outputs(loaded.network.heads) == spec.Mood.info.head.tensors
    built = checkpoint_learner(loaded)
    assert isinstance(built, learner.MoodLearner) and built.task.balanced
    rows = Rows(["a lovely warm film"], labels=["good"])
    assert set(Predictor(folder).predict(rows)[0]) >= {"label", "probability"}
    assert "errors" in Predictor(folder).evaluate(rows).metrics()
    answer = predict(loaded, Predict(checkpoint=folder, text="a lovely warm film"))
    assert answer.task == "mood"


@pytest.mark.usefixtures("mood")
def test_another_task_appears_in_the_window_and_the_command_line():
    goal = Goal("mood")
    assert goal in goals() and goal.task == spec.Mood()
    assert task_part("mood").description() and view_class("mood") is part.ClassesView
    assert task_part("mood").card_title() == "Mood of a text"
    assert "mood" in str(inspect.signature(compose.job_command))


def test_a_foreign_model_gets_the_task_with_the_fewest_columns():
    """Even if another task with the same head comes first."""

    class Comparison(Regression):
        info = replace(Regression.info, reads=("text", "pair", "label"))

    tasks = dict(TASKS)
    TASKS.clear()
    TASKS.update({"comparison": Comparison} | tasks)
    try:
        foreign = {"architectures": ["BertForSequenceClassification"], "problem_type": "regression"}
        assert head_kind(foreign, 1) == "regression"
        own_config = foreign | {TASK: {"kind": "comparison"}}
        assert head_kind(own_config, 1) == "comparison"
    finally:
        TASKS.clear()
        TASKS.update(tasks)


def test_a_task_must_be_listed_in_the_table():
    assert "mood" not in TASKS and "mood" not in str(inspect.signature(compose.job_command))
    with pytest.raises(ValueError, match="there is no task 'mood'"):
        JobSpec.model_validate({"name": "x", "task": {"kind": "mood"}})
