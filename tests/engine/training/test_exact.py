"""A disturbed run ends as an undisturbed one: bit for bit, whatever killed it and when."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.durable import sha256, verify
from engine.messages import Ended, Measured, Noted, Saved, Started
from engine.runs.folder import RunFolder
from engine.runs.launch import environment
from engine.spec.job import JobSpec
from engine.spec.task import Pretraining
from engine.worker.train import main as work
from tests.engine.training import small

KILLS = 4


def final(run: RunFolder) -> dict[str, str]:
    """SHA-256 of all that the last checkpoint says, but for the names of places."""
    last = run.checkpoint_folders()[-1]
    return {
        file.relative_to(last).as_posix(): sha256(file)
        for file in sorted(last.rglob("*"))
        if file.is_file() and file.name not in ("manifest.json", "job.json")
    }


def figures(run: RunFolder) -> dict[tuple[str, int], float | None]:
    """The last word on every point of every curve that time does not touch."""
    events, _ = run.events_after(0)
    return {
        (event.name, event.step): event.value
        for event in events
        if isinstance(event, Measured) and event.name != "tokens_per_second"
    }


def in_parts(folder: Path) -> JobSpec:
    return small.classifying(folder, micro_batch=3, layer_decay=0.8, dropout=0.1)


def with_next_sentence(folder: Path) -> JobSpec:
    task = Pretraining(next_sentence=True, whole_words=True)
    return small.pretraining(folder).model_copy(update={"task": task})


@pytest.fixture(params=[in_parts, with_next_sentence], ids=["classes", "masked words"])
def job(request: pytest.FixtureRequest, tmp_path: Path) -> JobSpec:
    make: Callable[[Path], JobSpec] = request.param
    return make(tmp_path)


@pytest.fixture
def undisturbed(job: JobSpec, tmp_path: Path) -> RunFolder:
    run = small.new_run(tmp_path / "undisturbed", job)
    assert work(run.path) == 0
    return run


def start(run: RunFolder) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "engine.worker", "train", str(run.path)]
    return subprocess.Popen(command, env=environment(), stderr=subprocess.DEVNULL)


def test_a_run_killed_again_and_again_ends_with_the_same_weights(
    job: JobSpec, undisturbed: RunFolder, tmp_path: Path
) -> None:
    vocabulary = undisturbed.cache / "vocabulary"  # made once for both: its training may vary
    given = job.start.model_copy(update={"tokenizer": vocabulary})
    job = job.model_copy(update={"start": given})
    calm, hurt = (small.new_run(tmp_path / name, job) for name in ("calm", "hurt"))
    assert work(calm.path) == 0

    chance = random.Random(3)
    kills = 0
    while kills < KILLS:
        before = len(hurt.events_after(0)[0])
        wanted = before + chance.randint(1, 25)  # events after which it dies
        worker = start(hurt)
        while worker.poll() is None and len(hurt.events_after(0)[0]) < wanted:
            time.sleep(0.001)
        if worker.poll() is not None:
            break
        os.kill(worker.pid, signal.SIGKILL)
        worker.wait()
        kills += 1
        for folder in hurt.checkpoint_folders():
            verify(folder)
    assert kills >= 3
    assert work(hurt.path) == 0
    assert final(hurt) == final(calm)
    assert figures(hurt) == figures(calm)


def test_stop_saves_and_going_on_is_exact(
    job: JobSpec, undisturbed: RunFolder, tmp_path: Path
) -> None:
    given = job.start.model_copy(update={"tokenizer": undisturbed.cache / "vocabulary"})
    job = job.model_copy(update={"start": given})
    calm, stopped = (small.new_run(tmp_path / name, job) for name in ("calm", "stopped"))
    assert work(calm.path) == 0

    def stop_at_eleven(event: object) -> None:
        if isinstance(event, Measured) and event.name == "loss" and event.step == 11:
            stopped.ask_stop()

    assert work(stopped.path, stop_at_eleven) == 0
    events, _ = stopped.events_after(0)
    assert isinstance(events[-1], Ended)
    assert (events[-1].outcome, events[-1].step) == ("stopped", 11)
    assert isinstance(events[-2], Saved) or any(
        isinstance(event, Saved) and event.step == 11 for event in events
    )

    stopped.clear_stop()
    assert work(stopped.path) == 0
    assert final(stopped) == final(calm)
    assert figures(stopped) == figures(calm)
    notes = [e.text for e in stopped.events_after(0)[0] if isinstance(e, Noted)]
    assert "Goes on from step 11, bit for bit." in notes


def test_another_number_of_threads_is_said(job: JobSpec, tmp_path: Path) -> None:
    run = small.new_run(tmp_path / "run", job)

    def stop(event: object) -> None:
        if isinstance(event, Saved):
            run.ask_stop()

    work(run.path, stop)
    run.clear_stop()
    hardware = job.hardware.model_copy(update={"threads": 2})
    run.spec_file.write_text(job.model_copy(update={"hardware": hardware}).model_dump_json())
    work(run.path)
    notes = [e.text for e in run.events_after(0)[0] if isinstance(e, Noted)]
    assert any("not bit for bit: threads 1 → 2" in note for note in notes)


def test_a_damaged_checkpoint_is_named_and_the_one_before_is_used(
    job: JobSpec, tmp_path: Path
) -> None:
    run = small.new_run(tmp_path / "run", job)

    def stop(event: object) -> None:
        if isinstance(event, Saved) and event.step >= 10:
            run.ask_stop()

    work(run.path, stop)
    run.clear_stop()
    *_, before, last = run.checkpoint_folders()
    weights = last / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1  # one flipped bit
    weights.write_bytes(content)

    assert work(run.path) == 0
    events, _ = run.events_after(0)
    notes = [event.text for event in events if isinstance(event, Noted)]
    assert any(last.name in note and "damaged" in note for note in notes)
    step = int(before.name.removeprefix("step-"))
    assert f"Goes on from step {step}, bit for bit." in notes
    assert sum(isinstance(event, Started) for event in events) == 2
