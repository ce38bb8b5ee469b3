"""Every task of the table has all its parts."""

import csv
import inspect
from collections import Counter

import pytest
import transformers

from app.pages.train.choices import Goal, goals
from app.tasks import task_part, view_class
from app.widgets.text import run_texts
from engine.checkpoints.heads import TASK, head_kind
from engine.cli import main
from engine.cli.compose import job_command
from engine.config.dataset import FileData, Mapping, Reading, Split
from engine.config.job import JobSpec
from engine.config.tasks import TASKS, class_name, get_head, get_metric, parse_task
from engine.config.tasks.regression import Regression
from engine.data.columns.fit import likely_task, task_problems
from engine.data.datasets.importing import import_dataset
from engine.messages.events import Measured
from engine.models.heads import Heads
from engine.models.outputs import head_outputs
from engine.models.published import build_config
from engine.record.follow import record_folder
from engine.record.opening import open_record
from engine.tasks import learner_for
from engine.training.loop import train
from tests.engine.training import small
from tests.tasks.jobs import HEAD_KINDS, JOBS

COLUMNS = ("text", "pair", "label", "tags", "answers", "yes", "a", "b")
SCALE = {f"{n / 10}": 9 for n in range(50)}  # too many numbers for classes


def count_labels(job: JobSpec) -> Counter[str] | None:
    """Rows by label; None without a label column."""
    assert isinstance(job.data, FileData)
    if job.data.mapping is None or job.data.mapping.label is None:
        return None
    with open(job.data.path, newline="", encoding="utf-8") as file:
        return Counter(row[job.data.mapping.label] for row in csv.DictReader(file))


def test_a_task_has_one_name():
    for kind in TASKS:
        task = parse_task({"kind": kind})
        assert type(task) is TASKS[kind] and type(task).__name__ == class_name(kind)
        assert task.kind == kind and parse_task(task.model_dump(mode="json")) == task


def test_the_best_metric_is_among_the_metrics():
    for kind in TASKS:
        info = TASKS[kind].info
        names = [metric.name for metric in info.metrics]
        assert info.best_metric in names and "loss" in names and len({*names}) == len(names)
        assert [get_metric(name) for name in names] == [*info.metrics]


@pytest.mark.parametrize("kind", TASKS)
def test_a_run_records_the_metrics_and_best_score_of_its_task(kind, home, tmp_path):
    job = JOBS[kind](tmp_path, steps=2, epochs=1, save_every=0)
    assert job.task.kind == kind
    run = small.new_run(home.runs / kind, job)
    train(job, run, run.append)
    measured_names = {e.name for e in run.events_after(0)[0] if isinstance(e, Measured)}
    names = {
        name.removeprefix("validation_")
        for name in measured_names
        if name.startswith("validation_")
    }
    assert names <= {metric.name for metric in TASKS[kind].info.metrics}
    record = open_record(home.record, home.backups)
    with record.session() as session:
        row = record_folder(session, run, job)
        assert row.best_score is not None and row.best_metric in measured_names
        assert row.best_metric == f"validation_{TASKS[kind].info.best_metric}"
    record.close()


def test_every_task_has_a_learner():
    for kind in TASKS:
        learner = learner_for(parse_task(kind))
        assert type(learner).__name__ == f"{class_name(kind)}Learner"
        assert isinstance(learner.tokenization, str)


def test_heads_are_known_to_transformers_and_recognised():
    for kind in HEAD_KINDS:
        head = get_head(kind)
        heads = Heads(outputs=head.outputs_for(3), kind=kind)
        config = build_config(small.NETWORK, heads, (), "float32")
        assert hasattr(transformers, config["architectures"][0])
        assert config.get("problem_type", "") == head.problem_type
        assert head_kind(config, heads.outputs) == kind
        if head.pools or head.is_ordinal or head.labels_spans:
            continue  # other programs state it in modules.json, or cannot
        del config[TASK]  # as written by other programs
        assert get_head(head_kind(config, heads.outputs)) == head
        assert head_outputs(heads) == head.tensors


def test_every_task_has_a_card_texts_and_a_view():
    for kind in TASKS:
        part = task_part(kind)
        assert part.kind == kind and part.outputs(3)
        for goal in (goal for goal in goals() if goal.kind == kind):
            assert part.card_title(goal.from_scratch) and part.description(goal.from_scratch)
            assert part.scene.words.startswith("[CLS] ")
            assert goal.task.kind == kind
        assert Goal(kind) in goals()
        assert (part.view is not None) == (kind in HEAD_KINDS)
        if part.view is not None:
            assert view_class(kind) is part.view


def test_the_window_has_titles_of_tasks_and_metrics():
    for kind in TASKS:
        assert run_texts.task_title(kind) == TASKS[kind].info.title
        for metric in TASKS[kind].info.metrics:
            name = f"validation_{metric.name}"
            assert run_texts.metric_title(name) == f"validation {metric.title}"
            assert ("%" in run_texts.metric_value(name, 0.5)) == (metric.unit == "share")


def test_the_command_line_composes_jobs_for_every_task():
    for kind in TASKS:
        assert repr(kind) in str(inspect.signature(job_command).parameters["task"].annotation)


def test_a_job_without_a_task_infers_it_from_the_labels(tmp_path, capsys):
    """Numbers on a scale are not classes, as in the wizard."""
    file, folder = tmp_path / "numbers.csv", tmp_path / "numbers"
    rows = [f"a text,{number}" for number in SCALE]
    file.write_text("\n".join(["text,label", *rows]) + "\n", encoding="utf-8")
    mapping = Mapping(text="text", label="label")
    import_dataset("numbers", {"all": file}, Reading(format="csv"), mapping, Split(), folder)
    assert main(["job", "--data", str(folder), "--size", "tiny"]) == 0
    assert JobSpec.model_validate_json(capsys.readouterr().out).task == Regression()


@pytest.mark.parametrize("kind", TASKS)
def test_the_columns_of_a_task_suffice_and_make_it_likely(kind, tmp_path):
    info = TASKS[kind].info
    options = {"flags": ("yes",), "endings": ("a", "b")}
    roles = [*info.reads, *(["flags"] if "flags" in info.may_read else [])]
    mapping = Mapping(**{role: options.get(role, role) for role in roles})
    labels = SCALE if kind == "regression" else count_labels(JOBS[kind](tmp_path))
    task = parse_task(kind)
    assert task_problems(COLUMNS, mapping, task, labels) == []
    likely = likely_task(mapping, labels).kind
    if likely != kind:  # an earlier task reads the same columns; the user chooses
        assert TASKS[likely].info.reads == info.reads and [*TASKS].index(likely) < [*TASKS].index(
            kind
        )
    text_only = Mapping(text="text")
    assert task_problems(COLUMNS, text_only, task, labels) or roles == ["text"]
