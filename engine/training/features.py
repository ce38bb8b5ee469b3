"""Features that a frozen encoder gives for examples: computed once, and cached in mapped files.

A file for each height holds float32 [tokens, D], all inputs one after another. The folder's name
changes with the weights, the inputs and the precision; it is safe to delete.

Shapes: B sequences, T tokens in each, N vectors of each token, D width.
"""

import hashlib
import os
import shutil
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from engine.atomic_write import check_room, disk_errors_for
from engine.data.packing.packed import Packed
from engine.models.lora import merged
from engine.models.network import Network
from engine.models.probe import chosen, heights
from engine.phrases import phrase
from engine.progress import ProgressCallback, no_progress
from engine.regular_file import regular
from engine.runs.folder import RunFolder
from engine.spec.job import JobSpec
from engine.tasks.evaluating import for_each, gains_by_two, in_turn
from engine.tasks.learner import pad
from engine.tokenizers.tokenizer import Tokenizer
from engine.training.context import RunContext
from engine.training.devices import Machine
from engine.training.setup import TrainingSetup

EXTRACTION_BATCH = (
    32  # inputs that the encoder sees at once; features may differ in the last bit with it
)


class CachedFeatures:
    """Hidden states at some heights for all inputs, read from disk as they are needed."""

    def __init__(self, files: list[Path], lengths: np.ndarray) -> None:
        self._maps = [np.load(regular(file), mmap_mode="r") for file in files]
        self._offsets = np.concatenate([[0], np.cumsum(lengths)])

    def padded(self, rows: np.ndarray, width: int) -> Tensor:
        """float32 [B, T, N, D] of these inputs, 0 on padding; T is `width`."""
        shape = (len(rows), width, len(self._maps), self._maps[0].shape[1])
        found = np.zeros(shape, dtype=np.float32)
        for place, row in enumerate(rows):
            first, last = self._offsets[row], self._offsets[row + 1]
            for number, one in enumerate(self._maps):
                found[place, : last - first, number] = one[first:last]
        return torch.from_numpy(found)


def attach_features(context: RunContext, setup: TrainingSetup, machine: Machine) -> None:
    """Where a probe is trained, compute the features that it reads, or find them in their cache.

    Raises Cancelled where a stop is wanted meanwhile.
    """
    if setup.network.probe is None:
        return
    data, folder = setup.data, _cache(context)
    others = _heights_of_group(context.job, setup.network.spec.layers)
    extractor = FeatureExtractor(setup.network, data.tokenizer, machine, folder)
    training = phrase("Extracting features of the training set")
    sets = [(phase.examples, training) for phase in data.phases]
    if data.validation is not None:
        sets.append((data.validation, phrase("Extracting features of the validation set")))
    for examples, name in sets:
        progress = context.stage(name)
        examples.vectors = extractor.features(examples.packed, others, progress)
    context.note(
        phrase(
            "The features are cached in {folder}. If deleted, they are computed again.",
            folder=folder,
        )
    )


def delete_own_features(run: RunFolder) -> None:
    """Delete what a finished run will not read again; where a system does not let it, it stays."""
    shutil.rmtree(_own_features(run), ignore_errors=True)


@dataclass(frozen=True)
class FeatureExtractor:
    """Runs the encoder of a network over inputs, and caches what it gives below `folder`."""

    network: Network
    tokenizer: Tokenizer
    machine: Machine
    folder: Path

    def features(
        self,
        packed: Packed,
        others: tuple[int, ...] = (),
        progress: ProgressCallback = no_progress,
    ) -> CachedFeatures:
        """The features that the network's probe reads, computed where they are not there yet.

        Args:
            others: heights that other runs will read; they are computed in the same pass.
        """
        assert self.network.probe is not None
        wanted = self.network.probe.heights
        inside = self.folder / _key(self.network, packed, self.machine)
        missing = [h for h in dict.fromkeys((*wanted, *others)) if not _file(inside, h).is_file()]
        if any(height in wanted for height in missing):
            self._compute(packed, inside, missing, progress)
        return CachedFeatures([_file(inside, height) for height in wanted], packed.lengths)

    def _compute(
        self, packed: Packed, inside: Path, heights: list[int], progress: ProgressCallback
    ) -> None:
        """Go through all inputs once; files appear whole or not at all."""
        shape = (int(packed.lengths.sum()), self.network.spec.hidden_size)
        self.network.eval()
        with disk_errors_for(inside), ExitStack() as cleaning:
            inside.mkdir(mode=0o700, parents=True, exist_ok=True)
            check_room(inside, 4 * shape[0] * shape[1] * len(heights))
            new = [_file(inside, height).with_suffix(f".{os.getpid()}.tmp") for height in heights]
            for file in new:
                cleaning.callback(file.unlink, missing_ok=True)
            maps = [np.lib.format.open_memmap(f, "w+", np.float32, shape) for f in new]
            self._fill(packed, maps, heights, progress)
            for one, file, height in zip(maps, new, heights, strict=True):
                one.flush()
                with open(file, "rb+") as opened:
                    os.fsync(opened.fileno())
                os.replace(file, _file(inside, height))

    def _fill(
        self,
        packed: Packed,
        maps: list[np.memmap],  # float32 [tokens, D], one for each height
        heights: list[int],
        progress: ProgressCallback,
    ) -> None:
        network, device = self.network, self.machine.device
        offsets = np.concatenate([[0], np.cumsum(packed.lengths)])

        def fill(rows: np.ndarray) -> None:
            tokens, segments, attention_mask = pad(packed, rows, self.tokenizer.pad)
            attention_mask = None if attention_mask is None else attention_mask.to(device)
            encoded = network.encoder(
                tokens.to(device), segments.to(device), attention_mask, keep_hidden=True
            )
            found = chosen(encoded.hidden, tuple(heights)).float().cpu().numpy()
            for place, row in enumerate(rows):
                length = packed.lengths[row]
                for number, one in enumerate(maps):
                    one[offsets[row] : offsets[row + 1]] = found[place, :length, number]

        batches = in_turn(packed.lengths, EXTRACTION_BATCH)
        for_each(batches[::-1], fill, self.machine.precision, progress, gains_by_two(device))


def _cache(context: RunContext) -> Path:
    """The folder of the features: that of the job, unless the run was copied to where it is not."""
    shared = context.job.features.cache
    is_here = shared is not None and (shared.parent.is_dir() or shared.parents[1].is_dir())
    return shared if shared is not None and is_here else _own_features(context.folder)


def _own_features(run: RunFolder) -> Path:
    """Where a run by itself keeps features until it is finished."""
    return run.cache / "vectors"


def _heights_of_group(job: JobSpec, layers: int) -> tuple[int, ...]:
    """What the other runs of a layer sweep read."""
    rows = job.group.vectors if job.group is not None else ()
    others = [job.features.model_copy(update={"vectors": row}) for row in rows]
    return tuple(h for other in others if other.trains_probe for h in heights(other, layers))


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
