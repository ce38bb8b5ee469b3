"""Anomalies on the curves of a run: loss spikes, exploding gradients, no improvement for long.

A spike is measured against the preceding values, by their median and the median absolute deviation,
which a spike itself does not move (Rousseeuw and Croux 1993).
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from engine.phrases import Phrase, phrase

Kind = Literal["spike", "explosion", "no improvement"]
Steps = NDArray[np.float64]
Values = NDArray[np.float64]

WINDOW = 50  # preceding values that a value is compared with
MIN_VALUES = 20  # of them needed for a comparison
MIN_DEVIATIONS = 8.0  # robust standard deviations
MIN_RATIO = 1.5  # times the median
EXPLOSION_RATIO = 10.0  # times the median of the gradient norms
MAD_TO_SD = 1.4826  # from the median absolute deviation of a normal distribution
MIN_DISTANCE = 10  # values between alerts of one kind
PATIENCE = 5  # evaluations without a better one
MIN_FRACTION = 1 / 3  # minimum fraction of all evaluations
MAX_ALERTS = 20  # of one kind
CHUNK = 2_000  # values compared in one NumPy call


@dataclass(frozen=True)
class Alert:
    """An anomaly at a step, described without a full stop."""

    kind: Kind
    step: int
    text: Phrase


def spikes(steps: Steps, losses: Values) -> list[Alert]:
    """Find losses far above the preceding ones; float64 [N] each, NaN if not finite."""
    alerts = []
    for index, ratio in _outliers(losses, MIN_RATIO):
        step = int(steps[index])
        text = phrase(
            "Loss spike at step {step:,}: {times:.1f} × the running median", step=step, times=ratio
        )
        alerts.append(Alert("spike", step, text))
    return alerts


def explosions(steps: Steps, norms: Values) -> list[Alert]:
    """Find gradient norms many times the preceding ones."""
    alerts = []
    for index, ratio in _outliers(norms, EXPLOSION_RATIO):
        step = int(steps[index])
        text = phrase(
            "Gradient norm {times:.0f} × the running median at step {step:,}",
            step=step,
            times=ratio,
        )
        alerts.append(Alert("explosion", step, text))
    return alerts


def no_improvement(steps: Steps, scores: Values, best_step: int) -> list[Alert]:
    """Report if the best evaluation was long ago; at most one alert.

    `best_step` is that of the run: of equal scores, the one with the lower loss.
    """
    finite = steps[np.isfinite(scores)]
    later = int((finite > best_step).sum())
    if best_step not in finite or later < PATIENCE or later < MIN_FRACTION * len(finite):
        return []
    sentence = phrase(
        "No better evaluation since step {step:,} ({n} so far)", step=best_step, n=later
    )
    return [Alert("no improvement", best_step, sentence)]


def _outliers(values: Values, min_ratio: float) -> list[tuple[int, float]]:
    """Indices of values far above the preceding ones, and their multiples of the median."""
    indices = np.flatnonzero(np.isfinite(values))
    finite = values[indices]
    if len(finite) <= MIN_VALUES:
        return []
    padded = np.concatenate([np.full(WINDOW, np.inf), finite])
    windows = np.lib.stride_tricks.sliding_window_view(padded, WINDOW)[:-1]  # [N, WINDOW]
    # only values far above the minimum are checked: medians of all windows are slow
    candidates: list[int] = []
    for start in range(MIN_VALUES, len(finite), CHUNK):
        chunk = slice(start, start + CHUNK)
        is_above = finite[chunk] > min_ratio * windows[chunk].min(axis=1)
        candidates += (start + np.flatnonzero(is_above)).tolist()
    outliers: list[tuple[int, float]] = []
    for index in candidates:
        window = windows[index][np.isfinite(windows[index])]
        median = float(np.median(window))
        spread = MAD_TO_SD * float(np.median(np.abs(window - median)))
        is_far = finite[index] - median > MIN_DEVIATIONS * max(spread, 1e-12)
        if median > 0 and finite[index] > min_ratio * median and is_far:
            if outliers and index - outliers[-1][0] < MIN_DISTANCE:
                continue
            outliers.append((index, float(finite[index] / median)))
            if len(outliers) == MAX_ALERTS:
                break
    return [(int(indices[index]), ratio) for index, ratio in outliers]
