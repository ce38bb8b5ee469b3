"""Cache of the most recently used checkpoints, loaded and ready."""

from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import torch

from engine.errors import StudioError
from engine.explore.snapshot_cache import SnapshotCache
from engine.files.snapshot_folder import SNAPSHOTS, is_snapshot
from engine.models.checkpoint import Checkpoint, load
from engine.phrases import phrase
from engine.serving.serving import Serving
from engine.system.terminal import echo_error
from engine.tokenizers.tokenizer import Tokenizer

MAX_MODELS = 3

Signature = tuple[tuple[str, int, int], ...]


class CachedCheckpoint(NamedTuple):
    """A loaded checkpoint."""

    signature: Signature
    serving: Serving
    preparing: Iterator[None]


class ModelCache:
    """Loads checkpoints onto the torch device `device`, and reloads them if their files change."""

    def __init__(self, device: str = "cpu") -> None:
        self._device = device
        self._held: OrderedDict[Path, CachedCheckpoint] = OrderedDict()
        self.snapshots = SnapshotCache(self._load_snapshot, _signature)

    def take(self, folder: Path) -> Checkpoint:
        """The checkpoint in `folder`, computed exactly; see `serving`."""
        return self.serving(folder).exact

    def serving(self, folder: Path) -> Serving:
        """The checkpoint in `folder`, evicting the least recently used one. Snapshots of a run have
        a cache of their own.

        Raises StudioError if it cannot be loaded, or the device is not available.
        """
        if is_snapshot(folder):
            return self.snapshots.serving(folder)
        signature = _signature(folder)
        held = self._held.pop(folder, None)
        if held is None or held.signature != signature:
            while len(self._held) >= MAX_MODELS:
                self._held.popitem(last=False)
            device = _device(self._device)
            checkpoint = load(folder)
            checkpoint.network.to(device)
            serving = Serving(checkpoint)
            held = CachedCheckpoint(signature, serving, serving.prepare())
        self._held[folder] = held
        return held.serving

    def _load_snapshot(self, folder: Path, known: Tokenizer | None) -> Checkpoint:
        device = _device(self._device)
        checkpoint = load(folder, known=known)
        checkpoint.network.to(device)
        return checkpoint

    def prepare(self) -> bool:
        """Do one small step of preparing the cached models for quick answers, or of preloading
        snapshots; True if more is left."""
        if self.snapshots.prepare():
            return True
        for held in reversed(self._held.values()):
            try:
                next(held.preparing)
            except StopIteration:
                continue
            # torch raises RuntimeError if memory is short
            except (MemoryError, RuntimeError) as error:
                echo_error(f"No quick answers: {error}")
                held.serving.give_up()
                continue
            return True
        return False


def _device(name: str) -> torch.device:
    present = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.mps.is_available()}
    if not present.get(name, False):
        raise StudioError(
            phrase("The device “{name}” that is set for Explore is not available.", name=name),
            phrase("Choose another device on the Settings page."),
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
