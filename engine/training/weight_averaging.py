"""A moving average of the weights (Polyak and Juditsky 1992; as in Tan and Le 2019, §5).

The raw weights are trained; their average (EMA) is evaluated, saved and used.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class WeightAverage:
    """The mean of what is trained in a network, in which the past fades by `decay` at each step.

    A decay of 0 means that there is none: then the weights are their own average.
    """

    def __init__(self, network: nn.Module, decay: float) -> None:
        """Begin with the present weights."""
        self._decay = decay
        trained = {n: p for n, p in network.named_parameters() if p.requires_grad and decay}
        self._parameters = trained
        self.means: dict[str, Tensor] = {n: p.detach().clone() for n, p in trained.items()}

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Take in the weights after `step` updates: mean ← decay * mean + (1 - decay) * weight.

        The decay of early steps is shorter, (1 + step) / (10 + step) at the most, so that a short
        run is not held back by where it began.
        """
        decay = min(self._decay, (1 + step) / (10 + step))
        for name, parameter in self._parameters.items():
            self.means[name].lerp_(parameter, 1 - decay)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Let the network have the averaged weights for the block."""
        self._swap()
        try:
            yield
        finally:
            self._swap()

    def _swap(self) -> None:
        for name, parameter in self._parameters.items():
            parameter.data, self.means[name] = self.means[name], parameter.data
