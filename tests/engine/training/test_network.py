"""Gradient checkpointing and frozen layers."""

from pathlib import Path

import pytest
import torch

from engine.models.heads import Heads
from engine.models.network import Network
from tests.engine.training.finished import losses, trained
from tests.engine.training.small import NETWORK, classifying, pretraining


@pytest.mark.parametrize("kind", ["classes", "masked words"])
def test_computing_layers_twice_gives_the_same_weights(tmp_path: Path, kind: str) -> None:
    make = classifying if kind == "classes" else pretraining
    _, kept, told = trained(tmp_path / "kept", make(tmp_path, steps=6, dropout=0.2))
    twice = make(tmp_path, steps=6, dropout=0.2, gradient_checkpointing=True)
    _, again, told_again = trained(tmp_path / "again", twice)
    assert all(torch.equal(weight, again[name]) for name, weight in kept.items())
    assert losses(told) == losses(told_again)


def test_computing_layers_twice_keeps_less_for_the_way_back() -> None:
    """Counts the bytes that autograd saves for the backward pass."""

    def held(again: bool) -> int:
        network = Network(NETWORK.model_copy(update={"layers": 6}), Heads(outputs=2)).train()
        network.encoder.activation_checkpointing = again
        tokens = torch.ones(8, 32, dtype=torch.int64)
        kept: dict[int, int] = {}

        def keep(tensor: torch.Tensor) -> torch.Tensor:
            kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
            out = network.encoder(tokens, torch.zeros_like(tokens))
        assert out.last.requires_grad
        return sum(kept.values())

    assert held(True) < held(False) / 4
