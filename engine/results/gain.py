"""Gain in accuracy from more labelled rows, from the learning curve of a light model.

Shapes: N labelled rows, C labels, J sizes of training sets, B bootstrap samples.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.progress import ProgressCallback, no_progress
from engine.results.intervals import Interval
from engine.results.light_model import Floats, Indices, LightModel

FOLDS, REPEATS = 5, 2
FRACTIONS = (0.25, 0.4, 0.6, 0.8, 1.0)  # of the training rows of a fold
EXPONENTS = np.geomspace(0.1, 2, 31)  # of the power law
SAMPLES = 400  # bootstrap
HARDLY = 0.01  # a gain below it is hardly worth the labels
MAJORITY = 0.5  # of the gain: mostly from one label


@dataclass(frozen=True)
class LearningCurve:
    """Errors of rows that a model did not see.

    Args:
        sizes: float64 [J], numbers of training rows.
        errors: float64 [N, J], the fraction of models of each size that are wrong on a row.
        noise: variance of the gain that comes from which rows are in the training sets.
    """

    sizes: Floats
    errors: Floats
    noise: float


@dataclass(frozen=True)
class Gain:
    """Accuracy now and the accuracy gained by `more` rows; `label` has most of it, “” for none."""

    rows: int
    more: int
    accuracy: float
    gain: Interval
    label: str = ""

    @property
    def hardly_pays(self) -> bool:
        return self.gain.high < HARDLY


def learning_curve(
    model: LightModel,
    rows: Indices,
    targets: NDArray[np.bool_],
    any_number: bool = False,
    progress: ProgressCallback = no_progress,
) -> LearningCurve:
    """Errors on held-out rows by the number of training rows, by repeated cross-validation.

    Args:
        rows: int64 [N], places of the labelled rows in the model.
        targets: bool [N, C], their labels.
    """
    count, total = len(rows), FOLDS * REPEATS * len(FRACTIONS)
    largest = count - -(-count // FOLDS)
    sizes = np.unique(np.round(np.array(FRACTIONS) * largest).astype(int))
    errors, changes = np.zeros((count, len(sizes))), list[NDArray[np.float64]]()
    rng, done = np.random.default_rng(0), 0
    for _ in range(REPEATS):
        order = rng.permutation(count)
        for fold in range(FOLDS):
            held = order[fold::FOLDS]
            others = rng.permutation(np.setdiff1d(order, held))
            wrong = np.zeros((len(held), len(sizes)))
            for place, size in enumerate(sizes.tolist()):
                p = model.predict(rows[others[:size]], rows[held], any_number)
                wrong[:, place] = _is_wrong(p, targets[held], any_number)
                progress(done := done + 1, total)
            errors[held] += wrong / REPEATS
            last = wrong[:, -2:-1] - wrong[:, -1:]
            figures = np.hstack([wrong, last])
            changes.append(np.stack([figures.mean(axis=0), figures.var(axis=0) / len(held)]))
    means, variances = np.stack(changes, axis=1)  # [models, J + 1]
    between = np.maximum(means.var(axis=0, ddof=1) - variances.mean(axis=0), 0)
    noise = float((between[:-1] * sizes / count).mean() + between[-1])
    return LearningCurve(sizes.astype(np.float64), errors, noise)


def _is_wrong(p: Floats, targets: NDArray[np.bool_], any_number: bool) -> Floats:
    if any_number:
        wrong = ((p >= 0.5) != targets).any(axis=1)
    else:
        wrong = p.argmax(axis=1) != targets.argmax(axis=1)
    return np.asarray(wrong, dtype=np.float64)


def estimate_gain(
    curve: LearningCurve, more: int, targets: NDArray[np.bool_], names: Sequence[str]
) -> Gain:
    """The accuracy that `more` rows add, with the 95 % interval of one such addition.

    The error follows a + b m^−c of m rows (Cortes et al. 1994; Viering and Loog 2023), with a and
    b ≥ 0. The interval: 400 bootstrap samples of the rows, each with its own curve, and a normal
    error with the variance between training sets.
    """
    count = len(curve.errors)
    rng = np.random.default_rng(0)
    weights = rng.multinomial(count, np.full(count, 1 / count), SAMPLES) / count
    means = np.vstack([curve.errors.mean(axis=0), weights @ curve.errors])  # [1 + B, J]
    a, b, c = fit_power_law(curve.sizes, means)
    step = count**-c - (count + more) ** -c
    gains, error = b * step, a + b * count**-c
    sampled = gains[1:] + rng.normal(0, np.sqrt(curve.noise), SAMPLES)
    low, high = np.quantile(sampled, [0.025, 0.975]).tolist()
    share = targets.mean(axis=0)
    slopes = np.array(
        [
            _slope(curve.sizes, curve.errors[has].mean(axis=0), c[0]) if has.any() else 0.0
            for has in targets.T
        ]
    )
    parts = share * slopes
    best = int(parts.argmax())
    label = names[best] if len(names) > 2 and parts[best] > MAJORITY * b[0] > 0 else ""
    value = float(gains[0])
    return Gain(
        count, more, float(1 - error[0]), Interval(value, min(low, value), max(high, value)), label
    )


def fit_power_law(sizes: Floats, errors: Floats) -> tuple[Floats, Floats, Floats]:
    """a, b and c of a + b m^−c, each float64 [B], by least squares for errors [B, J]; a, b ≥ 0."""
    best, found = np.full(len(errors), np.inf), np.zeros((3, len(errors)))
    for c in EXPONENTS.tolist():
        x = sizes**-c
        centred = x - x.mean()
        b = np.maximum((errors @ centred) / (centred @ centred), 0)
        a = errors.mean(axis=1) - b * x.mean()
        through_zero = np.maximum((errors @ x) / (x @ x), 0)
        a, b = np.where(a < 0, 0, a), np.where(a < 0, through_zero, b)
        loss = ((errors - a[:, None] - b[:, None] * x) ** 2).sum(axis=1)
        is_better = loss < best - 1e-15
        best = np.where(is_better, loss, best)
        found = np.where(is_better, np.stack([a, b, np.full_like(a, c)]), found)
    return found[0], found[1], found[2]


def _slope(sizes: Floats, errors: Floats, c: float) -> float:
    centred = sizes**-c - (sizes**-c).mean()
    return float((errors @ centred) / (centred @ centred))
