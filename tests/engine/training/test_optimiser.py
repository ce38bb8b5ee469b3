"""AdamW: which parameters learn, at which rate, and what a checkpoint keeps of it."""

import pytest
import torch
import transformers

from engine.config.training import TrainingSpec
from engine.errors import StudioError
from engine.models.heads import Heads
from engine.models.network import Network
from engine.training.optimiser import (
    adamw,
    freeze,
    layer_index,
    learning_rate_at,
    load_state,
    set_learning_rate,
)
from tests.engine.training.small import NETWORK


def test_what_an_optimiser_remembered_of_another_network_is_refused() -> None:
    network = Network(NETWORK, Heads(outputs=2))
    optimiser = adamw(network, TrainingSpec())
    with pytest.raises(StudioError, match=r"unexpected classes.dense.bias"):
        load_state(optimiser, network, {"classes.dense.bias|step": torch.ones(())})


def test_more_frozen_layers_than_there_are_leave_the_heads() -> None:
    network = Network(NETWORK, Heads(outputs=2))
    freeze(network, 99)
    moving = {name for name, p in network.named_parameters() if p.requires_grad}
    assert moving and all(layer_index(name, NETWORK) == NETWORK.layers + 1 for name in moving)
    assert adamw(network, TrainingSpec()).param_groups
    freeze(network, 0)
    assert all(p.requires_grad for p in network.parameters())


def test_each_layer_learns_at_its_share_of_the_rate() -> None:
    network = Network(NETWORK, Heads(outputs=2))
    optimiser = adamw(network, TrainingSpec(layer_lr_decay=0.5, weight_decay=0.1))
    set_learning_rate(optimiser, 0.8)
    rates, decays = {}, {}
    for group in optimiser.param_groups:
        for parameter in group["params"]:
            rates[parameter], decays[parameter] = group["lr"], group["weight_decay"]
    for name, parameter in network.named_parameters():
        steps_down = NETWORK.layers + 1 - layer_index(name, NETWORK)
        assert rates[parameter] == pytest.approx(0.8 * 0.5**steps_down), name
        assert decays[parameter] == (0.1 if parameter.dim() > 1 else 0.0), name
    assert len(rates) == len(list(network.parameters()))


@pytest.mark.parametrize("warmup_ratio", [0.0, 0.1, 0.37, 1.0])
@pytest.mark.parametrize(
    "ours, theirs",
    [("linear", "linear"), ("cosine", "cosine"), ("constant", "constant_with_warmup")],
)
def test_each_schedule_is_that_of_transformers(ours: str, theirs: str, warmup_ratio: float) -> None:
    steps = 53
    training = TrainingSpec.model_validate(
        {"learning_rate": 3e-4, "warmup_ratio": warmup_ratio, "lr_schedule": ours}
    )
    warmup_steps = round(warmup_ratio * steps)
    optimiser = torch.optim.SGD([torch.zeros(1)], lr=3e-4)
    schedule = transformers.get_scheduler(theirs, optimiser, warmup_steps, steps)
    for step in range(steps):
        rate = learning_rate_at(step, steps, training)
        if ours != "linear" and step >= warmup_steps:
            assert rate == schedule.get_last_lr()[0]
        assert rate == pytest.approx(schedule.get_last_lr()[0], rel=1e-15)
        optimiser.step()
        schedule.step()
