"""Copy tensors to a device together."""

from collections.abc import Sequence

import torch
from torch import Tensor

ALIGNMENT = 16  # bytes; enough for all dtypes


def copy_together(tensors: Sequence[Tensor], device: torch.device) -> list[Tensor]:
    """Copy tensors to a device; keeps their order.

    A GPU gets them in one asynchronous copy from pinned memory; twenty small copies would cost the
    host as much as a small step. The results are views of one tensor. Tensors that are on the
    device already are returned as they are.
    """
    if device.type in ("cpu", "mps"):  # shares the memory of the host
        return [tensor.to(device) for tensor in tensors]
    on_host = [tensor for tensor in tensors if tensor.device.type == "cpu"]
    if not on_host:
        return list(tensors)
    sizes = [-(-tensor.nbytes // ALIGNMENT) * ALIGNMENT for tensor in on_host]
    buffer = torch.empty(sum(sizes), dtype=torch.uint8, pin_memory=device.type == "cuda")
    for tensor, part in zip(on_host, buffer.split(sizes), strict=True):
        _view_as(part, tensor).copy_(tensor)
    copied = iter(buffer.to(device, non_blocking=True).split(sizes))
    return [
        _view_as(next(copied), tensor) if tensor.device.type == "cpu" else tensor
        for tensor in tensors
    ]


def _view_as(part: Tensor, like: Tensor) -> Tensor:
    return part[: like.nbytes].view(like.dtype).view(like.shape)
