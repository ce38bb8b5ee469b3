"""Gradient accumulation: an update in micro-batches is that of the whole batch."""

import random

import pytest
import torch

from engine.config.job import JobSpec
from engine.config.tasks.pretraining import Pretraining
from engine.models.heads import Heads
from engine.models.network import Network
from engine.tasks.learner import Batch
from engine.tasks.text_classification import TextClassificationLearner
from engine.training.loop import train
from tests.engine.training.finished import losses, notes, trained
from tests.engine.training.small import NETWORK, classifying, new_run, pretraining
from tests.often import times


def assert_close(first: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> None:
    """Equal up to rounding, which is the whole gradient of key biases, and Adam enlarges it."""
    for name, weight in first.items():
        if not name.endswith("key.bias"):
            assert (weight - other[name]).abs().max() < 1e-4, name


def test_an_update_in_parts_is_that_of_the_whole_batch(tmp_path):
    def job(micro_batch: int) -> JobSpec:
        options = {"steps": 4, "epochs": 1, "dropout": 0.0, "micro_batch_size": micro_batch}
        return pretraining(tmp_path, **options).model_copy(update={"task": Pretraining(nsp=True)})

    _, whole, events = trained(tmp_path / "whole", job(0))
    _, parts, told_in_parts = trained(tmp_path / "parts", job(3))
    assert_close(whole, parts)
    for a, other in zip(losses(events), losses(told_in_parts), strict=True):
        assert a == pytest.approx(other, abs=2e-5)


@times(1, 50)
def test_batches_are_halved_until_they_fit(tmp_path, monkeypatch, count):
    job = classifying(tmp_path, steps=6, dropout=0.0)
    _, calm, told_calmly = trained(tmp_path / "calm", job)
    honest, dice = TextClassificationLearner.losses, random.Random(6)
    for number in range(count):
        left, fits = (2, 2) if number == 0 else (dice.randint(1, 5), dice.choice([1, 2, 4]))

        def short(
            self: TextClassificationLearner, network: Network, batch: Batch, *more: Batch
        ) -> dict[str, torch.Tensor]:
            nonlocal left
            left -= torch.is_grad_enabled()
            if left < 0 and len(batch.tokens) > fits and torch.is_grad_enabled():  # noqa: B023
                raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")
            return honest(self, network, batch, *more)

        monkeypatch.setattr(TextClassificationLearner, "losses", short)
        _, weights, events = trained(tmp_path / str(number), job)
        texts = [text for text in notes(events) if "Out of memory" in text]
        sizes = [text.split("micro-batch size of ")[1][0] for text in texts]
        assert sizes == ["4", "2", "1"][: len(sizes)] and sizes[-1] == str(fits)
        assert_close(calm, weights)
        assert losses(events) == pytest.approx(losses(told_calmly), abs=1e-3)


def test_an_example_too_large_and_other_errors_are_reported(tmp_path, monkeypatch):
    for error in (MemoryError("none left"), RuntimeError("shapes differ")):

        def broken(*_: object, error: Exception = error) -> dict[str, torch.Tensor]:
            raise error

        monkeypatch.setattr(TextClassificationLearner, "losses", broken)
        job = classifying(tmp_path, steps=3)
        with pytest.raises(type(error), match=str(error)):
            train(job, new_run(tmp_path / type(error).__name__, job))


def test_computing_layers_twice_keeps_less_for_the_way_back():
    """Counts the bytes that autograd saves for the backward pass."""

    def held(again: bool) -> int:
        network = Network(NETWORK.model_copy(update={"layers": 6}), Heads(outputs=2)).train()
        network.encoder.activation_checkpointing = again
        tokens = torch.ones(8, 32, dtype=torch.int64)
        sizes: dict[int, int] = {}

        def keep(tensor: torch.Tensor) -> torch.Tensor:
            sizes[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
            out = network.encoder(tokens, torch.zeros_like(tokens))
        assert out.last.requires_grad
        return sum(sizes.values())

    assert held(True) < held(False) / 4
