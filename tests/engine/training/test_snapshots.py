"""Snapshots: their steps, their content, and exact resumes."""

import shutil
import signal
from pathlib import Path

import pytest
import safetensors.torch
import torch

from engine.checkpoints.info import checkpoint_info
from engine.cli import main as command
from engine.config.job import JobSpec
from engine.errors import BadCheckpoint
from engine.files.atomic_write import MANIFEST, sha256, verify
from engine.messages.events import Event, Measured, Noted, Saved
from engine.models import checkpoint
from engine.runs.copying import files_to_copy
from engine.runs.folder import RunFolder, checkpoint_step
from engine.runs.snapshots import (
    count_snapshots,
    find_run,
    is_snapshot_step,
    snapshot_folder,
    snapshot_folders,
    snapshots_size,
)
from engine.tokenizers.tokenizer import Tokenizer
from engine.training.checkpoints import TOKENIZER_SIZE
from engine.training.estimate import estimate
from engine.worker.train import main as work
from tests.engine.training import small
from tests.engine.training.finished import notes, run_job

PYTHIA = [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512]  # Biderman et al. 2023, before every 1,000th


OTHER_FAULTS = (("loss", 9), ("moving", 5))


def steps(run: RunFolder) -> list[int]:
    return [checkpoint_step(folder) for folder in snapshot_folders(run)]


def hashes(run: RunFolder) -> dict[str, str]:
    """SHA-256 of all files of all snapshots."""
    files = (f for f in run.snapshots.rglob("*") if f.is_file())
    return {f.relative_to(run.snapshots).as_posix(): sha256(f) for f in files}


def short_job(folder: Path, **changes: object) -> JobSpec:
    options = {"steps": 11, "save_every": 4, "evaluate_every": 4, "snapshot_every": 1000}
    return small.classifying(folder, **options | changes)


def test_snapshot_steps_match_pythia():
    expected = [*PYTHIA, *range(1000, 143_001, 1000)]
    assert [s for s in range(143_001) if is_snapshot_step(s, 1000)] == expected
    assert len(expected) == 154, "as the paper counts them"
    assert not any(is_snapshot_step(step, 0) for step in range(600))


def test_the_count_matches_a_whole_run():
    for interval in (1, 3, 100, 512, 600, 1000):
        for last in (1, 2, 3, 100, 511, 512, 513, 600, 1200, 1201):
            result = {s for s in range(last + 1) if is_snapshot_step(s, interval)} | {last}
            assert count_snapshots(last, interval) == len(result), (last, interval)
    assert count_snapshots(1200, 0) == 0


@pytest.fixture(scope="module")
def full_run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """An uninterrupted run."""
    folder = tmp_path_factory.mktemp("full")
    run = small.new_run(folder / "run", short_job(folder))
    assert work(run.path) == 0
    return run


def test_a_run_without_snapshots_has_the_same_weights(full_run, tmp_path):
    run, weights, events = run_job(tmp_path / "run", short_job(tmp_path, snapshot_every=0))
    assert snapshot_folders(run) == [] and not run.snapshots.exists()
    assert not any("snapshot" in note for note in notes(events))
    network = checkpoint.load(full_run.checkpoint_folders()[-1]).network
    assert all(torch.equal(p, weights[name]) for name, p in network.named_parameters())


def test_the_estimated_size_matches_the_files(full_run):
    estimated = estimate(full_run.job(), lambda _: None)
    assert steps(full_run) == [0, 1, 2, 4, 8, 11] and estimated.snapshots == 6
    (text,) = (note for note in notes(full_run.events_after(0)[0]) if "snapshot" in note)
    assert "6 snapshots" in text
    weights = [(f / "model.safetensors").stat().st_size for f in snapshot_folders(full_run)]
    assert estimated.snapshot <= max(weights) <= estimated.snapshot + 20_000, (
        "plus names and shapes"
    )
    assert estimated.disk == estimated.checkpoint * estimated.checkpoints + 6 * estimated.snapshot
    assert snapshots_size(full_run) <= 6 * max(weights) + TOKENIZER_SIZE


@pytest.mark.parametrize("uses_ema", [False, True], ids=["plain", "averaged"])
def test_a_snapshot_is_its_checkpoint_in_half_precision(full_run, tmp_path, uses_ema):
    """Read by safetensors, and by our loader."""
    run = run_job(tmp_path / "run", short_job(tmp_path, ema_decay=0.9))[0] if uses_ema else full_run
    saved = safetensors.torch.load_file(run.checkpoint(8) / "model.safetensors")
    folder = snapshot_folder(run, 8)
    tensors = safetensors.torch.load_file(folder / "model.safetensors")
    assert tensors.keys() == saved.keys()
    for name, tensor in tensors.items():
        assert tensor.dtype == torch.float16 and torch.equal(tensor, saved[name].half()), name
    assert {file.name for file in folder.iterdir()} == {"model.safetensors", MANIFEST}
    loaded, expected = checkpoint.load(folder), checkpoint.load(run.checkpoint(8))
    assert (loaded.spec, loaded.labels) == (expected.spec, expected.labels)
    for a, other in zip(loaded.network.parameters(), expected.network.parameters(), strict=True):
        assert torch.equal(a, other.half().float())
    info = checkpoint_info(folder)
    assert info.task == "text_classification" and info.dtype == "float16"
    assert info.labels == checkpoint_info(run.checkpoint(8)).labels
    assert Tokenizer.from_folder(folder).tokens == expected.tokenizer.tokens
    assert find_run(folder) is not None and find_run(run.checkpoint(8)) is not None
    assert find_run(tmp_path / "models" / "bert") is None


def test_a_damaged_snapshot_is_reported(full_run, tmp_path):
    run = RunFolder(shutil.copytree(full_run.path, tmp_path / "run"))
    file = snapshot_folder(run, 2) / "model.safetensors"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    with pytest.raises(BadCheckpoint, match="damaged"):
        checkpoint.load(snapshot_folder(run, 2))
    shared = run.snapshots / "config.json"
    shared.write_text(
        shared.read_text().replace('"num_hidden_layers": 2', '"num_hidden_layers": 1')
    )
    with pytest.raises(BadCheckpoint, match=r"config\.json"):
        checkpoint.load(snapshot_folder(run, 4))


@pytest.mark.parametrize(
    "fault", [("saving", 12), *(pytest.param(p, marks=pytest.mark.long) for p in OTHER_FAULTS)]
)
def test_a_killed_run_has_each_snapshot_once_and_identical(full_run, killer, tmp_path, fault):
    killed = small.new_run(tmp_path / "killed", full_run.job())
    shutil.copytree(full_run.cache, killed.cache)
    assert killer.train(killed, fault) == -signal.SIGKILL
    for folder in snapshot_folders(killed):
        verify(folder)
    assert killer.train(killed, None) == 0
    assert steps(killed) == steps(full_run) == [0, 1, 2, 4, 8, 11]
    assert hashes(killed) == hashes(full_run)
    assert {f.name for f in killed.snapshots.iterdir()} == {
        f.name for f in full_run.snapshots.iterdir()
    }


class Killed(BaseException):
    """Simulated kill that no `except Exception` catches."""


def test_a_run_killed_right_after_a_checkpoint_has_the_snapshot_of_its_step(full_run, tmp_path):
    run = small.new_run(tmp_path / "run", full_run.job())

    def on_event(event: Event) -> None:
        if isinstance(event, Saved) and event.step == 8:
            raise Killed

    with pytest.raises(Killed):
        work(run.path, on_event)
    assert work(run.path) == 0
    assert steps(run) == [0, 1, 2, 4, 8, 11] and hashes(run) == hashes(full_run)


def test_a_resume_makes_the_remaining_snapshots(full_run, tmp_path):
    run = small.new_run(tmp_path / "run", full_run.job())

    def on_event(event: Event) -> None:
        if isinstance(event, Measured) and (event.name, event.step) == ("loss", 5):
            run.request_stop()

    assert work(run.path, on_event) == 0
    assert steps(run) == [0, 1, 2, 4], "a stopped run has no last step yet"
    run.clear_stop()
    assert work(run.path) == 0
    assert hashes(run) == hashes(full_run)


def test_snapshots_past_the_resumed_step_are_deleted(full_run, tmp_path):
    """The resumed run may differ, for example on another machine."""
    run = RunFolder(shutil.copytree(full_run.path, tmp_path / "run"))
    for step in (8, 11):
        shutil.rmtree(run.checkpoint(step))
    assert steps(run)[-1] == 11
    snapshots: list[list[int]] = []

    def on_event(event: Event) -> None:
        if isinstance(event, Measured) and (event.name, event.step) == ("loss", 5):
            snapshots.append(steps(run))

    assert work(run.path, on_event) == 0
    assert snapshots == [[0, 1, 2, 4]] and steps(run)[-1] == 11


def test_snapshots_are_copied_and_counted(full_run, capsys):
    copied = {file.relative_to(full_run.path).as_posix() for file in files_to_copy(full_run.path)}
    assert {"snapshots/config.json", "snapshots/step-00000008/model.safetensors"} <= copied
    assert command(["checkpoints", str(full_run.path)]) == 0
    assert "6 snapshots of steps 0 to 11" in capsys.readouterr().out


def test_weights_too_large_for_half_precision_skip_the_snapshot(tmp_path, monkeypatch):
    """The training continues to its end."""
    original = checkpoint.finite_tensors

    def with_large_weight(network: object, dtype: torch.dtype = torch.float32) -> object:
        if dtype == torch.float16 and not run.snapshots.exists():
            weight = next(network.parameters())  # type: ignore[attr-defined]
            saved = weight.detach().clone()
            with torch.no_grad():
                weight.view(-1)[0] = 1e6
                try:
                    return original(network, dtype)  # type: ignore[arg-type]
                finally:
                    weight.copy_(saved)
                    run.snapshots.mkdir()
        return original(network, dtype)  # type: ignore[arg-type]

    job = short_job(tmp_path)
    run = small.new_run(tmp_path / "run", job)
    monkeypatch.setattr(checkpoint, "finite_tensors", with_large_weight)
    assert work(run.path) == 0
    events = [event for event in run.milestones() if isinstance(event, Noted)]
    assert any("No snapshot of step 0" in note.text for note in events)
    assert steps(run) == [1, 2, 4, 8, 11]
