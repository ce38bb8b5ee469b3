"""How wide a batch of rows of different lengths is made."""

STEP = 8  # widths are multiples of it: few shapes, and the processor likes eights


def width_of(length: int) -> int:
    """The width of a rectangle whose longest row has so many tokens."""
    return -(-length // STEP) * STEP
