"""Half of a batch on each of two threads: the same gradients, and the same dropout every time.

All weights have their gradients summed by us here, as only large ones have otherwise.
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

STEPS = 4


TASKS: dict[str, Callable[..., JobSpec]] = {
    "classes": small.classifying,
    "choices": lambda folder, **more: small.learning("choices", folder, **more),
    "masked words and next sentence": small.pairs,
}


@pytest.fixture
def by_halves(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """Split even the smallest batch; returns the participating threads."""
    took_part = set[int]()

    def noted(seed: int):
        took_part.add(threading.get_ident())
        return dropout_seed(seed)

    monkeypatch.setattr(gradients, "MIN_PARALLEL", 0)
    monkeypatch.setattr(gradients, "dropout_seed", noted)
    monkeypatch.setattr(linear, "LARGE", 0)
    return took_part


def trained(folder: Path, job: JobSpec, stop_after: int = STEPS) -> list[float]:
    """The losses of a run that is stopped once and resumed."""
    run, losses = small.new_run(folder, job), list[float]()

    def tell(event: Event) -> None:
        run.append(event)
        if isinstance(event, Measured) and event.name == "loss" and event.value is not None:
            losses.append(event.value)

    train(job, run, tell, lambda: len(losses) == stop_after)
    if len(losses) < STEPS:
        train(job, run, tell)
    assert len(losses) == STEPS
    return losses


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load(RunFolder(folder).checkpoint(STEPS)).network.state_dict()


def test_both_halves_sum_to_the_whole(by_halves, tmp_path, monkeypatch):
    for task, make in TASKS.items():
        (folder := tmp_path / task).mkdir()
        job = small.with_hardware(make(folder, steps=STEPS, dropout=0.0, epochs=1), threads=2)
        with monkeypatch.context() as patch:
            patch.setattr(gradients, "MIN_PARALLEL", 1 << 60)
            whole = trained(folder / "whole", job)
        assert len(by_halves) == 1, task
        halves = trained(folder / "halves", job)
        assert len(by_halves) > 1, task
        by_halves.clear()
        assert halves == pytest.approx(whole, abs=1e-5), task


def test_dropout_is_the_same_every_time(by_halves, tmp_path):
    settings = {"steps": STEPS, "dropout": 0.3, "micro_batch_size": 5}
    job = small.with_hardware(small.pairs(tmp_path, **settings), threads=2)
    twice = small.with_hardware(
        small.pairs(tmp_path, **settings, gradient_checkpointing=True), threads=2
    )
    calm = trained(tmp_path / "calm", job)
    expected = weights(tmp_path / "calm")
    for name, other, stop_after in (
        ("again", job, STEPS),
        ("stopped", job, 2),
        ("computed twice", twice, STEPS),
    ):
        assert trained(tmp_path / name, other, stop_after) == calm, name
        result = weights(tmp_path / name)
        for key, weight in expected.items():
            assert torch.equal(result[key], weight), f"{name}: {key}"
    assert len(by_halves) > 1
    assert torch.get_num_threads() == 2


def test_summed_gradients_are_those_of_torch(by_halves, tmp_path, monkeypatch):
    """In a run by halves and in one of micro-batches; a table is the decoder, too, or it is not."""
    added, add = list[torch.Tensor](), Half.add

    def noted(self: Half, weight: torch.Tensor, addend: Addend) -> None:
        added.append(weight)
        add(self, weight, addend)

    monkeypatch.setattr(Half, "add", noted)
    for name, make, size in (("whole", small.classifying, 0), ("parts", small.pairs, 5)):
        job = small.with_hardware(
            make(tmp_path, steps=STEPS, dropout=0.2, micro_batch_size=size), threads=2
        )
        summed = trained(tmp_path / f"{name} summed", job)
        assert added, name
        added.clear()
        with monkeypatch.context() as patch:
            patch.setattr(gradients.GradientAccumulator, "_sums_gradients", False)
            by_torch = trained(tmp_path / f"{name} by torch", job)
        assert not added, name
        assert summed == pytest.approx(by_torch, rel=1e-6), name
        ours, theirs = (weights(tmp_path / f"{name} {way}") for way in ("summed", "by torch"))
        for key, weight in theirs.items():
            if key.endswith("key.bias"):
                continue  # its gradient is nothing but what was rounded
            torch.testing.assert_close(
                ours[key], weight, rtol=1e-4, atol=1e-6, msg=f"{name}: {key}"
            )


def test_the_halves_do_not_drop_the_same(by_halves, tmp_path):
    """Each half gets one of two equal rows, whose losses would agree under equal dropout."""
    values = list[float]()
    losses = TextClassificationLearner.losses

    def heard(self, network, batch, whole=None):
        result = losses(self, network, batch, whole)
        values.append(float(result["classes"].detach()))
        return result

    path = tmp_path / "alike.csv"
    path.write_text("text,label\n" + "so good,good\nso good,good\n" * 8 + "so bad,bad\n")
    job = small.with_hardware(
        small.classifying(tmp_path, steps=1, batch_size=2, dropout=0.5), threads=2
    )
    data = job.data.model_copy(update={"path": path})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TextClassificationLearner, "losses", heard)
        run = small.new_run(tmp_path / "run", job.model_copy(update={"data": data}))
        train(run.job(), run, stop_requested=lambda: len(values) > 1)
    assert values[0] != values[1]


def test_errors_in_either_half_are_raised(by_halves, tmp_path, monkeypatch):
    main = threading.get_ident()
    losses = TextClassificationLearner.losses
    for beside in (False, True):

        def broken(self, network, batch, whole=None, beside: bool = beside):
            if (threading.get_ident() != main) is beside:
                raise StudioError("No such luck.", "Try again.")
            return losses(self, network, batch, whole)

        monkeypatch.setattr(TextClassificationLearner, "losses", broken)
        job = small.with_hardware(small.classifying(tmp_path, steps=2), threads=2)
        with pytest.raises(StudioError, match="No such luck"):
            train(job, small.new_run(tmp_path / str(beside), job))
        assert torch.get_num_threads() == 2


def test_memory_that_is_short_in_one_half_makes_smaller_parts(by_halves, tmp_path, monkeypatch):
    losses = TextClassificationLearner.losses

    def short(self, network, batch, whole=None):
        if batch.size > 3:
            raise MemoryError("none left")
        return losses(self, network, batch, whole)

    job = small.with_hardware(small.classifying(tmp_path, steps=STEPS, dropout=0.0), threads=2)
    enough = trained(tmp_path / "enough", job)
    monkeypatch.setattr(TextClassificationLearner, "losses", short)
    run, events = small.new_run(tmp_path / "short", job), list[Event]()
    assert train(job, run, events.append) == ("finished", STEPS)
    actual = [e.value for e in events if isinstance(e, Measured) and e.name == "loss"]
    assert actual == pytest.approx(enough, abs=1e-5)
