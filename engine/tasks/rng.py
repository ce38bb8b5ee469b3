"""All random numbers of a run, which follow from its seed, a purpose and a number alone."""

import numpy as np

ORDER, SHARE, MASKS, VALIDATION, DROPOUT = range(5)  # purposes, kept apart


def rng_for(seed: int, purpose: int, number: int = 0) -> np.random.Generator:
    """A generator of its own for each purpose and step."""
    return np.random.default_rng([seed, purpose, number])
