"""Cache of the snapshots of a run: the one on display and its neighbours.

Snapshots are cached as far as memory allows, and the farthest is evicted first. While idle, the
nearest missing one is preloaded, if loading is quick enough not to delay an answer.
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

QUICK = 0.5  # seconds to load one; slower ones are loaded only on request
RESERVE = 0.25  # fraction of the memory that stays free
COPIES = 2  # of the weights in float32: plain, and packed for fast products

Signature = tuple[tuple[str, int, int], ...]
Load = Callable[[Path, Tokenizer | None], Checkpoint]


class CachedSnapshot(NamedTuple):
    """A loaded snapshot."""

    signature: Signature
    serving: Serving


class SnapshotCache:
    """`load` reads a checkpoint from a folder, with an already loaded tokenizer."""

    def __init__(self, load: Load, signature: Callable[[Path], Signature]) -> None:
        self._load, self._signature = load, signature
        self._held: dict[Path, CachedSnapshot] = {}
        self._damaged: set[Path] = set()  # not preloaded again
        self._words: tuple[Path, Signature, Tokenizer] | None = None  # of the last run
        self._latest: Path | None = None
        self._seconds = 0.0  # load time of the last one
        self._bytes = 0  # its size in memory

    @property
    def held(self) -> tuple[Path, ...]:
        """The folders of the cached snapshots."""
        return tuple(self._held)

    def serving(self, folder: Path) -> Serving:
        """The snapshot in `folder`. Raises StudioError if it cannot be loaded."""
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
        """Preload the nearest snapshot that is not cached; True if there may be more to do."""
        if self._latest is None or self._seconds > QUICK or not self._has_room():
            return False
        distances = self._distances(self._latest)
        for folder in sorted(distances, key=distances.__getitem__):
            if folder not in self._held and folder not in self._damaged:
                try:
                    self._take(folder, self._signature(folder))
                except StudioError as error:  # reported when this snapshot is requested
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
        self._held[folder] = CachedSnapshot(signature, serving)
        return serving

    def _has_room(self) -> bool:
        memory = psutil.virtual_memory()
        return memory.available - self._bytes > RESERVE * memory.total

    def _distances(self, folder: Path) -> dict[Path, float]:
        """Distance of each snapshot of the run from `folder`, counted in snapshots; later ones
        first. Snapshots of other runs are the farthest."""
        run = run_of(folder)
        order = snapshot_folders(run) if run is not None else []
        here = order.index(folder) if folder in order else 0
        found = {one: abs(n - here) + (0.5 if n < here else 0.0) for n, one in enumerate(order)}
        return {one: float("inf") for one in self._held} | found
