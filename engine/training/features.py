"""The vectors that a frozen encoder gives for examples: computed once, and kept in mapped files.

A file for each height holds float32 [tokens, D], all inputs one after another. The folder's name
changes with the weights, the inputs and the precision; it is safe to delete.

Shapes: B sequences, T tokens in each, N vectors of each token, D width.
"""

import hashlib
import os
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from engine.atomic_write import check_room, disk_errors_for
from engine.data.packing.packed import Packed
from engine.models.lora import merged
from engine.models.network import Network
from engine.models.probe import chosen
from engine.tasks.evaluating import for_each, gains_by_two, in_turn
from engine.tasks.learner import Progress, pad
from engine.tokenizers.tokenizer import Tokenizer
from engine.training.devices import Machine

BATCH = 32  # inputs that the encoder sees at once; vectors may differ in the last bit with it


class Vectors:
    """Vectors at some heights for all inputs, read from disk as they are needed."""

    def __init__(self, files: list[Path], lengths: np.ndarray) -> None:
        self._parts = [np.load(file, mmap_mode="r") for file in files]
        self._offsets = np.concatenate([[0], np.cumsum(lengths)])

    def padded(self, rows: np.ndarray, width: int) -> Tensor:
        """float32 [B, T, N, D] of these inputs, 0 on padding; T is `width`."""
        shape = (len(rows), width, len(self._parts), self._parts[0].shape[1])
        found = np.zeros(shape, dtype=np.float32)
        for place, row in enumerate(rows):
            first, last = self._offsets[row], self._offsets[row + 1]
            for number, part in enumerate(self._parts):
                found[place, : last - first, number] = part[first:last]
        return torch.from_numpy(found)


def vectors_for(
    network: Network,
    packed: Packed,
    tokenizer: Tokenizer,
    folder: Path,
    machine: Machine,
    others: tuple[int, ...] = (),
    progress: Progress = lambda done, total: None,
) -> Vectors:
    """The vectors that the reader of `network` reads, made where they are not there yet.

    Args:
        others: heights that other runs will read; they are made in the same go.
    """
    assert network.reader is not None
    wanted = network.reader.heights
    inside = folder / _key(network, packed, machine)
    missing = [h for h in dict.fromkeys((*wanted, *others)) if not _file(inside, h).is_file()]
    if any(height in wanted for height in missing):
        _make(network, packed, tokenizer, inside, machine, missing, progress)
    return Vectors([_file(inside, height) for height in wanted], packed.lengths)


def _make(
    network: Network,
    packed: Packed,
    tokenizer: Tokenizer,
    inside: Path,
    machine: Machine,
    heights: list[int],
    progress: Progress,
) -> None:
    """Go through all inputs once; files appear whole or not at all."""
    shape = (int(packed.lengths.sum()), network.spec.hidden_size)
    offsets = np.concatenate([[0], np.cumsum(packed.lengths)])
    network.eval()
    with disk_errors_for(inside), ExitStack() as cleaning:
        inside.mkdir(mode=0o700, parents=True, exist_ok=True)
        check_room(inside, 4 * shape[0] * shape[1] * len(heights))
        new = [_file(inside, height).with_suffix(f".{os.getpid()}.tmp") for height in heights]
        for file in new:
            cleaning.callback(file.unlink, missing_ok=True)
        maps = [np.lib.format.open_memmap(f, "w+", np.float32, shape) for f in new]
        batches = in_turn(packed.lengths, BATCH)

        def fill(rows: np.ndarray) -> None:
            tokens, segments, real = pad(packed, rows, tokenizer.pad)
            real = None if real is None else real.to(machine.device)
            encoded = network.encoder(
                tokens.to(machine.device), segments.to(machine.device), real, keep_hidden=True
            )
            found = chosen(encoded.hidden, tuple(heights)).float().cpu().numpy()
            for place, row in enumerate(rows):
                length = packed.lengths[row]
                for number, made in enumerate(maps):
                    made[offsets[row] : offsets[row + 1]] = found[place, :length, number]

        for_each(batches[::-1], fill, machine.precision, progress, gains_by_two(machine.device))
        for made, file, height in zip(maps, new, heights, strict=True):
            made.flush()
            with open(file, "rb+") as opened:
                os.fsync(opened.fileno())
            os.replace(file, _file(inside, height))


def _file(inside: Path, height: int) -> Path:
    return inside / (f"layer-{height:03d}.npy" if height >= 0 else "sum-of-all.npy")


def _key(network: Network, packed: Packed, machine: Machine) -> str:
    """Of the encoder's weights, the inputs, and how they are computed."""
    digest = hashlib.sha256(
        f"{machine.device.type} {machine.precision_name} {network.spec}".encode()
    )
    for name, tensor in merged(network.encoder).items():
        digest.update(name.encode())
        digest.update(tensor.cpu().numpy().tobytes())
    digest.update(packed.lengths.tobytes())
    for number in range(len(packed)):
        digest.update(packed.ids(number).tobytes())
        digest.update(packed.segments(number).tobytes())
    return digest.hexdigest()[:24]
