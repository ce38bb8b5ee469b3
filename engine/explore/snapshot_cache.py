"""Snapshots of a run, kept ready: the one that is looked at, and those nearest to it.

They are kept as long as there is memory for them, and the farthest goes first. While nobody asks,
the nearest that is not there is loaded, where that takes so little that nobody waits for it.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import psutil

from engine.errors import StudioError
from engine.models.checkpoint import Checkpoint
from engine.runs.snapshots import run_of, snapshot_folders
from engine.serving.serving import Serving
from engine.system.terminal import echo_error
from engine.tokenizers.tokenizer import Tokenizer

QUICK = 0.5  # s to load one: those that take longer are loaded only when they are asked about
RESERVE = 0.25  # of the memory, that stays free
COPIES = 2  # of the weights in float32: plain, and packed for fast products

Signature = tuple[tuple[str, int, int], ...]
Load = Callable[[Path, Tokenizer | None], Checkpoint]


class HeldSnapshot(NamedTuple):
    """A loaded snapshot."""

    signature: Signature
    serving: Serving


class SnapshotCache:
    """`load` makes a checkpoint of a folder, with a tokenizer that was read already."""

    def __init__(self, load: Load, signature: Callable[[Path], Signature]) -> None:
        self._load, self._signature = load, signature
        self._held: dict[Path, HeldSnapshot] = {}
        self._damaged: set[Path] = set()  # not tried again unasked
        self._words: tuple[Path, Signature, Tokenizer] | None = None  # of the run that was last
        self._latest: Path | None = None
        self._seconds = 0.0  # that the last one took to load
        self._bytes = 0  # that it takes in memory

    @property
    def held(self) -> tuple[Path, ...]:
        """The folders of those that are ready."""
        return tuple(self._held)

    def serving(self, folder: Path) -> Serving:
        """The snapshot in `folder`. Raises StudioError where it cannot be loaded."""
        self._latest = folder
        signature = self._signature(folder)
        held = self._held.get(folder)
        if held is not None and held.signature == signature:
            return held.serving
        self._held.pop(folder, None)
        while self._held and not self._has_room():
            del self._held[max(self._held, key=self._distances(folder).__getitem__)]
        return self._take(folder, signature)

    def prepare(self) -> bool:
        """Load the nearest that is not held; whether it was worth to be called again."""
        if self._latest is None or self._seconds > QUICK or not self._has_room():
            return False
        distances = self._distances(self._latest)
        for folder in sorted(distances, key=distances.__getitem__):
            if folder not in self._held and folder not in self._damaged:
                try:
                    self._take(folder, self._signature(folder))
                except StudioError as error:  # told when somebody asks about it
                    self._damaged.add(folder)
                    echo_error(f"Not loaded ahead: {error}")
                return True
        return False

    def _take(self, folder: Path, signature: Signature) -> Serving:
        began = time.perf_counter()
        shared = self._signature(folder.parent)
        known = self._words if self._words and self._words[:2] == (folder.parent, shared) else None
        checkpoint = self._load(folder, known and known[2])
        self._words = (folder.parent, shared, checkpoint.tokenizer)
        serving = Serving(checkpoint, is_snapshot=True)
        self._seconds = time.perf_counter() - began
        parameters = sum(p.numel() for p in checkpoint.network.parameters())
        self._bytes = COPIES * 4 * parameters
        self._held[folder] = HeldSnapshot(signature, serving)
        return serving

    def _has_room(self) -> bool:
        memory = psutil.virtual_memory()
        return memory.available - self._bytes > RESERVE * memory.total

    def _distances(self, folder: Path) -> dict[Path, float]:
        """How far each snapshot of the run is from `folder`, in snapshots; later ones first. Those
        of another run are the farthest."""
        run = run_of(folder)
        order = snapshot_folders(run) if run is not None else []
        here = order.index(folder) if folder in order else 0
        found = {one: abs(n - here) + (0.5 if n < here else 0.0) for n, one in enumerate(order)}
        return {one: float("inf") for one in self._held} | found
