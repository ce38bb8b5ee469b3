"""How fast a run takes its steps, by the times that its worker wrote down."""

from collections import deque

LAST_STEPS = 50  # from whose times the time left is told
FEWEST_STEPS = 5  # before which nothing is told


class Pace:
    """When the last steps were taken."""

    def __init__(self) -> None:
        self._steps: deque[tuple[int, float]] = deque(maxlen=LAST_STEPS)

    def add(self, step: int, at: float) -> None:
        if self._steps and step <= self._steps[-1][0]:
            self._steps.clear()  # a resume
        self._steps.append((step, at))

    def seconds_per_step(self) -> float | None:
        """None: not known yet."""
        if len(self._steps) < FEWEST_STEPS:
            return None
        (first, began), (last, ended) = self._steps[0], self._steps[-1]
        return max(0.0, ended - began) / (last - first)
