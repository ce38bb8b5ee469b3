"""Text search in rows of predictions."""

from typing import Any

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from engine.results.predictions import CELL, Predictions

LABELS = ("gold", "predicted")


def rows_with(predictions: Predictions, text: str) -> NDArray[np.bool_]:
    """The rows with `text` in a cell, in gold or in the prediction, ignoring case, bool [rows]."""
    found = np.zeros(len(predictions), dtype=bool)
    for name in predictions.table.column_names:
        if name in LABELS or name.startswith(CELL):
            column: Any = predictions.table[name]
            has: Any = pc.match_substring(column, text, ignore_case=True)
            found |= pc.fill_null(has, False).to_numpy(zero_copy_only=False)
    return found
