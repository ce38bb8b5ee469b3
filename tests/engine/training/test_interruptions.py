"""Runs that are interrupted at any point end like an uninterrupted one.

All need --long; `test_loop.py` and others test each fault once or twice in every run.
"""

import random
import shutil
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.config.job import JobSpec
from engine.files.atomic_write import verify
from engine.messages.events import Ended, Event, Measured
from engine.runs.folder import RunFolder, checkpoint_step
from engine.worker.train import main as work
from tests.engine.training import small
from tests.engine.training.test_loop import final, metrics

pytestmark = [pytest.mark.long, pytest.mark.timeout(7200)]
JOBS: dict[str, Callable[..., JobSpec]] = {
    "classes": small.classifying,
    "masked words": small.pretraining,
}


def pair(folder: Path, job: JobSpec) -> tuple[RunFolder, RunFolder]:
    """A finished run, and a new one with its vocabulary."""
    reference, run = (small.new_run(folder / name, job) for name in ("reference", "run"))
    assert work(reference.path) == 0
    shutil.copytree(reference.cache, run.cache)
    return reference, run


def at_step(step: int, action: Callable[[], object]) -> Callable[[Event], None]:
    """Event handler that acts once, after `step`."""

    def on_event(event: Event) -> None:
        if isinstance(event, Measured) and (event.name, event.step) == ("loss", step):
            action()

    return on_event


@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("kind", JOBS)
def test_a_run_killed_at_random_moments_loses_nothing(killer, tmp_path, kind, part):
    """25 times in each part: 200 in all."""
    job = JOBS[kind](tmp_path, steps=40, evaluate_every=10, save_every=4)
    reference, killed = pair(tmp_path, job)
    pristine = shutil.copytree(killed.path, tmp_path / "pristine")
    rng, kills, known = random.Random(f"{kind} {part}"), 0, dict[tuple[str, int], float | None]()
    while kills < 25:
        if killer.train(killed, ("later", rng.randint(10, 900))) == -signal.SIGKILL:
            kills += 1
            points = {p: value for p, value in metrics(killed).items() if p[0] == "loss"}
            assert known.keys() <= points.keys(), "a reported point was lost"
            known = points
            for folder in killed.checkpoint_folders():
                verify(folder)
        else:
            assert (final(killed), metrics(killed)) == (final(reference), metrics(reference))
            shutil.rmtree(killed.path)
            shutil.copytree(pristine, killed.path)
            known = {}
    assert killer.train(killed, None) == 0
    assert (final(killed), metrics(killed)) == (final(reference), metrics(reference))


FAULTS = ("saving", "moving", "removing", "full")


@pytest.mark.parametrize("fault", FAULTS)
def test_a_good_checkpoint_survives_any_disk_failure(killer, tmp_path, fault):
    """The only kept checkpoint is deleted only after the next one is complete."""
    job = small.classifying(tmp_path, steps=12, save_every=2, evaluate_every=4, keep=1)
    reference, run = pair(tmp_path, job)
    assert work(run.path, at_step(4, run.request_stop)) == 0
    run.clear_stop()
    number = 1
    while True:
        killed = RunFolder(shutil.copytree(run.path, tmp_path / "killed"))
        code = killer.train(killed, (fault, number))
        waited = any(event.kind == "waiting" for event in killed.events_after(0)[0])
        if code == 0 and not waited:  # there are fewer calls
            break
        assert code == (0 if fault == "full" else -signal.SIGKILL)
        folders = killed.checkpoint_folders()
        assert folders
        for folder in folders:
            verify(folder)
        assert fault == "full" or killer.train(killed, None) == 0
        assert (final(killed), metrics(killed)) == (final(reference), metrics(reference))
        shutil.rmtree(killed.path)
        number += 1
    print(f"{fault}: {number - 1} calls, each with a complete checkpoint")
    assert number > 1


@pytest.mark.parametrize("kind", JOBS)
def test_a_run_stopped_after_each_of_its_steps_ends_the_same(tmp_path, kind):
    options = {"micro_batch_size": 3} if kind == "classes" else {}
    job = JOBS[kind](tmp_path, steps=200, evaluate_every=7, save_every=5, dropout=0.1, **options)
    reference, run = pair(tmp_path, job)
    for step in range(1, 200):
        assert work(run.path, at_step(step, run.request_stop)) == 0
        run.clear_stop()
        assert checkpoint_step(run.checkpoint_folders()[-1]) == step
    assert work(run.path) == 0
    assert (final(run), metrics(run)) == (final(reference), metrics(reference))


CHANGES: dict[str, Callable[[Path], object]] = {
    "replaced": lambda source: source.write_text("text,label\nanother,bad\n"),
    "cut": lambda source: source.write_bytes(source.read_bytes()[:40]),
    "deleted": lambda source: source.unlink(),
}


def test_a_source_that_changes_at_any_step_changes_no_run(tmp_path):
    reference, new_run = pair(tmp_path, small.classifying(tmp_path, steps=12))
    source = tmp_path / "sentences.csv"
    content = source.read_bytes()
    rng = random.Random(25)
    for _ in range(50):
        run = RunFolder(shutil.copytree(new_run.path, tmp_path / "run-of-it"))
        change = rng.choice(list(CHANGES.values()))

        def action(change: Callable[[Path], object] = change, run: RunFolder = run) -> None:
            change(source)
            run.request_stop()

        assert work(run.path, at_step(rng.randint(1, 11), action)) == 0
        run.clear_stop()
        assert work(run.path) == 0
        assert (final(run), metrics(run)) == (final(reference), metrics(reference))
        shutil.rmtree(run.path)
        source.write_bytes(content)


@pytest.mark.parametrize("part", range(2))
def test_a_stop_at_any_moment_leaves_a_resumable_run(tmp_path, part):
    reference, new_run = pair(tmp_path, small.classifying(tmp_path, steps=20, evaluate_every=5))
    rng = random.Random(14 + part)
    for _ in range(50):
        run = RunFolder(shutil.copytree(new_run.path, tmp_path / "stopped"))
        timer = threading.Timer(rng.uniform(0, 0.5), run.request_stop)
        timer.start()
        assert work(run.path) == 0
        timer.join()
        ended = run.last_events()[-1]
        assert isinstance(ended, Ended) and ended.outcome in ("stopped", "finished")
        for folder in (run.path, run.path / "checkpoints"):
            assert not [f for f in folder.glob(".*") if ".tmp-" in f.name]
        run.clear_stop()
        assert work(run.path) == 0
        assert final(run) == final(reference)
        shutil.rmtree(run.path)
