"""Which way attention goes over batches without padding on a GPU: the quicker one, measured once.

Either in rectangles of sequences of about the same length, or by the library's kernels for any
lengths (`engine.models.fast.nested_attention`). A processor has no such kernels.
"""

import time
from contextlib import suppress

import numpy as np
import torch

from engine import precision
from engine.errors import DiskFull, is_out_of_memory
from engine.models.attention import Attention
from engine.models.encoder import Encoder
from engine.models.fast.rectangles import AttentionShape
from engine.models.fast.unpadded import Unpadded, unpad
from engine.precision import WAYS, AttentionTimes
from engine.training.devices import DTYPES, Machine
from engine.training.environment import device_name

MEASURED_ON = ("cuda",)
LENGTHS = np.linspace(8, 128, 32).astype(np.int64)  # of the batch that is measured
SECONDS = 0.2  # for each way, at least


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
    seconds = {}
    for way in WAYS:
        shape = AttentionShape(encoder.heads, encoder.causal, nested=way == "nested")
        plan = unpad(LENGTHS, int(LENGTHS.max()), shape).moved(lambda x: x.to(machine.device))
        seconds[way] = _seconds(plan.layers, machine, encoder.heads, size, share)
    found = AttentionTimes(of, seconds)
    with suppress(DiskFull, OSError):  # then it is measured again the next time
        precision.keep(found)
    return found


def _seconds(layout: Unpadded, machine: Machine, heads: int, size: int, share: float) -> float:
    """The shortest time there and back; 0 where no kernel of the device takes such heads."""
    dtype = DTYPES[machine.precision_name]
    given = torch.ones(int(LENGTHS.sum()), size, device=machine.device, dtype=dtype)
    x = given.requires_grad_()
    best, end = float("inf"), time.perf_counter() + SECONDS
    while best == float("inf") or time.perf_counter() < end:
        began = time.perf_counter()
        try:
            layout.gathered(x, x, x, heads, share).sum().backward()
        except RuntimeError as error:
            if layout.spans is None or is_out_of_memory(error):
                raise
            return 0.0
        assert x.grad is not None
        float(x.grad[0, 0])  # waits for the device
        best = min(best, time.perf_counter() - began)
    return best
