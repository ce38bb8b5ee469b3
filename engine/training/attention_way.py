"""Which way attention goes over batches without padding on a GPU: the quicker one, measured once.

Either in rectangles of sequences of about the same length, or by the library's kernels for any
lengths (`engine.models.fast.nested_attention`). A processor has no such kernels.
"""

import statistics
import time
from contextlib import suppress
from dataclasses import replace

import numpy as np
import torch

from engine import precision
from engine.errors import DiskFull, is_out_of_memory
from engine.models.attention import Attention
from engine.models.encoder import Encoder
from engine.models.fast.encoding import attention_shape
from engine.models.fast.rectangles import AttentionShape
from engine.models.fast.unpadded import unpad
from engine.precision import WAYS, AttentionTimes
from engine.training.devices import DTYPES, Machine
from engine.training.environment import device_name

MEASURED_ON = ("cuda",)
LENGTHS = np.linspace(8, 128, 32).astype(np.int64)  # of the batch that is measured
WARM, COUNTED = 3, 12  # passes of each way; every one has other lengths, as the steps of a run have


def choose_attention(encoder: Encoder, machine: Machine, before: str = "") -> str:
    """Let an encoder attend by the way that is quicker on its device.

    Returns which of `WAYS` it is, or nothing where there is no choice. `before` is what a run that
    resumes has gone by; it is kept.
    """
    if machine.device.type not in MEASURED_ON or encoder.relative is not None:
        encoder.nested = False
        return ""
    way = before if before in WAYS else attention_times(encoder, machine).fastest
    encoder.nested = way == "nested"
    return way


def attention_times(encoder: Encoder, machine: Machine) -> AttentionTimes:
    """How long each way takes on this machine, measured where that is not known yet."""
    attention = encoder.layers[0].attention
    assert isinstance(attention, Attention)
    size, share = encoder.heads * attention.head_size, attention.weight_dropout.p
    of = (
        f"attention, {device_name(machine.device)}, {encoder.heads} × {attention.head_size}, "
        f"{machine.precision_name}, dropout {share:g}, causal {encoder.causal}, "
        f"torch {torch.__version__}"
    )
    known = precision.kept(AttentionTimes, of)
    if known is not None:
        return known
    shape = replace(attention_shape(encoder, machine.device), windows=(None,), multiple=1)
    seconds = {
        way: _seconds(replace(shape, nested=way == "nested"), machine, size, share) for way in WAYS
    }
    found = AttentionTimes(of, seconds)
    with suppress(DiskFull, OSError):  # then it is measured again the next time
        precision.keep(found)
    return found


def _seconds(shape: AttentionShape, machine: Machine, size: int, share: float) -> float:
    """The median time there and back; 0 where no kernel of the device takes such heads."""
    dtype, found = DTYPES[machine.precision_name], list[float]()
    for number in range(WARM + COUNTED):
        lengths = LENGTHS + number
        layout = unpad(lengths, int(lengths.max()), shape).layers
        layout = layout.moved(lambda tensor: tensor.to(machine.device))
        given = torch.ones(int(lengths.sum()), size, device=machine.device, dtype=dtype)
        x = given.requires_grad_()
        float(x.detach()[0, 0])  # waits for the device
        began = time.perf_counter()
        try:
            layout.gathered(x, x, x, shape.heads, share).sum().backward()
        except RuntimeError as error:
            if layout.spans is None or is_out_of_memory(error):
                raise
            return 0.0
        assert x.grad is not None
        float(x.grad[0, 0])
        found.append(time.perf_counter() - began)
    return statistics.median(found[WARM:])
