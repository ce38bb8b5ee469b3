"""Probabilities of a network, or word that it gives numbers which are none."""

import torch
from torch import Tensor

from engine.errors import BadCheckpoint
from engine.phrases import phrase


def finite(numbers: Tensor) -> Tensor:
    """The same as float32; damaged weights are named, not shown."""
    if not torch.isfinite(numbers).all():
        raise not_finite()
    return numbers.float()


def softmax(logits: Tensor) -> Tensor:
    """Probabilities along the last axis, float32; damaged weights are named, not shown."""
    probabilities = logits.float().softmax(-1)
    if not torch.isfinite(probabilities.sum()):  # one that is none makes the sum none
        raise not_finite()
    return probabilities


def not_finite() -> BadCheckpoint:
    return BadCheckpoint(
        phrase(
            "The model outputs NaN or infinite numbers; it is damaged or its training diverged."
        ),
        phrase("Use an earlier checkpoint."),
    )
