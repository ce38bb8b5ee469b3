"""The simulated device refuses and counts what a GPU would."""

from copy import deepcopy

import pytest
import torch

from engine.tasks.sending import copy_together
from tests.simulated.device import DeviceTensor, count_operations, device, keep_parameters


def layers() -> torch.nn.Sequential:
    torch.manual_seed(1)
    return torch.nn.Sequential(
        torch.nn.Linear(4, 4), torch.nn.GELU(), torch.nn.Softmax(-1), torch.nn.Linear(4, 4)
    )


def test_a_module_trains_on_the_device_as_on_the_cpu():
    local, x = layers(), torch.randn(3, 4)
    local[3].weight = local[0].weight  # tied
    remote = deepcopy(local)
    with keep_parameters():
        remote.to(device())
    assert isinstance(remote[0].weight, DeviceTensor) and remote[0].weight.device == device()
    assert remote[0].weight is remote[3].weight
    for network, inputs in ((local, x), (remote, x.to(device()))):
        optimiser = torch.optim.AdamW(network.parameters(), lr=0.01)
        for _ in range(3):
            network(inputs).pow(2).sum().backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 0.1)
            optimiser.step()
            optimiser.zero_grad()
    for expected, actual in zip(local.parameters(), remote.parameters(), strict=True):
        assert torch.equal(expected, actual.detach().cpu())


@pytest.mark.parametrize("inference", [False, True])
def test_operations_on_mixed_devices_are_refused(inference):
    with keep_parameters():
        remote = layers().to(device())
    with torch.inference_mode(inference), pytest.raises(RuntimeError, match="a CPU tensor"):
        remote(torch.randn(3, 4))


def test_launches_copies_and_waits_are_counted():
    local = torch.randn(3, 4)
    with count_operations() as counts:
        remote = local.to(device())
        view = remote.view(4, 3).t()[1:]
        result = view * 2 + torch.tensor(1.0)
    assert dict(counts.launches) == {"mul": 1, "add": 1} and not counts.waits
    assert (counts.to_device, counts.to_host) == (1, 0)
    with count_operations() as counts:
        result.tolist(), float(result.sum()), result[result > 0], result.nonzero(), result.cpu()
    assert counts.to_host == 2
    assert dict(counts.waits) == {"to host": 2, "_local_scalar_dense": 1, "index": 1, "nonzero": 1}


def test_tensors_of_all_dtypes_are_sent_in_one_copy():
    inputs = [
        *(torch.arange(3), torch.tensor([True, False, True]), torch.randn(2, 3).t()),
        *(torch.tensor(2.5, dtype=torch.float64), torch.empty(0, dtype=torch.int64)),
        *(torch.randn(5).to(torch.bfloat16), torch.tensor([7], dtype=torch.int32)),
    ]
    local = torch.ones(2, device=device())
    with count_operations() as counts:
        remote = copy_together([*inputs, local], device())
        assert copy_together([local], device()) == [local]
    assert counts.to_device == 1 and not counts.waits and not counts.launches
    assert remote.pop() is local
    for item, copy in zip(inputs, remote, strict=True):
        assert copy.device == device() and copy.dtype == item.dtype
        assert torch.equal(copy.cpu(), item)
