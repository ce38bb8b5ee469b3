"""A non-finite step is not taken, and its examples are reported."""

import math
import random
from pathlib import Path

import pytest
import torch
from torch import Tensor

from engine.config.job import JobSpec
from engine.files.atomic_write import verify
from engine.messages.events import Ended, Measured
from engine.runs.folder import RunFolder, checkpoint_step
from engine.tasks.learner import Batch
from engine.tasks.pretraining import PretrainingLearner
from engine.tasks.text_classification import TextClassificationLearner
from engine.worker.train import main as work
from tests.engine.training import small
from tests.engine.training.test_loop import final
from tests.often import times

Losses = dict[str, Tensor]


def poison(monkeypatch: pytest.MonkeyPatch, learner: type, token: str, kind: str) -> None:
    """Make the loss, or only its gradient, non-finite for examples that contain `token`."""
    original = learner.losses  # type: ignore[attr-defined]

    def losses(self: object, network: object, batch: Batch, counts: Batch | None = None) -> Losses:
        terms: Losses = original(self, network, batch, counts)
        name, term = next(iter(terms.items()))
        if bool((batch.tokens == TOKEN_IDS[token]).any()):
            slope = (term - term.detach()).abs().sqrt()  # 0 with an infinite slope
            term = term * math.nan if kind == "loss" else term + slope
        return {**terms, name: term}

    monkeypatch.setattr(learner, "losses", losses)


TOKEN_IDS: dict[str, int] = {}


def first_run(tmp_path: Path, job: JobSpec) -> RunFolder:
    """Train a run, and fill TOKEN_IDS with its vocabulary."""
    run = small.new_run(tmp_path / "vocabulary", job)
    assert work(run.path) == 0
    pieces = (run.checkpoint_folders()[-1] / "vocab.txt").read_text("utf-8").splitlines()
    TOKEN_IDS.update({piece: number for number, piece in enumerate(pieces)})
    return run


@pytest.mark.parametrize("kind", ["loss", "gradient"])
def test_the_step_and_the_lines_of_its_examples_are_reported(tmp_path, monkeypatch, kind):
    job = small.classifying(tmp_path, steps=30)
    source = tmp_path / "sentences.csv"
    lines = source.read_text("utf-8").splitlines()
    lines[1:1] = ["a dull zebra film,bad"]  # line 2
    source.write_text("\n".join(lines * 3).replace("\ntext,label", "") + "\n", "utf-8")
    lines = source.read_text("utf-8").splitlines()
    bad_lines = [number for number, line in enumerate(lines, 1) if "zebra" in line]
    assert len(bad_lines) == 3  # at least one of them is a training row
    first_run(tmp_path, small.with_training(job, steps=1))
    letter = "##z" if "zebra" not in TOKEN_IDS else "zebra"
    piece = next(piece for piece in (letter, "z") if piece in TOKEN_IDS)
    poison(monkeypatch, TextClassificationLearner, piece, kind)

    run = small.new_run(tmp_path / "run", job)
    assert work(run.path) == 1
    events, _ = run.events_after(0)
    ended = events[-1]
    assert isinstance(ended, Ended) and ended.outcome == "failed" and not ended.bug
    curve = "loss" if kind == "loss" else "gradient_norm"
    bad = [e for e in events if isinstance(e, Measured) and e.value is None]
    assert [e.name for e in bad] == [curve]
    assert f"The {kind} is not finite" in ended.problem
    assert f"at step {bad[0].step}, so the step was not taken" in ended.problem
    assert " of its 8 examples cause this: line " in ended.problem
    assert "(“a dull zebra film”)" in ended.problem
    reported = [int(part.split()[0]) for part in ended.details.split("line ")[1:]]
    assert reported and set(reported) <= set(bad_lines)
    for folder in run.checkpoint_folders():
        verify(folder)
        assert checkpoint_step(folder) < bad[0].step


@times(2, 50)
def test_an_exploding_loss_blames_settings_and_keeps_good_checkpoints(tmp_path, monkeypatch, count):
    """A resume repeats the step with finite values, and no trace of the bad one is left."""
    job = small.pretraining(tmp_path, steps=10)
    reference = small.new_run(tmp_path / "reference", job)
    assert work(reference.path) == 0
    original, rng = PretrainingLearner.losses, random.Random(8)
    for number in range(count):
        step = (1, 9, rng.randint(2, 10))[min(number, 2)]
        calls = 0

        def losses(self: PretrainingLearner, *args: object, **kwargs: object) -> Losses:
            nonlocal calls
            calls += torch.is_grad_enabled()
            terms: Losses = original(self, *args, **kwargs)  # type: ignore[arg-type]
            return {n: t * math.inf for n, t in terms.items()} if calls >= step else terms  # noqa: B023

        monkeypatch.setattr(PretrainingLearner, "losses", losses)
        run = small.new_run(tmp_path / str(number), job)
        assert work(run.path) == 1
        events, _ = run.events_after(0)
        ended = events[-1]
        assert isinstance(ended, Ended) and ended.outcome == "failed" and not ended.bug
        assert f"The loss is not finite (inf) at step {step}, so the step was not" in ended.problem
        assert "Each of its" in ended.problem and "lower learning rate" in ended.advice
        examples = int(ended.problem.split("Each of its ")[1].split()[0])
        assert ended.details.count("example ") == examples
        stored = [checkpoint_step(folder) for folder in run.checkpoint_folders()]
        assert bool(stored) == (step > 7) and all(good < step for good in stored)

        monkeypatch.undo()
        assert work(run.path) == 0
        assert final(run) == final(reference)
