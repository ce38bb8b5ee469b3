"""Fully sharded data parallelism (FSDP2: Zhao et al. 2023, Rajbhandari et al. 2020).

Each rank holds a shard of every weight, gradient and Adam state. Weights are gathered layer by
layer, and their gradients reduced and scattered.

The FSDP modules of torch take 0.8 s to import, so they are imported only to shard a network.
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
    """Shard a network that is identical on all ranks.

    Afterwards, call the network to run it: this gathers the weights outside its layers.
    """
    from torch.distributed.device_mesh import DeviceMesh
    from torch.distributed.fsdp import FSDPModule, fully_shard

    mesh = DeviceMesh.from_group(group, device.type)
    for layer in network.encoder.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(network, mesh=mesh, reshard_after_forward=True)  # gathered only during a call
    for part in network.modules():
        if isinstance(part, FSDPModule):  # sum, not mean: each loss is a part of the batch's
            part.set_gradient_divide_factor(1.0)
            part.set_force_sum_reduction_for_comms(True)


def is_sharded(network: Network) -> bool:
    loaded = sys.modules.get("torch.distributed.fsdp")
    return loaded is not None and isinstance(network, loaded.FSDPModule)


def full_tensor(tensor: Tensor) -> Tensor:
    """Gather a sharded tensor (collective); a plain tensor is returned as is."""
    return tensor.full_tensor() if _is_sharded_tensor(tensor) else tensor


def shard_like(value: Tensor, parameter: Tensor) -> Tensor:
    """Copy a full tensor to the device of a parameter, sharded like it."""
    full = value.to(parameter.device).clone()
    if not _is_sharded_tensor(parameter):
        return full
    from torch.distributed.tensor import distribute_tensor

    return distribute_tensor(full, parameter.device_mesh, parameter.placements, src_data_rank=None)


def _is_sharded_tensor(tensor: Tensor) -> "TypeGuard[DTensor]":
    loaded = sys.modules.get("torch.distributed.tensor")
    return loaded is not None and isinstance(tensor, loaded.DTensor)


def gather(network: Network, keep: bool) -> Network:
    """Gather the network on the CPU (collective); only ranks with `keep` get the weights.

    Weights are gathered one by one, so that no device needs memory for all.
    """
    tensors = {}
    for name, parameter in network.named_parameters():
        tensor = full_tensor(parameter.detach())
        if keep:
            tensors[name] = tensor.cpu()
    gathered = meta_network(network.spec, network.heads)
    if keep:
        gathered.load_state_dict(tensors, strict=False, assign=True)
        gathered.tie()
    return gathered
