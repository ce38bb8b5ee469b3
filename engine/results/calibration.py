"""Calibration: reliability diagram, ECE, temperature scaling.

N rows with gold, C labels. For single labels, the probability of the prediction is compared with
its correctness; for multi-label rows, the probability of each label with its presence.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.results.conditions import Between, Conditions
from engine.results.intervals import Interval, wilson
from engine.results.labels import codes, is_multi_label, labelled, labels, members
from engine.results.predictions import Predictions
from engine.results.row_figures import Floats, figure

BINS = 10
MIN_TEMPERATURE, MAX_TEMPERATURE = 0.05, 20.0  # bounds of temperatures
MIN_PROBABILITY = 1e-30  # clips probabilities, so that logarithms are finite
BISECTIONS = 26  # of the log temperature: 7 digits
MAX_FIT_ROWS = 200_000  # drawn at random


@dataclass(frozen=True)
class Bin:
    """The probabilities from `low` to below `high`; the last bin includes 1."""

    low: float
    high: float
    count: int
    confidence: float  # mean probability
    accuracy: Interval  # fraction that is right (Wilson)
    conditions: Conditions


class Temperature(NamedTuple):
    """A temperature T: probabilities become softmax(logits / T), or sigmoid(logits / T).

    “Before” is T = 1. “After” is measured on the half of the rows that T was not fitted on, for
    both halves in turn; NaN with fewer than two rows.
    """

    value: float
    is_at_limit: bool  # the optimum lies beyond MIN_TEMPERATURE or MAX_TEMPERATURE
    nll_before: float
    nll_after: float
    ece_before: float
    ece_after: float


def reliability(predictions: Predictions) -> tuple[Bin, ...]:
    """Reliability diagram (DeGroot and Fienberg 1983): the non-empty ones of BINS equal bins.

    It covers the predicted label, or all labels of a multi-label task.
    """
    confidence, right = _confidences(predictions)
    multi_label = is_multi_label(predictions)
    indices = bin_indices(confidence)
    bins = []
    for index in range(BINS):
        last = index + 1 == BINS
        low, high = index / BINS, (index + 1) / BINS
        between = Between(figure="probability", least=low, most=None if last else high)
        inside = indices == index
        if inside.any():
            bins.append(
                Bin(
                    low=low,
                    high=high,
                    count=int(inside.sum()),
                    confidence=float(confidence[inside].mean(dtype=np.float64)),
                    accuracy=wilson(int(right[inside].sum()), int(inside.sum())),
                    conditions=() if multi_label else (between,),
                )
            )
    return tuple(bins)


def ece(bins: tuple[Bin, ...]) -> float:
    """Expected calibration error: the mean distance of confidence and accuracy over the rows.

    Naeini et al. (2015), Guo et al. (2017, eq. 3); NaN without rows.
    """
    rows = sum(item.count for item in bins)
    if not rows:
        return float("nan")
    return sum(item.count * abs(item.accuracy.value - item.confidence) for item in bins) / rows


def temperature(predictions: Predictions) -> Temperature | None:
    """The temperature with the lowest negative log-likelihood (Guo et al. 2017, §4.2).

    None if no row has gold that the model knows.
    """
    probabilities, truth = _probabilities(predictions)
    if not len(truth):
        return None
    if len(truth) > MAX_FIT_ROWS:
        sample = np.random.default_rng(0).choice(len(truth), MAX_FIT_ROWS, replace=False)
        probabilities, truth = probabilities[sample], truth[sample]
    multi_label = is_multi_label(predictions)
    logits = to_logits(probabilities, multi_label)
    value = fit_temperature(logits, truth, multi_label)
    halves = np.arange(len(truth)) % 2 == 0
    after = np.full(truth.shape, np.nan)
    if len(truth) > 1:
        for half in (halves, ~halves):
            fitted = fit_temperature(logits[half], truth[half], multi_label)
            after[~half] = probabilities_at(logits[~half], fitted, multi_label)
    return Temperature(
        value=value,
        is_at_limit=not MIN_TEMPERATURE * 1.001 < value < MAX_TEMPERATURE / 1.001,
        nll_before=_nll(probabilities, truth, multi_label),
        nll_after=_nll(after, truth, multi_label),
        ece_before=_ece(probabilities, truth, multi_label),
        ece_after=_ece(after, truth, multi_label),
    )


def fit_temperature(
    logits: NDArray[np.float64], truth: NDArray[np.bool_], multi_label: bool = False
) -> float:
    """The temperature within the bounds that has the lowest negative log-likelihood.

    The derivative by 1/T is monotonic, so bisection finds its only zero.

    Args:
        logits: [N, C].
        truth: bool [N, C], the label of each row; any number of them if `multi_label`.
    """
    low, high = np.log(MIN_TEMPERATURE), np.log(MAX_TEMPERATURE)
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        p = probabilities_at(logits, float(np.exp(middle)), multi_label)
        if float(((p - truth) * logits).sum()) > 0:  # derivative by 1/T: a higher T is better
            low = middle
        else:
            high = middle
    return float(np.exp((low + high) / 2))


def to_logits(probabilities: Floats, multi_label: bool = False) -> NDArray[np.float64]:
    """Logits with these probabilities, float64 [N, C]; for a softmax, up to a constant per row."""
    p = np.clip(np.asarray(probabilities, dtype=np.float64), MIN_PROBABILITY, 1)
    if not multi_label:
        return np.log(p)
    return np.log(p) - np.log(np.clip(1 - p, MIN_PROBABILITY, 1))


def probabilities_at(
    logits: NDArray[np.float64], temperature: float, multi_label: bool = False
) -> NDArray[np.float64]:
    """The probabilities at a temperature, float64 [N, C]: softmax, or sigmoid if `multi_label`."""
    scaled = logits / temperature
    if multi_label:
        return np.exp(-np.logaddexp(0, -scaled))
    powers = np.exp(scaled - scaled.max(axis=1, keepdims=True))
    probabilities: NDArray[np.float64] = powers / powers.sum(axis=1, keepdims=True)
    return probabilities


def _confidences(predictions: Predictions) -> tuple[Floats, NDArray[np.bool_]]:
    """Probabilities and their correctness, [N]."""
    if not is_multi_label(predictions):
        probability, score = figure(predictions, "probability"), figure(predictions, "score")
        rows = ~np.isnan(probability) & ~np.isnan(score)
        return probability[rows], score[rows] >= 1
    probabilities, truth = _probabilities(predictions)
    return probabilities.ravel(), truth.ravel()


def _probabilities(predictions: Predictions) -> tuple[Floats, NDArray[np.bool_]]:
    """Probabilities [N, C] and truth, bool [N, C], of rows with gold that the model knows."""
    names = predictions.info.labels
    rows = labelled(predictions) & ~np.isnan(predictions.scores).any(axis=1)
    if not is_multi_label(predictions):
        gold = codes(predictions, "gold")
        rows &= (gold >= 0) & (gold < len(names))
    columns = [labels(predictions).index(name) for name in names]
    return predictions.scores[rows], members(predictions, "gold")[rows][:, columns]


def _nll(probabilities: Floats, truth: NDArray[np.bool_], multi_label: bool) -> float:
    """Mean negative log-likelihood of the truth, in nats; over all labels if `multi_label`."""
    p = np.clip(np.asarray(probabilities, dtype=np.float64), MIN_PROBABILITY, 1)
    if not multi_label:
        return float(-np.log(p[truth]).mean())
    other = np.clip(1 - p, MIN_PROBABILITY, 1)
    return float(-np.log(np.where(truth, p, other)).mean())


def _ece(probabilities: Floats, truth: NDArray[np.bool_], multi_label: bool) -> float:
    if np.isnan(probabilities).any():
        return float("nan")
    if multi_label:
        confidence, right = probabilities.ravel(), truth.ravel()
    else:
        chosen = probabilities.argmax(axis=1)
        rows = np.arange(len(truth))
        confidence, right = probabilities[rows, chosen], truth[rows, chosen]
    bins = bin_indices(confidence)
    gaps = np.bincount(bins, weights=right - confidence.astype(np.float64), minlength=BINS)
    return float(np.abs(gaps).sum() / len(confidence))


def bin_indices(confidence: Floats) -> NDArray[np.int64]:
    """The bin of each probability, int64 [N], by the limits of the diagram."""
    limits = (np.arange(1, BINS) / BINS).astype(confidence.dtype)
    return np.searchsorted(limits, confidence, side="right")
