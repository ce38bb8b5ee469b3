"""What every side of the benchmark measures, and the line in which it says so."""

import json
import os
import resource
import sys
import time
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Size:
    """A network, as far as the cost of a step goes."""

    layers: int
    width: int
    vocabulary: int

    def useful(self, lengths: np.ndarray, guessed: int = 0) -> float:
        """Operations that a step cannot do without: padding, and guesses that nobody asked for,
        do not count.

        Six for each weight and token (Kaplan et al. 2020, table 1), those of attention over the
        real lengths, and those of the head of masked words where there is one.
        """
        body = 12 * self.layers * self.width**2 * float(lengths.sum())
        attention = 2 * self.layers * self.width * float((lengths.astype(float) ** 2).sum())
        head = guessed * (self.width**2 + self.width * self.vocabulary)
        return 6 * (body + attention + head)


@dataclass
class Clock:
    """Notes the time after each step; the first `warm` steps are not counted."""

    warm: int
    steps: int
    marks: list[tuple[float, float]] = field(default_factory=list)  # s, of the clock and of the CPU

    def tick(self) -> bool:
        """After a step: whether it was the last."""
        self.marks.append((time.perf_counter(), time.process_time()))
        return len(self.marks) == self.warm + self.steps

    def tell(self, tokens: float, useful: float) -> None:
        """Print the line: `tokens` and `useful` operations of all counted steps together."""
        (began, cpu_began), (ended, cpu_ended) = self.marks[self.warm - 1], self.marks[-1]
        unit = 1 if sys.platform == "darwin" else 1024
        found = {
            "tokens": tokens,
            "operations": useful,
            "seconds": ended - began,
            "cpu_seconds": cpu_ended - cpu_began,
            "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit,
            "load": os.getloadavg()[0],
        }
        print(json.dumps(found), flush=True)
