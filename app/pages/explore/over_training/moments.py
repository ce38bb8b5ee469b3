"""The moments of a training: the snapshots of a run, and its loss between them."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from engine.messages.events import Measured
from engine.runs.folder import RunFolder, checkpoint_step
from engine.runs.snapshots import run_of, snapshot_folders


@dataclass(frozen=True)
class Moments:
    """The snapshots of a run by step, at least two, and its training loss."""

    name: str  # of the run
    folders: tuple[Path, ...]
    losses: np.ndarray = field(compare=False)  # float64 [N, 2]: step and loss, by step

    @property
    def steps(self) -> tuple[int, ...]:
        return tuple(checkpoint_step(folder) for folder in self.folders)

    def nearest(self, checkpoint: Path) -> int:
        """The number of a snapshot, or of the last one up to the step of a checkpoint."""
        if checkpoint in self.folders:
            return self.folders.index(checkpoint)
        return max(0, int(np.searchsorted(self.steps, checkpoint_step(checkpoint), "right")) - 1)

    def place(self, step: np.ndarray) -> np.ndarray:
        """Where steps are on an axis on which snapshots are equally far apart, float64 [N]."""
        found: np.ndarray = np.interp(step, self.steps, np.arange(len(self.steps)))
        return found

    def loss_at(self, number: int) -> float | None:
        """The loss that was measured nearest to a snapshot; None where there is none."""
        if not len(self.losses):
            return None
        nearest = np.abs(self.losses[:, 0] - self.steps[number]).argmin()
        return float(self.losses[nearest, 1])


def moments_of(checkpoint: Path) -> Moments | None:
    """Those of the run that made a checkpoint; None where it has fewer than two snapshots."""
    run = run_of(checkpoint)
    folders = snapshot_folders(run) if run is not None else []
    if run is None or len(folders) < 2:
        return None
    return Moments(run.job().name, tuple(folders), _losses(run))


def _losses(run: RunFolder) -> np.ndarray:
    """The training loss of each step, the last word on it; what is not finite is left out."""
    found = {
        event.step: event.value
        for event in run.all_events()
        if isinstance(event, Measured) and event.name == "loss"
    }
    points = [(step, value) for step, value in sorted(found.items()) if value is not None]
    return np.array(points, dtype=np.float64).reshape(-1, 2)
