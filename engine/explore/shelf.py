"""The last few checkpoints that were asked about, loaded and ready."""

from collections import OrderedDict
from pathlib import Path

import torch

from engine.errors import StudioError
from engine.models.checkpoint import Checkpoint, load

PLACES = 3

Signature = tuple[tuple[str, int, int], ...]


class Shelf:
    """Loads checkpoints onto `device`, a name torch knows; again when their files have changed."""

    def __init__(self, device: str = "cpu") -> None:
        self._device = device
        self._held: OrderedDict[Path, tuple[Signature, Checkpoint]] = OrderedDict()

    def take(self, folder: Path) -> Checkpoint:
        """The checkpoint in `folder`; the one used longest ago makes room.

        Raises StudioError where it cannot be loaded, or where the device is not there.
        """
        signature = _signature(folder)
        held = self._held.pop(folder, None)
        if held is None or held[0] != signature:
            while len(self._held) >= PLACES:
                self._held.popitem(last=False)
            device = _device(self._device)
            checkpoint = load(folder)
            checkpoint.network.to(device)
            held = (signature, checkpoint)
        self._held[folder] = held
        return held[1]


def _device(name: str) -> torch.device:
    present = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.mps.is_available()}
    if not present.get(name, False):
        raise StudioError(
            f"The device “{name}”, which the settings name for exploring, is not there.",
            "Choose another one on the Settings page.",
        )
    return torch.device(name)


def _signature(folder: Path) -> Signature:
    """Name, size and time of change of each file; empty where there is no folder."""
    try:
        files = sorted(folder.iterdir())
        return tuple((f.name, f.stat().st_size, f.stat().st_mtime_ns) for f in files)
    except OSError:
        return ()
