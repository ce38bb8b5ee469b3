"""Prediction sets of classes by split conformal prediction. N rows, C labels.

A set has every label with a probability from which on the model gave the true label of most
calibration rows: the score is 1 − p(true label) (LAC: Sadinle, Lei and Wasserman 2019), its
quantile that of Vovk, Gammerman and Shafer (2005) and Angelopoulos and Bates (2023, §1), over all
rows, or over those of each class (Mondrian: Vovk 2013).
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from engine.config.prediction import PredictionSets, percent_text
from engine.errors import StudioError
from engine.phrases import phrase

DIGITS = 9  # of products with a coverage, which are not exact in binary


def calibrate(
    probabilities: NDArray[np.floating],
    true: NDArray[np.int64],
    labels: Sequence[str],
    coverage: float,
    by_class: bool = False,
) -> PredictionSets:
    """Prediction sets that contain the true label of a new row with a probability of `coverage`.

    Args:
        probabilities: float [N, C], of rows on which the model was not trained.
        true: the index of the label of each, int64 [N].
        labels: the names of the C labels.
        coverage: between 0 and 1.
        by_class: hold it for the rows of each label.

    Raises StudioError if there are too few rows.
    """
    least = {}
    given = probabilities[np.arange(len(true)), true]
    for index, label in enumerate(labels):
        if by_class:
            least[label] = _lowest(given[true == index], coverage, label)
        else:
            least[label] = next(iter(least.values())) if least else _lowest(given, coverage)
    return PredictionSets(coverage=coverage, by_class=by_class, rows=len(true), least=least)


def members(
    sets: PredictionSets, probabilities: NDArray[np.floating], labels: Sequence[str]
) -> NDArray[np.bool_]:
    """The labels in the set of each row, bool [N, C]; one that was not calibrated is in none.

    A set is empty if no label is likely enough.
    """
    never = 2.0  # no probability reaches it
    least = np.array([sets.least.get(label, never) for label in labels], probabilities.dtype)
    inside: NDArray[np.bool_] = probabilities >= least
    return inside


def min_rows(coverage: float) -> int:
    """The fewest calibration rows n with ⌈(n + 1) coverage⌉ ≤ n."""
    return max(1, math.ceil(round(coverage / (1 - coverage), DIGITS)))


def _lowest(given: NDArray[np.floating], coverage: float, label: str = "") -> float:
    """The k-th highest probability of a true label, k = ⌈(n + 1) coverage⌉."""
    needed = min_rows(coverage)
    if len(given) < needed:
        values = {"coverage": percent_text(coverage), "needed": needed, "n": len(given)}
        raise StudioError(
            phrase(
                "Prediction sets for {coverage} by class need {needed:,} labelled rows of each "
                "label, and “{label}” has {n:,}.",
                label=label,
                **values,
            )
            if label
            else phrase(
                "Prediction sets for {coverage} need {needed:,} labelled rows, and there are "
                "{n:,}.",
                **values,
            ),
            "Choose a lower coverage, or label more validation rows.",
        )
    rank = math.ceil(round((len(given) + 1) * coverage, DIGITS))
    return float(np.partition(given, len(given) - rank)[len(given) - rank])
