"""Moves through the snapshots of the model's run."""

from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np
from PySide6.QtCore import QObject, Signal

from app import background
from app.library import ModelEntry
from app.notices import Notices
from app.pages.explore.live_query import LiveQuery
from app.pages.explore.state import ExploreState
from app.timers import repeated
from app.widgets.text import numbers
from engine.messages.events import Measured
from engine.runs.folder import RunFolder, checkpoint_step
from engine.runs.snapshots import find_run, snapshot_folders


@dataclass(frozen=True)
class Snapshots:
    """At least two snapshots of a run in step order, and its training loss."""

    run_name: str
    folders: tuple[Path, ...]
    losses: np.ndarray = field(compare=False)  # float64 [N, 2]: step and loss, sorted by step

    @property
    def steps(self) -> tuple[int, ...]:
        return tuple(checkpoint_step(folder) for folder in self.folders)

    def index_of(self, checkpoint: Path) -> int:
        """Index of a snapshot; for another checkpoint, of the last snapshot up to its step."""
        if checkpoint in self.folders:
            return self.folders.index(checkpoint)
        return max(0, int(np.searchsorted(self.steps, checkpoint_step(checkpoint), "right")) - 1)

    def positions(self, step: np.ndarray) -> np.ndarray:
        """Position of steps on an axis with equally spaced snapshots, float64 [N]."""
        positions: np.ndarray = np.interp(step, self.steps, np.arange(len(self.steps)))
        return positions

    def loss_at(self, index: int) -> float | None:
        """Loss measured nearest to a snapshot; None without losses."""
        if not len(self.losses):
            return None
        nearest = np.abs(self.losses[:, 0] - self.steps[index]).argmin()
        return float(self.losses[nearest, 1])


def read_snapshots(checkpoint: Path) -> Snapshots | None:
    """Snapshots of the run that wrote a checkpoint; None if it has fewer than two."""
    run = find_run(checkpoint)
    folders = snapshot_folders(run) if run is not None else []
    if run is None or len(folders) < 2:
        return None
    return Snapshots(run.job().name, tuple(folders), _losses(run))


def _losses(run: RunFolder) -> np.ndarray:
    """Last training loss of each step; non-finite values are left out."""
    losses = {
        event.step: event.value
        for event in run.all_events()
        if isinstance(event, Measured) and event.name == "loss"
    }
    points = [(step, value) for step, value in sorted(losses.items()) if value is not None]
    return np.array(points, dtype=np.float64).reshape(-1, 2)


STEP_MS = 400  # minimum time per snapshot while playing


class SnapshotBrowser(QObject):
    """Chooses the shown snapshot of the model's run.

    Signals:
        changed: the snapshots, the shown one or `is_playing` changed.
    """

    changed = Signal()

    def __init__(self, explore: ExploreState, notices: Notices) -> None:
        super().__init__(explore)
        self._explore, self._notices = explore, notices
        self.snapshots: Snapshots | None = None
        self._reading: background.Job | None = None
        self._playing = repeated(self, STEP_MS, self._on_time)
        explore.model_changed.connect(self._on_model)
        for query in explore.findChildren(LiveQuery):  # the panels exist by now
            query.changed.connect(self._on_query)
        self._was_answered = True

    @property
    def index(self) -> int:
        """Index of the snapshot, or of the last one before the shown checkpoint."""
        checkpoint = self._explore.first.checkpoint
        return self.snapshots.index_of(checkpoint) if self.snapshots and checkpoint else 0

    @property
    def is_at_snapshot(self) -> bool:
        """True for a snapshot, False for a checkpoint of the run."""
        snapshots = self.snapshots
        return snapshots is not None and self._explore.first.checkpoint in snapshots.folders

    @property
    def is_playing(self) -> bool:
        return self._playing.isActive()

    @property
    def is_answered(self) -> bool:
        """True if all panels show the current snapshot."""
        queries = self._explore.findChildren(LiveQuery)
        return self._explore.is_settled and not any(query.is_waiting for query in queries)

    def show(self, index: int) -> None:
        model, snapshots = self._explore.first.model, self.snapshots
        if snapshots is None or model is None:
            return
        index = min(max(index, 0), len(snapshots.folders) - 1)
        folder, step = snapshots.folders[index], snapshots.steps[index]
        if folder != self._explore.first.checkpoint:
            name = self.tr("{0}, step {1}").format(snapshots.run_name, numbers.count(step))
            self._explore.step_to(replace(model, name=name, path=folder, step=step, best=False))
            self.changed.emit()

    def play(self) -> None:
        """Play from here, or from the start if at the end."""
        if self.snapshots is None:
            return
        at_end = self.index == len(self.snapshots.folders) - 1
        self.show(0 if at_end else self.index)
        self._playing.start()
        self.changed.emit()

    def pause(self) -> None:
        if self.is_playing:
            self._playing.stop()
            self.changed.emit()

    def compare(self) -> None:
        """Compare later snapshots with the current one."""
        if self._explore.first.model is not None:
            self.pause()
            self._explore.compare(self._explore.first.model)

    def _on_query(self) -> None:
        if self.snapshots is not None and self.is_answered != self._was_answered:
            self._was_answered = self.is_answered
            self.changed.emit()

    def _on_time(self) -> None:
        if self.snapshots is None or not self.is_answered:
            return
        if self.index == len(self.snapshots.folders) - 1:
            self.pause()
        else:
            self.show(self.index + 1)

    def _on_model(self) -> None:
        if self.is_at_snapshot:
            return
        self.pause()
        if self._reading is not None:
            self._reading.cancel()
        model = self._explore.first.model
        if self.snapshots is not None and not (model and self._is_of_run(model)):
            self._set(None)
        if model is not None and model.info is not None:
            self._reading = background.run(
                self, partial(read_snapshots, model.path), self._set, self._notices.show
            )

    def _is_of_run(self, model: ModelEntry) -> bool:
        assert self.snapshots is not None
        return model.path.parent.parent == self.snapshots.folders[0].parent.parent

    def _set(self, snapshots: Snapshots | None) -> None:
        if snapshots != self.snapshots:
            self.snapshots = snapshots
            self.changed.emit()
