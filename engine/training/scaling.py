"""Scaled losses, without which fp16 loses small gradients (Micikevicius et al. 2018, §3.2).

fp16 knows nothing between 0 and 6·10⁻⁸. So a loss is multiplied by a scale before the way back, and
the gradients, which are float32 by then, are divided by it; both are exact, since it is a power of
two. Where a gradient overflows all the same, its step is left out and the scale halved; after many
good steps it is doubled. All ranks see the norm of the same sum, and so they decide alike.
"""

import math

import torch
from torch import nn

from engine.phrases import phrase
from engine.training.devices import Machine
from engine.training.saving import Progress

LOWEST, HIGHEST = 1.0, 2.0**24
DOUBLES_AFTER = 2_000  # good steps


class Scaling:
    """What is done about it in one step. In other precisions than fp16 the scale is 1, for good."""

    def __init__(self, machine: Machine, progress: Progress) -> None:
        """`progress` holds the scale, and how many steps it was good for."""
        self._progress = progress
        self._applies = machine.precision_name == "fp16"
        self.scale = progress.scale if self._applies else 1.0

    def take_out(self, network: nn.Module) -> None:
        """Make the gradients those of the loss itself."""
        if self._applies:
            gradients = [p.grad for p in network.parameters() if p.grad is not None]
            torch._foreach_mul_(gradients, 1 / self.scale)

    def is_too_high(self, loss: float, norm: float) -> bool:
        """Whether the step is left out: with a lower scale its gradient may be finite."""
        return self.scale > LOWEST and math.isfinite(loss) and not math.isfinite(norm)

    def lower(self) -> str:
        """Halve the scale for the steps to come; a sentence about it."""
        progress = self._progress
        progress.scale, progress.good_steps = self.scale / 2, 0
        return phrase(
            "Step {step} was not taken, since its gradient overflowed in fp16. From "
            "here on losses are scaled by {scale:,.0f}, half as much as before.",
            step=progress.step + 1,
            scale=progress.scale,
        )

    def count_good(self) -> None:
        """The step was taken with this scale."""
        progress = self._progress
        progress.good_steps += self._applies
        if progress.good_steps == DOUBLES_AFTER:
            progress.scale, progress.good_steps = min(2 * self.scale, HIGHEST), 0
