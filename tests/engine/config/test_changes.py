"""Differences between two jobs, and which of them a branch may have."""

from pathlib import Path

import pytest

from engine.config.changes import as_text, changes, non_defaults
from engine.config.dataset import FileData
from engine.config.job import FromCheckpoint, JobSpec
from engine.config.tasks.pretraining import Pretraining
from engine.config.tasks.text_classification import TextClassification
from engine.phrases import Phrase

JOB = JobSpec(
    name="a run",
    task=TextClassification(),
    base_model=FromCheckpoint(path=Path("model")),
    data=FileData(path=Path("reviews.csv")),
)


def job_with(path: str, value: object) -> JobSpec:
    raw = JOB.model_dump()
    *parents, last = path.split(".")
    section = raw
    for parent in parents:
        section = section[parent]
    section[last] = value
    return JobSpec.model_validate(raw)


@pytest.mark.parametrize(
    "path, value, in_branch",
    [
        ("training.batch_size", 16, True),
        ("training.lora_rank", 8, False),
        ("training.seeds", 3, False),
        ("training.ema_decay", 0.9, False),
        ("hardware.threads", 2, True),
        ("task.label_smoothing", 0.1, True),
        ("task.labels", ("a", "b"), False),
        ("features.pooling", "first", False),
        ("base_model.path", Path("other"), False),
        ("data.path", Path("other.csv"), False),
    ],
)
def test_fields_declare_if_a_branch_may_change_them(path, value, in_branch):
    (change,) = changes(JOB, job_with(path, value))
    assert (change.path, change.in_branch) == (path, in_branch)


def test_another_task_is_one_change():
    other = JOB.model_copy(update={"task": Pretraining()})
    (change,) = changes(JOB, other)
    assert change.path == "task" and not change.in_branch


def test_a_change_is_described_with_the_title_of_the_field():
    for path, value, sentence in (
        ("training.batch_size", 16, "Batch size 16 instead of 32"),
        ("training.dropout", 0.2, "Dropout 0.2 instead of none"),
    ):
        (change,) = changes(JOB, job_with(path, value))
        message = change.sentence()
        assert message == sentence and isinstance(message, Phrase)
    assert not changes(JOB, JOB.model_copy(update={"name": "another"}))


def test_non_default_settings_are_listed_by_title():
    assert non_defaults(JOB) == []
    job = job_with("training.batch_size", 16)
    assert [
        (change.title, as_text(change.old), as_text(change.new)) for change in non_defaults(job)
    ] == [("Batch size", "32", "16")]
    fresh = job_with("base_model", {"kind": "scratch", "model": {"layers": 2}})
    assert [change.path for change in non_defaults(fresh)] == ["base_model.model.layers"]
    balanced = non_defaults(job_with("task.balanced", True))[0]
    assert (as_text(balanced.old), as_text(balanced.new)) == ("off", "on")


def test_numbers_are_written_as_people_write_them():
    texts = [as_text(value) for value in (1e-4, 3e-5, 0.001, 0.5, 2.0, 512)]
    assert texts == ["1e-4", "3e-5", "0.001", "0.5", "2", "512"]
