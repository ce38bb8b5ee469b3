"""Gradient accumulation: an update in micro-batches equals that of the whole batch."""

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
from tests.engine.training.finished import losses, notes, run_job
from tests.engine.training.small import NETWORK, classifying, new_run, pretraining
from tests.often import times


def assert_close(first: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> None:
    """Key biases are left out: their gradient is only rounding, which Adam enlarges."""
    for name, weight in first.items():
        if not name.endswith("key.bias"):
            assert (weight - other[name]).abs().max() < 1e-4, name


def test_updates_in_parts_equal_those_of_whole_batches(tmp_path):
    def job(micro_batch: int) -> JobSpec:
        options = {"steps": 4, "epochs": 1, "dropout": 0.0, "micro_batch_size": micro_batch}
        return pretraining(tmp_path, **options).model_copy(update={"task": Pretraining(nsp=True)})

    _, full, events = run_job(tmp_path / "whole", job(0))
    _, parts, part_events = run_job(tmp_path / "parts", job(3))
    assert_close(full, parts)
    for a, other in zip(losses(events), losses(part_events), strict=True):
        assert a == pytest.approx(other, abs=2e-5)


@times(1, 50)
def test_batches_are_halved_until_they_fit(tmp_path, monkeypatch, count):
    job = classifying(tmp_path, steps=6, dropout=0.0)
    _, reference, reference_events = run_job(tmp_path / "reference", job)
    original, rng = TextClassificationLearner.losses, random.Random(6)
    for number in range(count):
        calls_left, fits = (2, 2) if number == 0 else (rng.randint(1, 5), rng.choice([1, 2, 4]))

        def failing_losses(
            self: TextClassificationLearner, network: Network, batch: Batch, *args: Batch
        ) -> dict[str, torch.Tensor]:
            nonlocal calls_left
            calls_left -= torch.is_grad_enabled()
            if calls_left < 0 and len(batch.tokens) > fits and torch.is_grad_enabled():  # noqa: B023
                raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB")
            return original(self, network, batch, *args)

        monkeypatch.setattr(TextClassificationLearner, "losses", failing_losses)
        _, weights, events = run_job(tmp_path / str(number), job)
        texts = [text for text in notes(events) if "Out of memory" in text]
        sizes = [text.split("micro-batch size of ")[1][0] for text in texts]
        assert sizes == ["4", "2", "1"][: len(sizes)] and sizes[-1] == str(fits)
        assert_close(reference, weights)
        assert losses(events) == pytest.approx(losses(reference_events), abs=1e-3)


def test_an_example_too_large_and_other_errors_are_reported(tmp_path, monkeypatch):
    for error in (MemoryError("none left"), RuntimeError("shapes differ")):

        def raising_losses(*_: object, error: Exception = error) -> dict[str, torch.Tensor]:
            raise error

        monkeypatch.setattr(TextClassificationLearner, "losses", raising_losses)
        job = classifying(tmp_path, steps=3)
        with pytest.raises(type(error), match=str(error)):
            train(job, new_run(tmp_path / type(error).__name__, job))


def test_activation_checkpointing_saves_memory():
    """Counts the bytes that autograd saves for the backward pass."""

    def saved_bytes(checkpointing: bool) -> int:
        network = Network(NETWORK.model_copy(update={"layers": 6}), Heads(outputs=2)).train()
        network.encoder.activation_checkpointing = checkpointing
        tokens = torch.ones(8, 32, dtype=torch.int64)
        sizes: dict[int, int] = {}

        def record_size(tensor: torch.Tensor) -> torch.Tensor:
            sizes[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(record_size, lambda tensor: tensor):
            out = network.encoder(tokens, torch.zeros_like(tokens))
        assert out.last.requires_grad
        return sum(sizes.values())

    assert saved_bytes(True) < saved_bytes(False) / 4
