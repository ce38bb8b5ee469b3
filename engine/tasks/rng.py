"""Random numbers of a run, determined by its seed, a purpose and an index."""

import numpy as np

ORDER, SUBSET, MASKS, VALIDATION, DROPOUT = range(5)  # purposes


def rng_for(seed: int, purpose: int, index: int = 0) -> np.random.Generator:
    """An independent generator for each purpose and index."""
    return np.random.default_rng([seed, purpose, index])
