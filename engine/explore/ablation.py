"""Attention heads that are switched off (Michel et al. 2019, §2.3), while a question is answered.

Shapes: B sequences, R tokens, D hidden size, H heads, K size of a head.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn

from engine.errors import StudioError
from engine.models.attention import Attention
from engine.models.encoder import Layer
from engine.models.network import Network
from engine.phrases import phrase

Head = tuple[int, int]  # layer and head, from 0


@contextmanager
def heads_off(network: Network, heads: Sequence[Head]) -> Iterator[None]:
    """What these heads gather is zero before the output matrix, at every pass meanwhile.

    Where one layer works at several heights, as in ALBERT, its calls are counted from the
    embeddings on. Raises StudioError where there is no such head.
    """
    spec = network.spec
    for layer, head in heads:
        if not (0 <= layer < spec.layers and 0 <= head < spec.heads):
            raise StudioError(
                phrase(
                    "There is no layer {layer}, head {head} to switch off.",
                    layer=layer + 1,
                    head=head + 1,
                ),
                phrase(
                    "The model has {layers} layers of {heads} heads.",
                    layers=spec.layers,
                    heads=spec.heads,
                ),
            )
    if not heads:
        yield
        return
    parts: dict[int, _Part] = {}
    for height, module in enumerate(network.encoder.passes()):
        assert isinstance(module, Layer)
        part = parts.setdefault(id(module.attention), _Part(module.attention))
        part.off.append(tuple(head for at, head in heads if at == height))
    every = list(parts.values())

    def begin(*_: Any) -> None:
        for part in every:
            part.calls = 0

    hooks = [network.encoder.embeddings.register_forward_pre_hook(begin)]
    hooks += [part.attention.output.register_forward_pre_hook(part.hook) for part in every]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


class _Part:
    """The attention of one layer, and which of its heads are off at each height it works at."""

    def __init__(self, attention: Attention) -> None:
        self.attention = attention
        self.off: list[tuple[int, ...]] = []
        self.calls = 0

    def hook(self, _: nn.Module, given: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """float [B, R, D] or [R, D], with the slices of the heads that are off as zeros."""
        off = self.off[self.calls % len(self.off)]
        self.calls += 1
        if not off:
            return given
        gathered = given[0].clone()
        size = self.attention.head_size
        for head in off:
            gathered[..., head * size : (head + 1) * size] = 0
        return (gathered, *given[1:])
