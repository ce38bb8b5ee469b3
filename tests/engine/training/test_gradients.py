"""Half of a batch on each of two threads gives the same gradients, and reproducible dropout.

Outside of these tests only the gradients of large weights are summed by us.
"""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from engine.config.job import JobSpec
from engine.errors import StudioError
from engine.messages.events import Event, Measured
from engine.models.checkpoint import load
from engine.models.fast import linear
from engine.models.fast.dropout import dropout_seed
from engine.models.fast.gradient_sum import Addend, Half
from engine.runs.folder import RunFolder
from engine.tasks.text_classification import TextClassificationLearner
from engine.training import gradients
from engine.training.loop import train
from tests.engine.training import small

STEPS = 3


TASKS: dict[str, Callable[..., JobSpec]] = {
    "classes": small.classifying,
    "choices": lambda folder, **options: small.learning("choices", folder, **options),
    "masked words and next sentence": small.pairs,
}


@pytest.fixture
def split_batches(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """Split even the smallest batch; returns the participating threads."""
    threads = set[int]()

    def recording_seed(seed: int):
        threads.add(threading.get_ident())
        return dropout_seed(seed)

    monkeypatch.setattr(gradients, "MIN_PARALLEL", 0)
    monkeypatch.setattr(gradients, "dropout_seed", recording_seed)
    monkeypatch.setattr(linear, "MIN_WEIGHTS", 0)
    return threads


def train_and_resume(folder: Path, job: JobSpec, stop_after: int = STEPS) -> list[float]:
    """The losses of a run that is stopped once and resumed."""
    run, losses = small.new_run(folder, job), list[float]()

    def on_event(event: Event) -> None:
        run.append(event)
        if isinstance(event, Measured) and event.name == "loss" and event.value is not None:
            losses.append(event.value)

    train(job, run, on_event, lambda: len(losses) == stop_after)
    if len(losses) < STEPS:
        train(job, run, on_event)
    assert len(losses) == STEPS
    return losses


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load(RunFolder(folder).checkpoint(STEPS)).network.state_dict()


def test_halves_give_the_losses_of_the_whole_batch(split_batches, tmp_path, monkeypatch):
    for task, make in TASKS.items():
        (folder := tmp_path / task).mkdir()
        job = small.with_hardware(make(folder, steps=STEPS, dropout=0.0, epochs=1), threads=2)
        with monkeypatch.context() as patch:
            patch.setattr(gradients, "MIN_PARALLEL", 1 << 60)
            unsplit = train_and_resume(folder / "whole", job)
        assert len(split_batches) == 1, task
        halves = train_and_resume(folder / "halves", job)
        assert len(split_batches) > 1, task
        split_batches.clear()
        assert halves == pytest.approx(unsplit, abs=1e-5), task


def test_dropout_is_reproducible(split_batches, tmp_path):
    settings = {"steps": STEPS, "dropout": 0.3, "micro_batch_size": 5}
    job = small.with_hardware(small.pairs(tmp_path, **settings), threads=2)
    recomputed = small.with_hardware(
        small.pairs(tmp_path, **settings, gradient_checkpointing=True), threads=2
    )
    reference = train_and_resume(tmp_path / "reference", job)
    expected = weights(tmp_path / "reference")
    for name, other, stop_after in (
        ("again", job, STEPS),
        ("stopped", job, 2),
        ("computed twice", recomputed, STEPS),
    ):
        assert train_and_resume(tmp_path / name, other, stop_after) == reference, name
        result = weights(tmp_path / name)
        for key, weight in expected.items():
            assert torch.equal(result[key], weight), f"{name}: {key}"
    assert len(split_batches) > 1
    assert torch.get_num_threads() == 2


def test_summed_gradients_match_torch(split_batches, tmp_path, monkeypatch):
    """With halves and with micro-batches, without and with a decoder that shares its table."""
    weights_added, add = list[torch.Tensor](), Half.add

    def recording_add(self: Half, weight: torch.Tensor, addend: Addend) -> None:
        weights_added.append(weight)
        add(self, weight, addend)

    monkeypatch.setattr(Half, "add", recording_add)
    for name, make, size in (("whole", small.classifying, 0), ("parts", small.pairs, 5)):
        job = small.with_hardware(
            make(tmp_path, steps=STEPS, dropout=0.2, micro_batch_size=size), threads=2
        )
        summed = train_and_resume(tmp_path / f"{name} summed", job)
        assert weights_added, name
        weights_added.clear()
        with monkeypatch.context() as patch:
            patch.setattr(gradients.GradientAccumulator, "_sums_gradients", False)
            by_torch = train_and_resume(tmp_path / f"{name} by torch", job)
        assert not weights_added, name
        assert summed == pytest.approx(by_torch, rel=1e-6), name
        ours, theirs = (weights(tmp_path / f"{name} {kind}") for kind in ("summed", "by torch"))
        for key, weight in theirs.items():
            if key.endswith("key.bias"):
                continue  # its gradient is only rounding error
            torch.testing.assert_close(
                ours[key], weight, rtol=1e-4, atol=1e-6, msg=f"{name}: {key}"
            )


def test_the_halves_have_different_dropout(split_batches, tmp_path):
    """Each half gets one of two equal rows, whose losses would agree under equal dropout."""
    values = list[float]()
    losses = TextClassificationLearner.losses

    def recording_losses(self, network, batch, counts=None):
        result = losses(self, network, batch, counts)
        values.append(float(result["classes"].detach()))
        return result

    path = tmp_path / "alike.csv"
    path.write_text("text,label\n" + "so good,good\nso good,good\n" * 8 + "so bad,bad\n")
    job = small.with_hardware(
        small.classifying(tmp_path, steps=1, batch_size=2, dropout=0.5), threads=2
    )
    data = job.data.model_copy(update={"path": path})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TextClassificationLearner, "losses", recording_losses)
        run = small.new_run(tmp_path / "run", job.model_copy(update={"data": data}))
        train(run.job(), run, stop_requested=lambda: len(values) > 1)
    assert values[0] != values[1]


def test_errors_in_either_half_are_raised(split_batches, tmp_path, monkeypatch):
    main = threading.get_ident()
    losses = TextClassificationLearner.losses
    for in_worker in (False, True):

        def failing_losses(self, network, batch, counts=None, in_worker: bool = in_worker):
            if (threading.get_ident() != main) is in_worker:
                raise StudioError("No such luck.", "Try again.")
            return losses(self, network, batch, counts)

        monkeypatch.setattr(TextClassificationLearner, "losses", failing_losses)
        job = small.with_hardware(small.classifying(tmp_path, steps=2), threads=2)
        with pytest.raises(StudioError, match="No such luck"):
            train(job, small.new_run(tmp_path / str(in_worker), job))
        assert torch.get_num_threads() == 2


def test_out_of_memory_in_one_half_makes_smaller_parts(split_batches, tmp_path, monkeypatch):
    losses = TextClassificationLearner.losses

    def failing_for_large_batches(self, network, batch, counts=None):
        if batch.size > 3:
            raise MemoryError("none left")
        return losses(self, network, batch, counts)

    job = small.with_hardware(small.classifying(tmp_path, steps=STEPS, dropout=0.0), threads=2)
    expected = train_and_resume(tmp_path / "enough", job)
    monkeypatch.setattr(TextClassificationLearner, "losses", failing_for_large_batches)
    run, events = small.new_run(tmp_path / "short", job), list[Event]()
    assert train(job, run, events.append) == ("finished", STEPS)
    actual = [e.value for e in events if isinstance(e, Measured) and e.name == "loss"]
    assert actual == pytest.approx(expected, abs=1e-5)
