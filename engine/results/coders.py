"""Codes that several coders gave to the rows of predictions."""

import numpy as np
from numpy.typing import NDArray

from engine.data.columns.coders import Codings, read_codings
from engine.results.predictions import Predictions
from engine.results.row_figures import cached_per_table


@cached_per_table
def coder_codes(predictions: Predictions) -> Codings | None:
    """The codes of the rows; None without columns of at least two coders."""
    mapping = predictions.info.mapping
    if len(mapping.coders) < 2 or not {*mapping.coders} <= {*predictions.columns}:
        return None
    return read_codings(predictions.cells, mapping)


def disputed_rows(predictions: Predictions) -> NDArray[np.bool_]:
    """The rows on which coders disagree, bool [rows]; none without coders."""
    codings = coder_codes(predictions)
    return np.zeros(len(predictions), dtype=bool) if codings is None else codings.disputed
