"""Copy tensors to a device together."""

from collections.abc import Sequence

import torch
from torch import Tensor

ALIGNED = 16  # bytes; alignment of each tensor, for all dtypes


def sent_together(tensors: Sequence[Tensor], device: torch.device) -> list[Tensor]:
    """The tensors on a device, in order.

    A GPU gets them in one asynchronous copy from pinned memory; twenty small copies would cost the
    host as much as a small step. The results are views of one tensor. Tensors that are on the
    device already are returned as they are.
    """
    if device.type in ("cpu", "mps"):  # shares the memory of the host
        return [tensor.to(device) for tensor in tensors]
    away = [tensor for tensor in tensors if tensor.device.type == "cpu"]
    if not away:
        return list(tensors)
    sizes = [-(-tensor.nbytes // ALIGNED) * ALIGNED for tensor in away]
    room = torch.empty(sum(sizes), dtype=torch.uint8, pin_memory=device.type == "cuda")
    for tensor, part in zip(away, room.split(sizes), strict=True):
        _as(part, tensor).copy_(tensor)
    there = iter(room.to(device, non_blocking=True).split(sizes))
    return [
        _as(next(there), tensor) if tensor.device.type == "cpu" else tensor for tensor in tensors
    ]


def _as(part: Tensor, like: Tensor) -> Tensor:
    return part[: like.nbytes].view(like.dtype).view(like.shape)
