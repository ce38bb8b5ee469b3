"""What a run says of how its weights came about, and what can be checked afterwards."""

import json
from pathlib import Path

import pytest
import safetensors.numpy

from engine.atomic_write import sha256
from engine.cli import main as command
from engine.errors import StudioError
from engine.messages.events import Ended, Event, Measured, Noted, Prepared, Saved, Started
from engine.runs.branching import branch
from engine.runs.folder import RunFolder
from engine.runs.reproducibility import damaged_checkpoints, reproducibility_of
from engine.runs.retention import (
    check_removal,
    max_checkpoints,
    reasons_to_keep,
    retained_checkpoints,
)
from engine.spec.changes import changes
from engine.spec.job import JobSpec
from engine.spec.tasks.pretraining import Pretraining
from engine.spec.tasks.text_classification import TextClassification
from engine.spec.training import TrainingSpec
from engine.training.estimate import estimate
from engine.worker.train import main as work
from tests.engine.training import small
from tests.engine.training.test_exact import final, metrics


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A finished run of 30 steps that kept the checkpoints of 10 and 20."""
    folder = tmp_path_factory.mktemp("calm")
    run = small.new_run(
        folder / "run", small.classifying(folder, steps=30, keep_every=10, dropout=0.1)
    )
    assert work(run.path) == 0
    return run


def stopped_at(folder: Path, job: JobSpec, step: int) -> RunFolder:
    run = small.new_run(folder, job)

    def hear(event: Event) -> None:
        if isinstance(event, Measured) and event.name == "loss" and event.step == step:
            run.ask_stop()

    assert work(run.path, hear) == 0
    run.clear_stop()
    return run


# ── the certificate ──────────────────────────────────────────────────────────────────────────


def test_a_certificate_names_all_that_decides_the_weights(calm: RunFolder) -> None:
    found = reproducibility_of(calm)
    last = calm.checkpoint_folders()[-1]
    assert found.weights == sha256(last / "model.safetensors")
    assert found.optimiser == sha256(last / "resume" / "optimiser.safetensors")
    assert set(found.environment) == {
        *("processor", "instructions", "device", "threads", "processes", "precision"),
        *("torch", "tokenizers", "numpy", "studio", "data", "vocabulary", "start"),
    }
    assert all(found.environment.values())
    assert found.environment["threads"] == "1" and found.environment["device"] == "cpu"
    assert len(found.environment["start"]) == len(found.environment["data"]) == 64
    assert found.is_finished and found.step == found.steps == 30
    assert found.obstacles == ()
    assert [(s.first, s.last, s.differences) for s in found.sessions] == [(0, 30, ())]


def test_the_same_job_twice_begins_and_ends_with_the_same_weights(
    calm: RunFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    again = small.new_run(tmp_path / "again", calm.job())
    assert work(again.path) == 0
    one, other = reproducibility_of(calm), reproducibility_of(again)
    assert one.environment == other.environment
    assert (one.weights, one.optimiser) == (other.weights, other.optimiser)
    assert command(["compare", str(calm.path), str(again.path)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "job: the same",
        "environment: the same",
        "losses: the same",
        "weights of step 30: the same, bit for bit",
    ]


def test_each_resume_is_listed_with_what_differs(calm: RunFolder, tmp_path: Path) -> None:
    job = calm.job()
    run = stopped_at(tmp_path / "run", job, 7)
    hardware = job.hardware.model_copy(update={"threads": 2})
    run.spec_file.write_text(job.model_copy(update={"hardware": hardware}).model_dump_json())
    assert work(run.path) == 0
    found = reproducibility_of(run)
    assert [(s.first, s.last, s.differences) for s in found.sessions] == [
        (0, 7, ()),
        (7, 30, ("threads 1 → 2",)),
    ]
    assert found.obstacles == ("From step 7: threads 1 → 2.",)


def test_a_worker_that_saved_nothing_left_no_trace(tmp_path: Path) -> None:
    run = small.new_run(tmp_path / "run", small.classifying(tmp_path))
    here, there = {"device": "cpu", "threads": "1"}, {"device": "cpu", "threads": "2"}

    def begin(step: int, environment: dict[str, str], differences: tuple[str, ...] = ()) -> None:
        run.append(Started(pid=1, step=step))
        run.append(
            Prepared(
                steps=9,
                parameters=1,
                examples=1,
                device="cpu",
                threads=1,
                step=step,
                environment=environment,
                differences=differences,
            )
        )

    begin(0, here)
    run.append(Saved(step=4, folder="x", weights="w4"))
    begin(4, there, ("threads 1 → 2",))
    begin(4, here)
    run.append(Noted(text="Memory was short at step 6.", exact=False))
    run.append(Saved(step=9, folder="y", weights="w9"))
    run.append(Ended(outcome="finished", step=9))
    found = reproducibility_of(run)
    assert [stretch.counts for stretch in found.sessions] == [True, False, True]
    assert found.obstacles == ("Memory was short at step 6.",)
    assert found.weights == "w9"


def test_a_flipped_bit_and_a_forged_manifest_are_found(
    calm: RunFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(["reproducibility", str(calm.path)]) == 0
    printed = capsys.readouterr().out
    assert f"weights: {reproducibility_of(calm).weights}" in printed
    assert "reproducible: yes, in this environment" in printed
    count = len(calm.checkpoint_folders())
    assert f"files: {count} checkpoints, all checksums match" in printed

    run = branch(calm, 20, calm.job(), tmp_path / "run")
    folder = run.checkpoint(20)
    weights = folder / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    assert command(["reproducibility", str(run.path)]) == 1
    assert "model.safetensors in step-00000020 is damaged" in capsys.readouterr().out
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"]["model.safetensors"]["sha256"] = sha256(weights)
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert damaged_checkpoints(run) == [
        "step-00000020: model.safetensors is not the file that the run saved."
    ]


# ── branches ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("step", [10, 20])
def test_a_branch_without_a_change_ends_as_its_origin(
    calm: RunFolder, tmp_path: Path, step: int
) -> None:
    run = branch(calm, step, calm.job(), tmp_path / "branch")
    assert work(run.path) == 0
    assert final(run) == final(calm)
    assert metrics(run) == metrics(calm)
    found = reproducibility_of(run)
    assert found.branched is not None
    assert found.branched.sentence() == (
        f"Branched from “Good or bad” at step {step}; nothing was changed."
    )
    assert found.environment == reproducibility_of(calm).environment and found.obstacles == ()


def test_a_branch_shows_exactly_what_was_changed(
    calm: RunFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [str(calm.path), "--step", "10", "--set", "training.learning_rate=1e-3"]
    assert command(["branch", *arguments, "--into", str(tmp_path / "branch")]) == 0
    assert "Learning rate 0.001 instead of 0.005" in capsys.readouterr().out
    run = RunFolder(tmp_path / "branch")
    assert work(run.path) == 0
    branched = reproducibility_of(run).branched
    assert branched is not None
    assert branched.sentence() == (
        "Branched from “Good or bad” at step 10; Learning rate 0.001 instead of 0.005."
    )
    assert command(["compare", str(calm.path), str(run.path)]) == 1
    printed = capsys.readouterr().out
    assert "job: different\n  training.learning_rate: 0.005 | 0.001\n" in printed
    assert "losses: different from step 12 on" in printed  # step 11 saw the weights of step 10
    assert "the largest difference is" in printed


def test_a_smaller_micro_batch_in_a_branch_is_taken(calm: RunFolder, tmp_path: Path) -> None:
    training = calm.job().training.model_copy(update={"micro_batch_size": 3})
    job = calm.job().model_copy(update={"training": training})
    run = branch(calm, 20, job, tmp_path / "branch")
    assert work(run.path) == 0
    assert final(run) != final(calm)  # sums and dropout are taken in another order


def test_a_branch_can_free_what_was_frozen(calm: RunFolder, tmp_path: Path) -> None:
    training = calm.job().training.model_copy(update={"frozen_layers": 2})
    frozen = small.new_run(tmp_path / "run", calm.job().model_copy(update={"training": training}))
    assert work(frozen.path) == 0
    run = branch(frozen, 20, calm.job(), tmp_path / "branch")
    assert work(run.path) == 0
    found = reproducibility_of(run)
    assert found.is_finished and found.branched is not None
    assert found.branched.changes == ("Frozen layers 0 instead of 2",)
    for folder, moved in ((frozen, False), (run, True)):
        ends = [safetensors.numpy.load_file(f / "model.safetensors") for f in
                (frozen.checkpoint(20), folder.checkpoint(30))]  # fmt: skip
        name = next(name for name in ends[0] if "embeddings.word" in name)
        assert (ends[0][name] != ends[1][name]).any() == moved


def test_what_a_branch_cannot_change_is_refused(calm: RunFolder, tmp_path: Path) -> None:
    job = calm.job()
    other: list[tuple[dict[str, object], str]] = [
        ({"task": Pretraining()}, "cannot change task"),
        ({"task": TextClassification(labels=("a", "b"))}, "cannot change task.labels"),
        ({"base_model": small.pretraining(tmp_path).base_model.model_copy(
            update={"lowercase": False})},
         "cannot change base_model.lowercase"),
        ({"data": small.pretraining(tmp_path).data}, "cannot change data"),
        ({"training": job.training.model_copy(update={"lora_rank": 4})}, "training.lora_rank"),
        ({"training": job.training.model_copy(update={"steps": 10})}, "already at step 10"),
    ]  # fmt: skip
    for update, problem in other:
        with pytest.raises(StudioError, match=problem):
            branch(calm, 10, job.model_copy(update=update), tmp_path / "branch")
    with pytest.raises(StudioError, match="no checkpoint at step 11"):
        branch(calm, 11, job, tmp_path / "branch")
    assert not (tmp_path / "branch").exists()
    assert not [entry for entry in tmp_path.iterdir() if entry.name.startswith(".")]


def test_changes_are_named_field_by_field(calm: RunFolder) -> None:
    job = calm.job()
    training = job.training.model_copy(update={"seed": 7, "dropout": None})
    found = changes(job, job.model_copy(update={"name": "x", "training": training}))
    assert [change.path for change in found] == ["training.seed", "training.dropout"]
    assert [change.sentence() for change in found] == [
        "Random seed 7 instead of 42",
        "Dropout none instead of 0.1",
    ]


# ── what is kept ─────────────────────────────────────────────────────────────────────────────


def test_the_best_the_last_and_every_nth_are_kept(calm: RunFolder) -> None:
    plan = TrainingSpec(keep=2, keep_every=10)
    assert reasons_to_keep(range(5, 31, 5), 15, plan) == {
        10: ("every 10",),
        15: ("best",),
        20: ("every 10",),
        25: ("last",),
        30: ("last", "every 10"),
    }
    found = retained_checkpoints(calm)
    assert {10, 20, 30} <= {one.step for one in found}
    for one in found:
        assert one.bytes == sum(f.stat().st_size for f in one.folder.rglob("*") if f.is_file())
    assert max_checkpoints(30, 5, plan) >= len(found)
    assert max_checkpoints(3, 5, TrainingSpec()) == 2


def test_the_last_checkpoint_of_an_unfinished_run_does_not_go_unasked(
    calm: RunFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check_removal(calm, 30) == ""
    run = stopped_at(tmp_path / "run", calm.job(), 12)
    assert check_removal(run, 10) == ""
    assert "resume from step 10 instead of step 12" in check_removal(run, 12)
    arguments = ["checkpoints", str(run.path), "--delete", "12"]
    assert command(arguments) == 1
    assert "not finished" in capsys.readouterr().err
    with run.lock(), pytest.raises(StudioError, match="is training"):
        check_removal(run, 12)
    assert command([*arguments, "--force"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[-2].startswith("step 10: ") and "last, every 10" in printed[-2]
    assert printed[-1].startswith("all: ")
    for folder in run.checkpoint_folders()[:-1]:
        assert command(["checkpoints", str(run.path), "--delete", folder.name[-2:]]) == 0
    assert "starts again from step 0" in check_removal(run, 10)


def test_the_estimate_says_what_the_checkpoints_take(calm: RunFolder) -> None:
    found = estimate(calm.job(), lambda stage: None)
    folders = retained_checkpoints(calm)
    size = max(one.bytes for one in folders)
    assert found.checkpoint == pytest.approx(size, abs=1.2e6)  # a megabyte is for the tokenizer
    assert len(folders) <= found.checkpoints <= len(folders) + 2


def test_a_save_that_nobody_heard_of_is_told_when_the_run_goes_on(tmp_path: Path) -> None:
    run = small.new_run(tmp_path / "run", small.classifying(tmp_path, steps=6, save_every=3))
    assert work(run.path) == 0
    whole = reproducibility_of(run)
    lines = run.events_file.read_bytes().splitlines(keepends=True)
    last = max(n for n, line in enumerate(lines) if b'"kind":"saved"' in line)
    run.events_file.write_bytes(b"".join(lines[:last]))  # as if the worker had been killed there
    assert reproducibility_of(run).weights != whole.weights
    assert work(run.path) == 0
    assert reproducibility_of(run).weights == whole.weights
    count = run.events_file.read_bytes().count(b'"kind":"saved"')
    assert work(run.path) == 0
    assert run.events_file.read_bytes().count(b'"kind":"saved"') == count
