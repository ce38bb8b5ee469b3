"""Scaled losses, without which fp16 loses small gradients (Micikevicius et al. 2018, §3.2).

fp16 knows nothing between 0 and 6·10⁻⁸. So a loss is multiplied by a scale before the way back, and
the gradients, which are float32 by then, are divided by it; both are exact, since it is a power of
two. Where a gradient overflows all the same, its step is skipped and the scale halved; after many
good steps it is doubled. All ranks see the norm of the same sum, and so they decide alike.
"""

import math

import torch
from torch import nn

from engine.phrases import phrase
from engine.training.devices import Machine
from engine.training.progress import TrainingProgress

LOWEST_SCALE, HIGHEST_SCALE = 1.0, 2.0**24
STEPS_UNTIL_DOUBLED = 2_000  # good steps


class LossScaler:
    """Scales the loss of one step; in other precisions than fp16 the scale is always 1."""

    def __init__(self, machine: Machine, progress: TrainingProgress) -> None:
        """`progress` holds the scale, and how many steps it was good for."""
        self._progress = progress
        self._applies = machine.precision_name == "fp16"
        self.scale = progress.loss_scale if self._applies else 1.0

    def unscale(self, network: nn.Module) -> None:
        """Make the gradients those of the loss itself."""
        if self._applies:
            gradients = [p.grad for p in network.parameters() if p.grad is not None]
            torch._foreach_mul_(gradients, 1 / self.scale)

    def overflowed(self, loss: float, norm: float) -> bool:
        """Whether the step is skipped: with a lower scale its gradient may be finite."""
        return self.scale > LOWEST_SCALE and math.isfinite(loss) and not math.isfinite(norm)

    def lower(self) -> str:
        """Halve the scale for the steps to come; a sentence that says so."""
        progress = self._progress
        progress.loss_scale, progress.good_steps = self.scale / 2, 0
        return phrase(
            "Gradient overflow in fp16: step {step} was skipped and the loss scale reduced to "
            "{scale:,.0f}.",
            step=progress.step + 1,
            scale=progress.loss_scale,
        )

    def count_good_step(self) -> None:
        """The step was taken with this scale."""
        progress = self._progress
        progress.good_steps += self._applies
        if progress.good_steps == STEPS_UNTIL_DOUBLED:
            progress.loss_scale, progress.good_steps = min(2 * self.scale, HIGHEST_SCALE), 0
