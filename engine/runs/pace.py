"""How long a run took to get to each of its steps, and how many tokens it had seen there."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.messages.events import Measured, Started
from engine.runs.folder import RunFolder

MAX_GAP = 3600.0  # s between two measurements; in more of it the machine slept
SPEED = "tokens_per_second"


@dataclass(frozen=True)
class Pace:
    """N steps that rise, int64 [N]; the seconds of training up to each, float64 [N]; the tokens."""

    steps: NDArray[np.int64]
    seconds: NDArray[np.float64]
    tokens: NDArray[np.float64]


def pace_of(run: RunFolder) -> Pace:
    """Read the events of a run. Time in which no worker lived does not count.

    Tokens are the speed times the time since the measurement before: the events have no count of
    them. What was trained again after a resume replaces what was there.
    """
    steps: list[int] = []
    seconds: list[float] = []
    tokens: list[float] = []
    before = None
    for event in run.every_event():
        if isinstance(event, Started):
            before = event.at
        if not isinstance(event, Measured) or event.name != SPEED:
            continue
        while steps and steps[-1] >= event.step:
            steps.pop(), seconds.pop(), tokens.pop()
        gap = (event.at - before).total_seconds() if before is not None else 0.0
        gap = min(max(gap, 0.0), MAX_GAP)
        before = event.at
        steps.append(event.step)
        seconds.append((seconds[-1] if seconds else 0.0) + gap)
        tokens.append((tokens[-1] if tokens else 0.0) + gap * (event.value or 0.0))
    return Pace(np.array(steps, dtype=np.int64), np.array(seconds), np.array(tokens))
