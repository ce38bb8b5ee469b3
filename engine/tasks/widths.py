"""Padded widths of batches."""

STEP = 8  # few shapes, and vector instructions prefer multiples of 8


def width_of(length: int) -> int:
    """The padded width for a longest row of `length` tokens."""
    return -(-length // STEP) * STEP
