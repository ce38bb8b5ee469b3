"""A killed or stopped run ends bit for bit like an uninterrupted one."""

import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.cli import main as command
from engine.config.dataset import FileData
from engine.config.job import JobSpec
from engine.config.tasks.pretraining import Pretraining
from engine.files.atomic_write import sha256, verify
from engine.messages.events import Ended, Measured, Saved, Started
from engine.runs.folder import RunFolder
from engine.runs.reproducibility import read_reproducibility
from engine.worker.train import main as work
from tests.engine.training import small
from tests.engine.training.killing import KillPoint


def final(run: RunFolder) -> dict[str, str]:
    """SHA-256 of the files of the last checkpoint, without paths."""
    last = run.checkpoint_folders()[-1]
    return {
        file.relative_to(last).as_posix(): sha256(file)
        for file in sorted(last.rglob("*"))
        if file.is_file() and file.name not in ("manifest.json", "job.json")
    }


def metrics(run: RunFolder) -> dict[tuple[str, int], float | None]:
    """Last value of every point of every curve, except speed."""
    events, _ = run.events_after(0)
    return {
        (event.name, event.step): event.value
        for event in events
        if isinstance(event, Measured) and event.name != "tokens_per_second"
    }


def in_parts(folder: Path, **training: object) -> JobSpec:
    settings = {"layer_lr_decay": 0.8, "dropout": 0.1, "lr_schedule": "cosine"}
    return small.classifying(folder, micro_batch_size=3, **settings, **training)


def with_next_sentence(folder: Path) -> JobSpec:
    task = Pretraining(nsp=True, whole_word_masking=True)
    return small.pretraining(folder).model_copy(update={"task": task})


def with_long_inputs(folder: Path) -> JobSpec:
    task = Pretraining(long_length=48, long_share=0.3, masking="static")
    return small.pretraining(folder).model_copy(update={"task": task})


ALL_POINTS: tuple[KillPoint, ...] = (
    ("saving", 3),  # before there is a complete checkpoint
    ("loss", 3),  # in the middle of an epoch, with nothing saved
    ("evaluating", 1),
    ("loss", 9),
    ("evaluating", 2),
)
ONE_POINT: tuple[KillPoint, ...] = (("loss", 9),)  # for tasks that write the same files
TASKS: dict[str, Callable[[Path], JobSpec]] = {  # each task, and each option that changes a step
    "classes": in_parts,
    "masked words and next sentence": with_next_sentence,
    "long inputs at the end": with_long_inputs,
    "next word": small.left_to_right,
    "answers": small.answering,
    "tags": lambda folder: small.tagging(folder, micro_batch_size=3, gradient_checkpointing=True),
    "number": lambda folder: small.learning("number", folder, dropout=0.1),
    "choices": lambda folder: small.learning("choices", folder, micro_batch_size=3, dropout=0.1),
    "attention over windows": lambda folder: small.learning("windows", folder, max_length=12),
    "cached frozen layers": lambda folder: in_parts(
        folder, frozen_layers=1, cache_frozen_layers=True
    ),
    "averaged adapters": lambda folder: small.adapted(folder, lora_dropout=0.1, ema_decay=0.9),
}


STATELESS = ("next word", "number", "answers", "choices")  # steps without state of their own


@pytest.mark.parametrize(
    "task", [t if t not in STATELESS else pytest.param(t, marks=pytest.mark.long) for t in TASKS]
)
def test_a_repeatedly_killed_run_ends_with_the_same_weights(task, killer, tmp_path):
    job = TASKS[task](tmp_path)
    job = small.with_training(job, steps=11, evaluate_every=5, save_every=4)
    reference, killed = (small.new_run(tmp_path / name, job) for name in ("reference", "killed"))
    assert killer.train(reference, None) == 0

    for point in ALL_POINTS if task == "masked words and next sentence" else ONE_POINT:
        assert killer.train(killed, point) == -signal.SIGKILL
        for folder in killed.checkpoint_folders():
            verify(folder)
    assert killer.train(killed, None) == 0
    assert final(killed) == final(reference)
    assert metrics(killed) == metrics(reference)
    assert read_reproducibility(killed).weights == read_reproducibility(reference).weights
    assert read_reproducibility(killed).obstacles == ()


def train_until(run: RunFolder, step: int, kind: type[Saved | Measured] = Saved) -> RunFolder:
    """Train until an event of a step, then stop as a user does."""

    def stop(event: object) -> None:
        if isinstance(event, kind) and event.step >= step:
            run.request_stop()

    assert work(run.path, stop) == 0
    run.clear_stop()
    return run


def new_run(folder: Path, name: str = "run") -> RunFolder:
    return small.new_run(folder / name, in_parts(folder, steps=12))


def test_stop_saves_and_resume_is_exact(tmp_path):
    reference, stopped = new_run(tmp_path, "reference"), new_run(tmp_path, "stopped")
    assert work(reference.path) == 0
    train_until(stopped, 7, Measured)
    events, _ = stopped.events_after(0)
    assert isinstance(events[-1], Ended)
    assert (events[-1].outcome, events[-1].step) == ("stopped", 7)
    assert any(isinstance(event, Saved) and event.step == 7 for event in events)

    assert work(stopped.path) == 0
    assert final(stopped) == final(reference)
    assert metrics(stopped) == metrics(reference)
    assert "Resumed from step 7, bit for bit." in small.notes(stopped)


def test_a_changed_number_of_threads_is_reported(tmp_path):
    run = train_until(new_run(tmp_path), 5)
    hardware = run.job().hardware.model_copy(update={"threads": 2})
    run.spec_file.write_text(run.job().model_copy(update={"hardware": hardware}).model_dump_json())
    work(run.path)
    assert any("not bit for bit (threads 1 → 2)" in note for note in small.notes(run))


def test_a_damaged_checkpoint_is_reported_and_the_previous_one_used(tmp_path):
    run = train_until(new_run(tmp_path), 10)
    *_, before, last = run.checkpoint_folders()
    weights = last / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1  # one flipped bit
    weights.write_bytes(content)

    assert work(run.path) == 0
    assert any(last.name in note and "damaged" in note for note in small.notes(run))
    step = int(before.name.removeprefix("step-"))
    assert f"Resumed from step {step}, bit for bit." in small.notes(run)
    assert sum(isinstance(event, Started) for event in run.events_after(0)[0]) == 2


def test_changed_data_is_refused_without_the_option(tmp_path, capsys):
    run = train_until(new_run(tmp_path), 5)
    shutil.rmtree(run.dataset)  # its copy
    source = run.job().data
    assert isinstance(source, FileData)
    source.path.write_text(source.path.read_text().replace("film", "movie"))
    assert command(["resume", str(run.path)]) == 1
    assert "data of this run have changed" in capsys.readouterr().err
    assert command(["resume", str(run.path), "--changed-data"]) == 0
    assert any("not bit for bit (data" in note for note in small.notes(run))
    assert not run.changed_data_file.exists()


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="POSIX signals")
def test_closing_the_terminal_stops_and_saves_the_run(tmp_path):
    run = new_run(tmp_path)

    def hang_up(event: object) -> None:
        if isinstance(event, Measured) and (event.name, event.step) == ("loss", 3):
            signal.raise_signal(signal.SIGHUP)

    assert work(run.path, hang_up) == 0
    last = run.last_events()[-1]
    assert isinstance(last, Ended) and last.outcome == "stopped"
    assert run.checkpoint_folders()
