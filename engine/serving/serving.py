"""Serve a checkpoint, exactly or fast.

Fast answers use reduced precision (`quantized_matmul.Kind`), only after checking on this checkpoint
that they are faster on this machine and agree with the exact ones.
"""

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

import torch

from engine.messages.explore.text import PreciseAnswer
from engine.models.checkpoint import Checkpoint
from engine.serving.network import pack_layer_by_layer, pack_network
from engine.serving.quantization_check import (
    TEXTS,
    Predictions,
    agrees,
    attention_agrees,
    encode_copies,
    predict,
)
from engine.serving.quantized_matmul import KINDS, Kind, is_available, is_native

Reason = Literal["", "preparing", "none", "device", "snapshot"]
"""Why an answer is exact although a fast one was requested: still preparing; no kind is faster and
agrees; not for this device; not worth it for a snapshot."""

MIN_SPEEDUP = 1.1  # relative to float32
REPEATS = 5  # timings of each, alternating


class Serving:
    """The exact network is available immediately, the fast one after `prepare`."""

    def __init__(self, checkpoint: Checkpoint, is_snapshot: bool = False) -> None:
        device = next(checkpoint.network.parameters()).device.type
        self.plain = checkpoint  # for gradients
        self.exact = checkpoint
        self.quick: Checkpoint | None = None
        self.kind: Kind = "float32"
        self.answers: dict[str, PreciseAnswer] = {}  # cached answers by question
        self.maps_agree = False  # the fast network's attention may be shown
        self.reason: Reason = "preparing" if device == "cpu" else "device"
        if is_snapshot:
            self.reason = "snapshot"
        if device == "cpu" and is_available("float32"):
            self.exact = replace(checkpoint, network=pack_network(checkpoint.network, "float32"))

    def take(self, exact: bool, maps: bool = False) -> tuple[Checkpoint, Kind, Reason]:
        """Checkpoint to answer from, its precision, and why it is not the fast one."""
        if exact:
            return self.exact, "float32", ""
        if self.quick is None or (maps and not self.maps_agree):
            return self.exact, "float32", self.reason or "none"
        return self.quick, self.kind, ""

    @torch.inference_mode()
    def prepare(self, kinds: tuple[Kind, ...] = KINDS, batch_size: int = 1) -> Iterator[None]:
        """Find the fastest kind that agrees, for `batch_size` texts per batch.

        A generator that yields after every part, so that questions need not wait.
        """
        if self.reason != "preparing":
            return
        exact = list[Predictions]()
        for text in TEXTS:
            exact.append(predict(self.exact, text))
            yield
        for kind in kinds:
            if kind == "float32" or not is_available(kind) or not is_native(kind):
                continue
            network = yield from pack_layer_by_layer(self.exact.network, kind)
            quick = replace(self.exact, network=network)
            yield
            predictions = list[Predictions]()
            for text, right in zip(TEXTS, exact, strict=True):
                predictions.append(predict(quick, text))
                if not agrees(predictions[-1], right):
                    break
                yield
            else:
                seconds: dict[bool, list[float]] = {True: [], False: []}  # s
                for is_fast in (True, False) * REPEATS:
                    serving = quick if is_fast else self.exact
                    seconds[is_fast].append(_seconds(serving, batch_size))
                    yield
                if min(seconds[False]) >= MIN_SPEEDUP * min(seconds[True]):
                    self.maps_agree = all(map(attention_agrees, predictions, exact))
                    self.quick, self.kind, self.reason = quick, kind, ""
                    return
        self.reason = "none"

    def give_up(self) -> None:
        """Stay exact."""
        self.reason = "none"

    def prepare_all(self, batch_size: int) -> None:
        """Run `prepare` to the end."""
        for _ in self.prepare(batch_size=batch_size):
            pass


def _seconds(checkpoint: Checkpoint, batch_size: int) -> float:
    """Seconds to encode `batch_size` copies of a short text."""
    began = time.perf_counter()
    encode_copies(checkpoint, TEXTS[0], batch_size)
    return time.perf_counter() - began
