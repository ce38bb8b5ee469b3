"""Runs that are interrupted anywhere end like an uninterrupted one.

All with --long; `test_loop.py` and its neighbours try each fault once or twice in every run.
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
    """A finished run, and a fresh one with its vocabulary."""
    calm, run = (small.new_run(folder / name, job) for name in ("calm", "run"))
    assert work(calm.path) == 0
    shutil.copytree(calm.cache, run.cache)
    return calm, run


def hear_step(step: int, act: Callable[[], object]) -> Callable[[Event], None]:
    """Event handler that acts once, after `step`."""

    def on_event(event: Event) -> None:
        if isinstance(event, Measured) and (event.name, event.step) == ("loss", step):
            act()

    return on_event


@pytest.mark.parametrize("part", range(4))
@pytest.mark.parametrize("kind", JOBS)
def test_a_run_killed_at_random_moments_loses_nothing(killer, tmp_path, kind, part):
    """25 times in each part: 200 in all."""
    job = JOBS[kind](tmp_path, steps=40, evaluate_every=10, save_every=4)
    calm, hurt = pair(tmp_path, job)
    pristine = shutil.copytree(hurt.path, tmp_path / "pristine")
    dice, killed, seen = random.Random(f"{kind} {part}"), 0, dict[tuple[str, int], float | None]()
    while killed < 25:
        if killer.train(hurt, ("later", dice.randint(10, 900))) == -signal.SIGKILL:
            killed += 1
            shown = {point: value for point, value in metrics(hurt).items() if point[0] == "loss"}
            assert seen.keys() <= shown.keys(), "a point that was shown is lost"
            seen = shown
            for folder in hurt.checkpoint_folders():
                verify(folder)
        else:
            assert (final(hurt), metrics(hurt)) == (final(calm), metrics(calm))
            shutil.rmtree(hurt.path)
            shutil.copytree(pristine, hurt.path)
            seen = {}
    assert killer.train(hurt, None) == 0
    assert (final(hurt), metrics(hurt)) == (final(calm), metrics(calm))


PLACES = ("saving", "moving", "removing", "full")


@pytest.mark.parametrize("place", PLACES)
def test_a_good_checkpoint_survives_any_disk_failure(killer, tmp_path, place):
    """With one kept: the old one goes only when the new one is safe."""
    job = small.classifying(tmp_path, steps=12, save_every=2, evaluate_every=4, keep=1)
    calm, run = pair(tmp_path, job)
    assert work(run.path, hear_step(4, run.request_stop)) == 0
    run.clear_stop()
    number = 1
    while True:
        hurt = RunFolder(shutil.copytree(run.path, tmp_path / "hurt"))
        end = killer.train(hurt, (place, number))
        waited = any(event.kind == "waiting" for event in hurt.events_after(0)[0])
        if end == 0 and not waited:  # there are fewer calls than that
            break
        assert end == (0 if place == "full" else -signal.SIGKILL)
        folders = hurt.checkpoint_folders()
        assert folders
        for folder in folders:
            verify(folder)
        assert place == "full" or killer.train(hurt, None) == 0
        assert (final(hurt), metrics(hurt)) == (final(calm), metrics(calm))
        shutil.rmtree(hurt.path)
        number += 1
    print(f"{place}: {number - 1} places, each with a whole checkpoint")
    assert number > 1


@pytest.mark.parametrize("kind", JOBS)
def test_a_run_stopped_after_each_of_its_steps_ends_the_same(tmp_path, kind):
    options = {"micro_batch_size": 3} if kind == "classes" else {}
    job = JOBS[kind](tmp_path, steps=200, evaluate_every=7, save_every=5, dropout=0.1, **options)
    calm, run = pair(tmp_path, job)
    for step in range(1, 200):
        assert work(run.path, hear_step(step, run.request_stop)) == 0
        run.clear_stop()
        assert checkpoint_step(run.checkpoint_folders()[-1]) == step
    assert work(run.path) == 0
    assert (final(run), metrics(run)) == (final(calm), metrics(calm))


SPOILERS: dict[str, Callable[[Path], object]] = {
    "replaced": lambda source: source.write_text("text,label\nanother,bad\n"),
    "cut": lambda source: source.write_bytes(source.read_bytes()[:40]),
    "deleted": lambda source: source.unlink(),
}


def test_a_source_that_changes_at_any_step_changes_no_run(tmp_path):
    calm, fresh = pair(tmp_path, small.classifying(tmp_path, steps=12))
    source = tmp_path / "sentences.csv"
    whole = source.read_bytes()
    dice = random.Random(25)
    for _ in range(50):
        run = RunFolder(shutil.copytree(fresh.path, tmp_path / "run-of-it"))
        spoil = dice.choice(list(SPOILERS.values()))

        def act(spoil: Callable[[Path], object] = spoil, run: RunFolder = run) -> None:
            spoil(source)
            run.request_stop()

        assert work(run.path, hear_step(dice.randint(1, 11), act)) == 0
        run.clear_stop()
        assert work(run.path) == 0
        assert (final(run), metrics(run)) == (final(calm), metrics(calm))
        shutil.rmtree(run.path)
        source.write_bytes(whole)


@pytest.mark.parametrize("part", range(2))
def test_a_stop_at_any_moment_leaves_a_resumable_run(tmp_path, part):
    calm, fresh = pair(tmp_path, small.classifying(tmp_path, steps=20, evaluate_every=5))
    dice = random.Random(14 + part)
    for _ in range(50):
        run = RunFolder(shutil.copytree(fresh.path, tmp_path / "stopped"))
        timer = threading.Timer(dice.uniform(0, 0.5), run.request_stop)
        timer.start()
        assert work(run.path) == 0
        timer.join()
        ended = run.last_events()[-1]
        assert isinstance(ended, Ended) and ended.outcome in ("stopped", "finished")
        for folder in (run.path, run.path / "checkpoints"):
            assert not [f for f in folder.glob(".*") if ".tmp-" in f.name]
        run.clear_stop()
        assert work(run.path) == 0
        assert final(run) == final(calm)
        shutil.rmtree(run.path)
