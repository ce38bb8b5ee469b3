"""A growing series that can be appended to, smoothed and read at a step. No widgets."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Steps = Sequence[float] | NDArray[np.int64] | NDArray[np.float64]
Values = Sequence[float | None] | Floats


class StepSeries:
    """Values over rising steps; NaN if a value is not finite."""

    def __init__(self, steps: Steps = (), values: Values = ()) -> None:
        self._steps: Floats = np.empty(max(16, len(steps)))
        self._values: Floats = np.empty(max(16, len(steps)))
        self._length = 0
        self.extend(steps, values)

    def __len__(self) -> int:
        return self._length

    @property
    def steps(self) -> Floats:
        return self._steps[: self._length]

    @property
    def values(self) -> Floats:
        return self._values[: self._length]

    def extend(self, steps: Steps, values: Values) -> None:
        """Append points in the order of their steps.

        A step that exists already, as after a resume, replaces all points from it on.
        """
        new_steps = np.asarray(steps, dtype=np.float64)
        new_values = np.array(values, dtype=np.float64)  # None becomes NaN
        new_values[~np.isfinite(new_values)] = np.nan
        if not len(new_steps):
            return
        if self._length and new_steps[0] <= self._steps[self._length - 1]:
            self._length = int(np.searchsorted(self.steps, new_steps[0]))
        needed = self._length + len(new_steps)
        if needed > len(self._steps):
            capacity = max(needed, 2 * len(self._steps))
            self._steps = np.resize(self._steps, capacity)
            self._values = np.resize(self._values, capacity)
        self._steps[self._length : needed] = new_steps
        self._values[self._length : needed] = new_values
        self._length = needed

    def smooth(self, points: int) -> Floats:
        """The mean over `points` neighbours around each value; gaps stay gaps.

        A short series is smoothed over fewer, so that the beginning of a run shows its shape.
        """
        values = self.values
        points = min(points, max(3, len(values) // 8))
        if points <= 1 or len(values) < 3:
            return values.copy()
        finite, half = np.isfinite(values), points // 2
        sums = _window_sums(np.where(finite, values, 0.0), half)
        with np.errstate(invalid="ignore", divide="ignore"):
            means = sums / _window_sums(finite, half)
        means[~finite] = np.nan
        return np.asarray(means, dtype=np.float64)

    def point_at(self, step: float) -> tuple[float, float] | None:
        """The last point at or before `step`; None before the first."""
        index = int(np.searchsorted(self.steps, step, side="right")) - 1
        return None if index < 0 else (float(self._steps[index]), float(self._values[index]))


def _window_sums(values: NDArray[Any], half: int) -> NDArray[Any]:
    """Sum of each value and its `half` neighbours on either side."""
    sums = np.zeros(len(values) + 2 * half + 1, np.result_type(values, np.int32))
    np.cumsum(values, out=sums[half + 1 : half + 1 + len(values)])
    sums[half + 1 + len(values) :] = sums[half + len(values)]
    return sums[2 * half + 1 :] - sums[: len(values)]
