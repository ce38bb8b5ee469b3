"""Selective prediction: the accuracy of the rows that are sure enough, by how many these are.

The risk–coverage curve of El-Yaniv and Wiener (2010), with accuracy in place of risk. N rows.
"""

import numpy as np
from numpy.typing import NDArray

from engine.config.tasks import get_head
from engine.results.curves import Curve, curve
from engine.results.labels import is_multi_label
from engine.results.predictions import Predictions
from engine.results.row_figures import Floats, cached_per_table, details, figure


@cached_per_table
def certainties(predictions: Predictions) -> Floats:
    """Certainty of each prediction, [N], as `engine.applying.apply.certainty`; NaN if unknown.

    Its probability; of several labels or tags that of the least certain one.
    """
    if is_multi_label(predictions):
        surest = np.maximum(predictions.scores, 1 - predictions.scores)  # of each label
        least: Floats = surest.min(axis=1, initial=1.0)
        return least
    if get_head(predictions.info.task).tags_tokens:
        rows = (row.get("probabilities") for row in details(predictions))
        return np.array([min((p or 0.0 for p in row or ()), default=np.nan) for row in rows])
    return figure(predictions, "probability")


def coverage_curve(predictions: Predictions) -> Curve:
    """The rows at or above each certainty; its precision is their accuracy.

    Rows without gold or without a probability are left out. A row is right if it is wholly right.
    """
    certainty, score = certainties(predictions), figure(predictions, "score")
    usable = ~np.isnan(certainty) & ~np.isnan(score)
    return curve(certainty[usable], score[usable] >= 1)


def coverage(curve: Curve) -> NDArray[np.float64]:
    """The fraction of rows at or above each threshold, float64 [P]."""
    answered = curve.true_positives + curve.false_positives
    return answered / max(1, curve.positives + curve.negatives)


def threshold_at(curve: Curve, index: int) -> float:
    """A threshold that the rows up to an index of the curve reach, and no others; 0: all rows.

    It is half-way to the next lower certainty, so that it does not depend on rounding.
    """
    if index >= len(curve.thresholds) - 1:
        return 0.0
    return float(curve.thresholds[index : index + 2].mean(dtype=np.float64))
