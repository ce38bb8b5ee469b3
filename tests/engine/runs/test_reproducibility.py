"""The origin of weights, and the verification of files."""

import json
import shutil
from pathlib import Path

import pytest

from engine.cli import main as command
from engine.config.job import JobSpec
from engine.files.atomic_write import sha256
from engine.messages.events import Ended, Event, Measured, Noted, Prepared, Saved, Started
from engine.runs.branching import branch
from engine.runs.folder import RunFolder, checkpoint_step
from engine.runs.reproducibility import damaged_checkpoints, read_reproducibility
from engine.worker.train import main as work
from tests.engine.runs import fake_worker
from tests.engine.training import small
from tests.engine.training.test_loop import final


def run_until(folder: Path, job: JobSpec, step: int) -> RunFolder:
    run = small.new_run(folder, job)

    def on_event(event: Event) -> None:
        if isinstance(event, Measured) and event.name == "loss" and event.step == step:
            run.request_stop()

    assert work(run.path, on_event) == 0
    run.clear_stop()
    return run


def test_a_certificate_lists_everything_that_determines_the_weights(finished):
    certificate = read_reproducibility(finished)
    last = finished.checkpoint_folders()[-1]
    assert certificate.weights == sha256(last / "model.safetensors")
    assert certificate.optimiser == sha256(last / "resume" / "optimiser.safetensors")
    assert set(certificate.environment) == {
        *("cpu", "instructions", "device", "threads", "processes", "precision"),
        *("torch", "tokenizers", "numpy", "studio", "data", "vocabulary", "start"),
    }
    assert all(certificate.environment.values())
    assert certificate.environment["threads"] == "1" and certificate.environment["device"] == "cpu"
    assert len(certificate.environment["start"]) == len(certificate.environment["data"]) == 64
    assert certificate.is_finished and certificate.step == certificate.steps == 30
    assert certificate.obstacles == ()
    assert [(s.first, s.last, s.differences) for s in certificate.sessions] == [(0, 30, ())]


def test_the_same_job_twice_begins_and_ends_with_the_same_weights(finished, tmp_path, capsys):
    repeated = small.new_run(tmp_path / "again", finished.job())
    assert work(repeated.path) == 0
    first, second = read_reproducibility(finished), read_reproducibility(repeated)
    assert first.environment == second.environment
    assert (first.weights, first.optimiser) == (second.weights, second.optimiser)
    assert command(["compare", str(finished.path), str(repeated.path)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "job: the same",
        "environment: the same",
        "losses: the same",
        "weights of step 30: the same, bit for bit",
    ]


def test_each_resume_is_listed_with_its_differences(finished, tmp_path):
    job = finished.job()
    run = run_until(tmp_path / "run", job, 7)
    hardware = job.hardware.model_copy(update={"threads": 2})
    run.spec_file.write_text(job.model_copy(update={"hardware": hardware}).model_dump_json())
    assert work(run.path) == 0
    certificate = read_reproducibility(run)
    assert [(s.first, s.last, s.differences) for s in certificate.sessions] == [
        (0, 7, ()),
        (7, 30, ("threads 1 → 2",)),
    ]
    assert certificate.obstacles == ("From step 7: threads 1 → 2.",)


def test_a_session_without_a_checkpoint_does_not_count(tmp_path):
    run = small.new_run(tmp_path / "run", small.classifying(tmp_path))
    current, other = {"device": "cpu", "threads": "1"}, {"device": "cpu", "threads": "2"}

    def begin(step: int, environment: dict[str, str], differences: tuple[str, ...] = ()) -> None:
        run.append(Started(pid=1, step=step))
        fields = {"environment": environment, "differences": differences}
        run.append(fake_worker.prepared(9, step=step, **fields))

    begin(0, current)
    run.append(Saved(step=4, folder="x", weights="w4"))
    begin(4, other, ("threads 1 → 2",))
    begin(4, current)
    run.append(Noted(text="Memory was short at step 6.", exact=False))
    run.append(Saved(step=9, folder="y", weights="w9"))
    run.append(Ended(outcome="finished", step=9))
    certificate = read_reproducibility(run)
    assert [session.affects_weights for session in certificate.sessions] == [True, False, True]
    assert certificate.obstacles == ("Memory was short at step 6.",)
    assert certificate.weights == "w9"


def test_a_flipped_bit_and_a_forged_manifest_are_found(finished, tmp_path, capsys):
    assert command(["reproducibility", str(finished.path)]) == 0
    printed = capsys.readouterr().out
    assert f"weights: {read_reproducibility(finished).weights}" in printed
    assert "reproducible: yes, in this environment" in printed
    count = len(finished.checkpoint_folders())
    assert f"files: {count} checkpoints, all checksums match" in printed

    run = branch(finished, 20, finished.job(), tmp_path / "run")
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


def test_a_run_without_a_recorded_device_is_marked(tmp_path):
    run = RunFolder.create(tmp_path / "run", small.classifying(tmp_path))
    prepared = {"steps": 1, "parameters": 1, "examples": 1, "device": "cpu", "threads": 1}
    run.append(Prepared.model_validate(prepared | {"environment": {"torch": "2"}}))
    assert read_reproducibility(run).obstacles == ("The device was not recorded.",)


@pytest.mark.parametrize("manifest", ["{", '{"files": {"x": 1}}', "["])
def test_a_damaged_manifest_is_reported_and_the_previous_checkpoint_used(
    tmp_path, finished, capsys, manifest
):
    shutil.copytree(finished.path, tmp_path / "run")
    run = RunFolder(tmp_path / "run")
    *_, before, last = run.checkpoint_folders()
    (last / "manifest.json").write_text(manifest if manifest != "[" else "[" * 100_000)
    assert command(["reproducibility", str(run.path)]) == 1
    assert f"{last.name}: The manifest of" in capsys.readouterr().out
    assert command(["resume", str(run.path)]) == 0
    notes = [e.text for e in run.events_after(0)[0] if isinstance(e, Noted)]
    assert any(last.name in note and "damaged" in note for note in notes)
    assert f"Resumed from step {checkpoint_step(before)}, bit for bit." in notes
    assert final(run) == final(finished)
