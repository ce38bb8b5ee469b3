"""Snapshots of a run, and its training loss."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from engine.messages.events import Measured
from engine.runs.folder import RunFolder, checkpoint_step
from engine.runs.snapshots import run_of, snapshot_folders


@dataclass(frozen=True)
class Moments:
    """At least two snapshots of a run, by step, and its training loss."""

    name: str  # of the run
    folders: tuple[Path, ...]
    losses: np.ndarray = field(compare=False)  # float64 [N, 2]: step and loss, sorted by step

    @property
    def steps(self) -> tuple[int, ...]:
        return tuple(checkpoint_step(folder) for folder in self.folders)

    def nearest(self, checkpoint: Path) -> int:
        """Index of a snapshot, or of the last one up to a checkpoint's step."""
        if checkpoint in self.folders:
            return self.folders.index(checkpoint)
        return max(0, int(np.searchsorted(self.steps, checkpoint_step(checkpoint), "right")) - 1)

    def place(self, step: np.ndarray) -> np.ndarray:
        """Position of steps on an axis with equally spaced snapshots, float64 [N]."""
        found: np.ndarray = np.interp(step, self.steps, np.arange(len(self.steps)))
        return found

    def loss_at(self, number: int) -> float | None:
        """Loss measured nearest to a snapshot; None without losses."""
        if not len(self.losses):
            return None
        nearest = np.abs(self.losses[:, 0] - self.steps[number]).argmin()
        return float(self.losses[nearest, 1])


def moments_of(checkpoint: Path) -> Moments | None:
    """Snapshots of the run that wrote a checkpoint; None if it has fewer than two."""
    run = run_of(checkpoint)
    folders = snapshot_folders(run) if run is not None else []
    if run is None or len(folders) < 2:
        return None
    return Moments(run.job().name, tuple(folders), _losses(run))


def _losses(run: RunFolder) -> np.ndarray:
    """Last training loss of each step; non-finite values are left out."""
    found = {
        event.step: event.value
        for event in run.all_events()
        if isinstance(event, Measured) and event.name == "loss"
    }
    points = [(step, value) for step, value in sorted(found.items()) if value is not None]
    return np.array(points, dtype=np.float64).reshape(-1, 2)
