"""Caches of checkpoints, loaded and ready: the most recently used, and the snapshots of a run."""

import time
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import psutil
import torch

from engine.errors import StudioError
from engine.files.snapshot_folder import SNAPSHOTS, is_snapshot
from engine.models.checkpoint import Checkpoint, load
from engine.runs.snapshots import find_run, snapshot_folders
from engine.serving.serving import Serving
from engine.system.terminal import echo_error
from engine.tokenizers.tokenizer import Tokenizer

MAX_MODELS = 3
MAX_PRELOAD_SECONDS = 0.5  # seconds to load a snapshot; slower ones are loaded only on request
RESERVED_FRACTION = 0.25  # of memory, kept free
WEIGHT_COPIES = 2  # in float32: plain, and packed for fast products

Signature = tuple[tuple[str, int, int], ...]


class CachedCheckpoint(NamedTuple):
    signature: Signature
    serving: Serving
    preparation: Iterator[None]  # steps of preparing it for quick answers


class ModelCache:
    """Loads checkpoints onto the torch device `device`, and reloads them if their files change."""

    def __init__(self, device: str = "cpu") -> None:
        self._device = device
        self._cached: OrderedDict[Path, CachedCheckpoint] = OrderedDict()
        self.snapshots = SnapshotCache(device)

    def take(self, folder: Path) -> Checkpoint:
        """The checkpoint in `folder`, computed exactly; see `serving`."""
        return self.serving(folder).exact

    def serving(self, folder: Path) -> Serving:
        """The checkpoint in `folder`, evicting the least recently used one. Snapshots of a run have
        a separate cache.

        Raises StudioError if it cannot be loaded, or the device is not available.
        """
        if is_snapshot(folder):
            return self.snapshots.serving(folder)
        signature = _signature(folder)
        cached = self._cached.pop(folder, None)
        if cached is None or cached.signature != signature:
            while len(self._cached) >= MAX_MODELS:
                self._cached.popitem(last=False)
            serving = Serving(_load(folder, self._device))
            cached = CachedCheckpoint(signature, serving, serving.prepare())
        self._cached[folder] = cached
        return cached.serving

    def prepare(self) -> bool:
        """Do one small step of preparing the cached models for quick answers, or of preloading
        snapshots; True if more is left."""
        if self.snapshots.prepare():
            return True
        for cached in reversed(self._cached.values()):
            try:
                next(cached.preparation)
            except StopIteration:
                continue
            # torch raises RuntimeError if memory is short
            except (MemoryError, RuntimeError) as error:
                echo_error(f"No quick answers: {error}")
                cached.serving.give_up()
                continue
            return True
        return False


class SnapshotCache:
    """The snapshots of a run: the one on display and its neighbours.

    Snapshots are cached as far as memory allows, and the farthest is evicted first. While idle, the
    nearest missing one is preloaded, if loading is quick enough not to delay an answer.
    """

    def __init__(self, device: str) -> None:
        self._device = device
        self._cached: dict[Path, CachedCheckpoint] = {}
        self._damaged: set[Path] = set()  # not preloaded again
        self._tokenizer: tuple[Path, Signature, Tokenizer] | None = None  # of the last run
        self._latest: Path | None = None
        self._load_time = 0.0  # of the last snapshot
        self._model_bytes = 0  # size of the last snapshot in memory

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folders of the cached snapshots."""
        return tuple(self._cached)

    def serving(self, folder: Path) -> Serving:
        """The snapshot in `folder`. Raises StudioError if it cannot be loaded."""
        self._latest = folder
        signature = _signature(folder)
        cached = self._cached.get(folder)
        if cached is not None and cached.signature == signature:
            return cached.serving
        self._cached.pop(folder, None)
        while self._cached and not self._has_memory():
            del self._cached[max(self._cached, key=self._distances(folder).__getitem__)]
        return self._take(folder, signature)

    def prepare(self) -> bool:
        """Preload the nearest snapshot that is not cached; True if there may be more to do."""
        if self._latest is None or self._load_time > MAX_PRELOAD_SECONDS or not self._has_memory():
            return False
        distances = self._distances(self._latest)
        for folder in sorted(distances, key=distances.__getitem__):
            if folder not in self._cached and folder not in self._damaged:
                try:
                    self._take(folder, _signature(folder))
                except StudioError as error:  # reported when this snapshot is requested
                    self._damaged.add(folder)
                    echo_error(f"Not preloaded: {error}")
                return True
        return False

    def _take(self, folder: Path, signature: Signature) -> Serving:
        began = time.perf_counter()
        shared = _signature(folder.parent)
        stored = self._tokenizer
        is_same_run = stored is not None and stored[:2] == (folder.parent, shared)
        checkpoint = _load(folder, self._device, stored[2] if stored and is_same_run else None)
        self._tokenizer = (folder.parent, shared, checkpoint.tokenizer)
        serving = Serving(checkpoint, is_snapshot=True)
        self._load_time = time.perf_counter() - began
        parameters = sum(p.numel() for p in checkpoint.network.parameters())
        self._model_bytes = WEIGHT_COPIES * 4 * parameters
        self._cached[folder] = CachedCheckpoint(signature, serving, iter(()))
        return serving

    def _has_memory(self) -> bool:
        memory = psutil.virtual_memory()
        return memory.available - self._model_bytes > RESERVED_FRACTION * memory.total

    def _distances(self, folder: Path) -> dict[Path, float]:
        """Distance of each snapshot of the run from `folder`, counted in snapshots; later ones
        first. Snapshots of other runs are the farthest."""
        run = find_run(folder)
        order = snapshot_folders(run) if run is not None else []
        current = order.index(folder) if folder in order else 0
        distances = {
            path: abs(n - current) + (0.5 if n < current else 0.0) for n, path in enumerate(order)
        }
        return {path: float("inf") for path in self._cached} | distances


def _load(folder: Path, device: str, tokenizer: Tokenizer | None = None) -> Checkpoint:
    """A checkpoint on a device; `tokenizer`: the folder's, if it was read before."""
    torch_device = _device(device)
    checkpoint = load(folder, tokenizer=tokenizer)
    checkpoint.network.to(torch_device)
    return checkpoint


def _device(name: str) -> torch.device:
    available = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.mps.is_available()}
    if not available.get(name, False):
        raise StudioError(
            "The device “{name}” that is set for Explore is not available.",
            "Choose another device on the Settings page.",
            name=name,
        )
    return torch.device(name)


def _signature(folder: Path) -> Signature:
    """Name, size and modification time of each entry, without what snapshots share; empty if there
    is no folder."""
    try:
        files = sorted(folder.iterdir())
        if folder.name == SNAPSHOTS:
            files = [file for file in files if file.is_file()]
        return tuple((f.name, f.stat().st_size, f.stat().st_mtime_ns) for f in files)
    except OSError:
        return ()
