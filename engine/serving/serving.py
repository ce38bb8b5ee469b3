"""A checkpoint that is answered from, exactly or quickly.

Quick answers come from short numbers (`quantized_matmul.Kind`), and only where this very checkpoint
was checked: that they are quicker on this machine, and that they agree with the exact ones.
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
    predict,
    read,
)
from engine.serving.quantized_matmul import KINDS, Kind, is_available, is_native

Reason = Literal["", "preparing", "none", "device", "snapshot"]
"""Why an answer is exact where a quick one was asked for: the quick way is still being looked for;
there is none that is quicker and agrees; there is none for this device; a snapshot is one of many,
and not worth the search."""

MIN_SPEEDUP = 1.1  # times as quick as float32, at the least: less is not worth a difference
TIMES = 5  # that each way is timed, by turns


class Serving:
    """The exact way is there at once, the quick one after `prepare`."""

    def __init__(self, checkpoint: Checkpoint, is_snapshot: bool = False) -> None:
        device = next(checkpoint.network.parameters()).device.type
        self.plain = checkpoint  # of which gradients are taken
        self.exact = checkpoint
        self.quick: Checkpoint | None = None
        self.kind: Kind = "float32"
        self.answers: dict[str, PreciseAnswer] = {}  # what was answered, by what was asked
        self.maps_agree = False  # whether attention may be shown from the quick network
        self.reason: Reason = "preparing" if device == "cpu" else "device"
        if is_snapshot:
            self.reason = "snapshot"
        if device == "cpu" and is_available("float32"):
            self.exact = replace(checkpoint, network=pack_network(checkpoint.network, "float32"))

    def take(self, exact: bool, maps: bool = False) -> tuple[Checkpoint, Kind, Reason]:
        """The checkpoint to answer from, in what it computes, and why not quickly."""
        if exact:
            return self.exact, "float32", ""
        if self.quick is None or (maps and not self.maps_agree):
            return self.exact, "float32", self.reason or "none"
        return self.quick, self.kind, ""

    @torch.inference_mode()
    def prepare(self, kinds: tuple[Kind, ...] = KINDS, at_once: int = 1) -> Iterator[None]:
        """Look for the quickest kind that agrees, where so many texts are read at once.

        It gives way after every part, so that somebody who asks meanwhile need not wait.
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
            said = list[Predictions]()
            for text, right in zip(TEXTS, exact, strict=True):
                said.append(predict(quick, text))
                if not agrees(said[-1], right):
                    break
                yield
            else:
                spent: dict[bool, list[float]] = {True: [], False: []}  # s
                for is_quick_one in (True, False) * TIMES:
                    one = quick if is_quick_one else self.exact
                    spent[is_quick_one].append(_seconds(one, at_once))
                    yield
                if min(spent[False]) >= MIN_SPEEDUP * min(spent[True]):
                    self.maps_agree = all(map(attention_agrees, said, exact))
                    self.quick, self.kind, self.reason = quick, kind, ""
                    return
        self.reason = "none"

    def give_up(self) -> None:
        """Stay exact."""
        self.reason = "none"

    def prepare_all(self, at_once: int) -> None:
        """Prepare to the end."""
        for _ in self.prepare(at_once=at_once):
            pass


def _seconds(checkpoint: Checkpoint, at_once: int) -> float:
    """That it takes to read a short text so many times."""
    began = time.perf_counter()
    read(checkpoint, TEXTS[0], at_once)
    return time.perf_counter() - began
