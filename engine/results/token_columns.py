"""Columns of the rows of pre-training: one row for each of some masked tokens."""

import numpy as np
from numpy.typing import NDArray

from engine.results.predictions import Predictions
from engine.results.row_figures import numbers_in

TEXT = "text"  # around the token, with the mask in its place
POSITION = "position"  # in the input, from 0
OCCURRENCES = "occurrences"  # in the training text


def occurrences(predictions: Predictions) -> NDArray[np.float64]:
    """Occurrences of each row's token in the training text, float64 [rows]."""
    return numbers_in(predictions.cells(OCCURRENCES))
