"""The next smaller model to try, by a tree-structured Parzen estimator of two objectives.

Optuna's TPESampler (Ozaki et al. 2020) minimises the cost and maximises the score. The first shapes
are spread over the range of costs.
"""

import math
from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import optuna
from optuna.distributions import CategoricalDistribution
from optuna.trial import create_trial

FIRST = 4  # shapes before the first draw
MAX_DRAWS = 50

optuna.logging.set_verbosity(optuna.logging.ERROR)

Shape = tuple[int, ...]  # a value for each dimension


class Tried(NamedTuple):
    shape: Shape
    cost: float
    score: float  # higher is better


def next_shape(
    dimensions: Sequence[Sequence[int]], tried: Sequence[Tried], seed: int
) -> Shape | None:
    """A shape that was not tried; None if all were.

    Args:
        dimensions: the possible values of each dimension, the cheapest first.
    """
    shapes, done = list(product(*dimensions)), {item.shape for item in tried}
    left = [shape for shape in shapes if shape not in done]
    if not left:
        return None
    if len(tried) < FIRST:
        first = _spread(dimensions)
        return next((shape for shape in first if shape not in done), left[0])
    names = [str(index) for index in range(len(dimensions))]
    choices = {
        name: CategoricalDistribution(tuple(values))
        for name, values in zip(names, dimensions, strict=True)
    }
    sampler = optuna.samplers.TPESampler(n_startup_trials=FIRST, seed=seed + len(tried))
    study = optuna.create_study(directions=["minimize", "maximize"], sampler=sampler)
    study.add_trials(
        [
            create_trial(
                values=[item.cost, item.score],
                params=dict(zip(names, item.shape, strict=True)),
                distributions=dict(choices),
            )
            for item in tried
            if item.shape in shapes
        ]
    )
    for _ in range(MAX_DRAWS):
        drawn = study.ask(dict(choices))
        shape = tuple(drawn.params[name] for name in names)
        if shape not in done:
            return shape
    return left[(seed + len(tried)) % len(left)]


def _spread(dimensions: Sequence[Sequence[int]]) -> list[Shape]:
    """Shapes with all dimensions at the same fraction of their range, rounded up."""
    return [
        tuple(values[math.ceil(fraction * (len(values) - 1))] for values in dimensions)
        for fraction in (1 / 4, 3 / 4, 0, 1 / 2)
    ]
