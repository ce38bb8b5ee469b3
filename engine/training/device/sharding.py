"""A network whose weights are spread over the ranks (FSDP2: Zhao et al. 2023, Rajbhandari 2020).

Each rank keeps its slice of every weight, gradient and memory of AdamW. The weights of a layer
are gathered when it is their turn, and their gradients summed and sliced after it.

What torch has for this takes nearly as long to load as torch itself (0.8 s), so it is loaded where
a network is sharded; before, nothing is.
"""

import sys
from typing import TYPE_CHECKING, TypeGuard

import torch
import torch.distributed as dist
from torch import Tensor

from engine.models.network import Network, meta_network

if TYPE_CHECKING:
    from torch.distributed.tensor import DTensor


def shard(network: Network, group: dist.ProcessGroup, device: torch.device) -> None:
    """Keep only this rank's slices of a network that is the same on every rank.

    From here on the network is used by calling it, which gathers the weights outside of its layers.
    """
    from torch.distributed.device_mesh import DeviceMesh
    from torch.distributed.fsdp import FSDPModule, fully_shard

    mesh = DeviceMesh.from_group(group, device.type)
    for layer in network.encoder.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(network, mesh=mesh, reshard_after_forward=True)  # whole only while it is called
    for part in network.modules():
        if isinstance(part, FSDPModule):  # plain sums: a loss is a share of the whole batch's
            part.set_gradient_divide_factor(1.0)
            part.set_force_sum_reduction_for_comms(True)


def is_sharded(network: Network) -> bool:
    loaded = sys.modules.get("torch.distributed.fsdp")
    return loaded is not None and isinstance(network, loaded.FSDPModule)


def full_tensor(tensor: Tensor) -> Tensor:
    """A tensor with the slices of all ranks, each of which must ask; one that is whole as it is."""
    return tensor.full_tensor() if _is_sharded_tensor(tensor) else tensor


def shard_like(value: Tensor, parameter: Tensor) -> Tensor:
    """A copy of a whole tensor on the device of a parameter, sliced as that is."""
    there = value.to(parameter.device).clone()
    if not _is_sharded_tensor(parameter):
        return there
    from torch.distributed.tensor import distribute_tensor

    return distribute_tensor(there, parameter.device_mesh, parameter.placements, src_data_rank=None)


def _is_sharded_tensor(tensor: Tensor) -> "TypeGuard[DTensor]":
    loaded = sys.modules.get("torch.distributed.tensor")
    return loaded is not None and isinstance(tensor, loaded.DTensor)


def gather(network: Network, keep: bool) -> Network:
    """The whole network in the memory of the processor; every rank must ask, and `keep` it or not.

    One weight after another is gathered, so that no device needs room for all.
    """
    tensors = {}
    for name, parameter in network.named_parameters():
        tensor = full_tensor(parameter.detach())
        if keep:
            tensors[name] = tensor.cpu()
    made = meta_network(network.spec, network.heads)
    if keep:
        made.load_state_dict(tensors, strict=False, assign=True)
        made.tie()
    return made
