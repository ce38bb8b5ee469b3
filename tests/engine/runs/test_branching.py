"""A branch starts from a checkpoint of another run, possibly with other settings."""

import shutil

import pytest
import safetensors.numpy

from engine.cli import main as command
from engine.config.tasks.pretraining import Pretraining
from engine.config.tasks.text_classification import TextClassification
from engine.config.training import TrainingSpec
from engine.errors import StudioError
from engine.runs.branching import branch, check_remaining_steps
from engine.runs.folder import RunFolder
from engine.runs.reproducibility import read_reproducibility
from engine.worker.train import main as work
from tests.engine.training import small
from tests.engine.training.test_loop import final, metrics


@pytest.mark.parametrize("step", [20, pytest.param(10, marks=pytest.mark.long)])
def test_a_branch_without_a_change_ends_like_its_origin(finished, tmp_path, step):
    run = branch(finished, step, finished.job(), tmp_path / "branch")
    assert work(run.path) == 0
    assert final(run) == final(finished)
    assert metrics(run) == metrics(finished)
    certificate = read_reproducibility(run)
    assert certificate.branched is not None
    assert certificate.branched.sentence() == (
        f"Branched from “Good or bad” at step {step}; nothing was changed."
    )
    assert (
        certificate.environment == read_reproducibility(finished).environment
        and certificate.obstacles == ()
    )


def test_a_branch_shows_exactly_its_changes(finished, tmp_path, capsys):
    arguments = [str(finished.path), "--step", "10", "--set", "training.learning_rate=1e-3"]
    assert command(["branch", *arguments, "--into", str(tmp_path / "branch")]) == 0
    assert "Learning rate 0.001 instead of 0.005" in capsys.readouterr().out
    run = RunFolder(tmp_path / "branch")
    assert work(run.path) == 0
    branched = read_reproducibility(run).branched
    assert branched is not None
    assert branched.sentence() == (
        "Branched from “Good or bad” at step 10; Learning rate 0.001 instead of 0.005."
    )
    assert command(["compare", str(finished.path), str(run.path)]) == 1
    printed = capsys.readouterr().out
    assert "job: different\n  training.learning_rate: 0.005 | 0.001\n" in printed
    assert "losses: different from step 12 on" in printed  # step 11 used the weights of step 10
    assert "the largest difference is" in printed


def test_a_branch_can_unfreeze_layers(finished, tmp_path):
    training = finished.job().training.model_copy(update={"frozen_layers": 2})
    job = finished.job().model_copy(update={"training": training})
    frozen = small.new_run(tmp_path / "run", job)
    assert work(frozen.path) == 0
    run = branch(frozen, 20, finished.job(), tmp_path / "branch")
    assert work(run.path) == 0
    certificate = read_reproducibility(run)
    assert certificate.is_finished and certificate.branched is not None
    assert certificate.branched.changes == ("Frozen layers 0 instead of 2",)
    for folder, is_different in ((frozen, False), (run, True)):
        ends = [safetensors.numpy.load_file(f / "model.safetensors") for f in
                (frozen.checkpoint(20), folder.checkpoint(30))]  # fmt: skip
        name = next(name for name in ends[0] if "embeddings.word" in name)
        assert (ends[0][name] != ends[1][name]).any() == is_different


def test_impossible_changes_of_a_branch_are_refused(finished, tmp_path):
    job = finished.job()
    cases: list[tuple[dict[str, object], str]] = [
        ({"task": Pretraining()}, "cannot change task"),
        ({"task": TextClassification(labels=("a", "b"))}, "cannot change task.labels"),
        ({"base_model": small.pretraining(tmp_path).base_model.model_copy(
            update={"lowercase": False})},
         "cannot change base_model.lowercase"),
        ({"data": small.pretraining(tmp_path).data}, "cannot change data"),
        ({"training": job.training.model_copy(update={"lora_rank": 4})}, "training.lora_rank"),
        ({"training": job.training.model_copy(update={"steps": 10})}, "already at step 10"),
    ]  # fmt: skip
    for update, problem in cases:
        with pytest.raises(StudioError, match=problem):
            branch(finished, 10, job.model_copy(update=update), tmp_path / "branch")
    with pytest.raises(StudioError, match="no checkpoint at step 11"):
        branch(finished, 11, job, tmp_path / "branch")
    assert not (tmp_path / "branch").exists()
    assert not [entry for entry in tmp_path.iterdir() if entry.name.startswith(".")]


@pytest.mark.parametrize(
    "change, has_steps",
    [({}, False), ({"epochs": 4}, True), ({"epochs": 2}, False), ({"batch_size": 16}, True)],
)
def test_a_branch_from_the_last_step_needs_more_steps(tmp_path, change, has_steps):
    job = small.classifying(tmp_path)
    before = job.model_copy(update={"training": TrainingSpec(epochs=3, batch_size=32)})
    training = before.training.model_copy(update=change)
    problem = check_remaining_steps(
        before, before.model_copy(update={"training": training}), 24, 24
    )
    assert (problem is None) == has_steps
    assert check_remaining_steps(before, before, 16, 24) is None


@pytest.mark.parametrize("part", ["dataset", "checkpoint"])
def test_a_run_with_a_link_is_refused(finished, tmp_path, part):
    secret = tmp_path / "secret"
    secret.write_text("of another user")
    copy = RunFolder(tmp_path / "copy")
    shutil.copytree(finished.path, copy.path)
    if part == "dataset":
        copy.dataset.mkdir(exist_ok=True)
        (copy.dataset / "more").symlink_to(secret)
    else:
        (copy.checkpoint(10) / "more").symlink_to(secret)
    with pytest.raises(StudioError, match=r"more in .* is a symbolic link"):
        branch(copy, 10, copy.job(), tmp_path / "branch")
    assert not (tmp_path / "branch").exists()
    assert sorted(f.name for f in tmp_path.iterdir()) == ["copy", "secret"]
