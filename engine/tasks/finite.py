"""Checks that outputs of a network are finite."""

import torch
from torch import Tensor

from engine.errors import BadCheckpoint


def require_finite(values: Tensor) -> Tensor:
    """Convert to float32. Raises StudioError if one is not finite."""
    if not torch.isfinite(values).all():
        raise not_finite_error()
    return values.float()


def softmax(logits: Tensor) -> Tensor:
    """Probabilities along the last axis, float32. Raises StudioError if one is not finite."""
    probabilities = logits.float().softmax(-1)
    if not torch.isfinite(probabilities.sum()):  # the sum is not finite if any term is not
        raise not_finite_error()
    return probabilities


def not_finite_error() -> BadCheckpoint:
    return BadCheckpoint(
        "The model outputs NaN or infinite numbers; it is damaged or its training diverged.",
        "Use an earlier checkpoint.",
    )
