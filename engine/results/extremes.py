"""The worst and best rows of a model."""

import numpy as np

from engine.results.ordering import Places, mistakes_first
from engine.results.predictions import Predictions
from engine.results.row_figures import figure, holds_numbers


def extremes(predictions: Predictions, count: int) -> tuple[Places, Places]:
    """At most `count` rows each: the worst, worst first, and the best, best first.

    Rows without a label are in neither, and no row is in both. The order is: the most confident
    mistakes, then correct rows with the least confidence; for numbers, the largest residual first.
    """
    known = figure(predictions, "residual" if holds_numbers(predictions.info) else "score")
    order = mistakes_first(predictions)
    order = order[~np.isnan(known[order])]
    worst = order[:count]
    best = order[max(count, len(order) - count) :][::-1]
    return worst, best
