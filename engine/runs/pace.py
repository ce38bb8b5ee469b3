"""Training time and number of tokens up to each step of a run."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.messages.events import Measured, Started
from engine.runs.folder import RunFolder

MAX_GAP = 3600.0  # seconds between measurements; the machine slept during a longer gap
SPEED, TOKENS = "tokens_per_second", "tokens"


@dataclass(frozen=True)
class Pace:
    """Cumulative seconds of training at N steps, and tokens at M steps.

    `steps` is int64 [N], `seconds` float64 [N], `token_steps` int64 [M], `tokens` float64 [M].
    """

    steps: NDArray[np.int64]
    seconds: NDArray[np.float64]
    token_steps: NDArray[np.int64]
    tokens: NDArray[np.float64]


def read_pace(run: RunFolder) -> Pace:
    """Read the events of a run. Time without a worker does not count.

    Steps repeated after a resume replace the earlier ones.
    """
    seconds: dict[int, float] = {}
    tokens: dict[int, float] = {}
    previous = None
    for event in run.all_events():
        if isinstance(event, Started):
            previous = event.at
        if not isinstance(event, Measured):
            continue
        if event.name == TOKENS and event.value is not None:
            _discard_from(tokens, event.step)
            tokens[event.step] = event.value
        if event.name != SPEED:
            continue
        _discard_from(seconds, event.step)
        gap = (event.at - previous).total_seconds() if previous is not None else 0.0
        previous = event.at
        elapsed = next(reversed(seconds.values()), 0.0)
        seconds[event.step] = elapsed + min(max(gap, 0.0), MAX_GAP)
    return Pace(*_arrays(seconds), *_arrays(tokens))


def _discard_from(values: dict[int, float], step: int) -> None:
    while values and next(reversed(values)) >= step:
        values.popitem()


def _arrays(values: dict[int, float]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    return np.array(list(values), dtype=np.int64), np.array(list(values.values()), dtype=np.float64)
