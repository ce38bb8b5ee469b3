"""The rows that a model does worst and best."""

import numpy as np

from engine.results.ordering import Places, mistakes_first
from engine.results.predictions import Predictions
from engine.results.row_figures import figure, holds_numbers


def extremes(predictions: Predictions, count: int) -> tuple[Places, Places]:
    """At most `count` rows that are done worst, the worst first, and best, the best first.

    Rows without a label are neither, and no row is both. In order: the most confident mistakes,
    then what is right with the least confidence; of a regression, the largest residual.
    """
    known = figure(predictions, "residual" if holds_numbers(predictions.info) else "score")
    order = mistakes_first(predictions)
    order = order[~np.isnan(known[order])]
    worst = order[:count]
    best = order[max(count, len(order) - count) :][::-1]
    return worst, best
