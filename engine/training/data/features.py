"""Cached outputs of a frozen encoder, or of its frozen layers.

One memory-mapped file per layer holds float32 [tokens, D] of all inputs in order. The folder name
is a hash of weights, inputs and precision; it is safe to delete.

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

from engine.config.training import TrainingSpec
from engine.data.tokenized.dataset import TokenizedDataset
from engine.files.atomic_write import check_free_space, disk_errors_for
from engine.files.regular_file import check_regular
from engine.models.fast.encoding import run_lower_layers
from engine.models.frozen_linear import low_precision_weights
from engine.models.lora import merge_adapters
from engine.models.network import Network
from engine.models.probe import layer_indices, select_layers
from engine.phrases import phrase
from engine.progress import ProgressCallback, no_progress
from engine.runs.folder import RunFolder
from engine.tasks.evaluating import batches_by_length, for_each, uses_two_threads
from engine.tasks.learner import input_rows, pad
from engine.tokenizers.tokenizer import Tokenizer
from engine.training.context import RunContext
from engine.training.device.machine import Machine
from engine.training.optimiser import layer_index
from engine.training.setup import TrainingSetup

EXTRACTION_BATCH = 32  # inputs; the last bits of features may depend on it


class CachedFeatures:
    """Hidden states of some layers for all inputs, read from disk on demand."""

    def __init__(self, files: list[Path], lengths: np.ndarray) -> None:
        self._maps = [np.load(check_regular(file), mmap_mode="r") for file in files]
        self._offsets = np.concatenate([[0], np.cumsum(lengths)])

    def read_padded(self, rows: np.ndarray, width: int) -> Tensor:
        """Features of some inputs, float32 [B, T, N, D] with T = `width`; 0 on padding."""
        shape = (len(rows), width, len(self._maps), self._maps[0].shape[1])
        vectors = np.zeros(shape, dtype=np.float32)
        for index, row in enumerate(rows):
            first, last = self._offsets[row], self._offsets[row + 1]
            for layer, layer_map in enumerate(self._maps):
                vectors[index, : last - first, layer] = layer_map[first:last]
        return torch.from_numpy(vectors)


def count_cached_layers(network: Network, settings: TrainingSpec) -> int:
    """Number of lowest layers whose output the run caches."""
    return min(settings.frozen_layers, network.spec.layers) if settings.cache_frozen_layers else 0


def attach_features(context: RunContext, setup: TrainingSetup, machine: Machine) -> None:
    """Attach the features that a probe reads, or the output of cached frozen layers.

    They are computed unless cached. Raises Cancelled on a stop.
    """
    network, frozen_layers = setup.network, count_cached_layers(setup.network, context.job.training)
    if not context.job.features.trains_probe and not frozen_layers:
        return
    data, job, folder = setup.data, context.job, _feature_folder(context.folder)
    shared = job.features.cache
    if shared is not None and (shared.parent.is_dir() or shared.parents[1].is_dir()):
        folder = shared  # else the run was moved elsewhere
    vectors = job.group.vectors if job.group is not None else ()  # of the runs of a layer sweep
    probes = [job.features.model_copy(update={"vectors": row}) for row in vectors]
    layer_sets = [layer_indices(p, network.spec.layers) for p in probes if p.trains_probe]
    others = tuple(layer for indices in layer_sets for layer in indices)
    extractor = FeatureExtractor(network, data.tokenizer, machine, folder, frozen_layers)
    training = phrase("Extracting features of the training set")
    validation = phrase("Extracting features of the validation set")
    note = phrase(
        "The features are cached in {folder}. If deleted, they are computed again.", folder=folder
    )
    if frozen_layers:
        training = phrase("Running the frozen layers on the training set")
        validation = phrase("Running the frozen layers on the validation set")
        note = phrase(
            "The output of the lowest {n} layer(s) is cached in {folder} until the run has "
            "finished. If deleted, it is computed again.",
            n=frozen_layers,
            folder=folder,
        )
    sets = [(phase.examples, training, phase.order.examples) for phase in data.phases]
    if (held_out := data.validation) is not None:
        sets.append((held_out, validation, np.arange(len(held_out))))
    for examples, name, indices in sets:
        rows = input_rows(indices, examples.inputs_per_example)
        examples.vectors = extractor.features(examples.tokenized, rows, others, context.stage(name))
    network.encoder.cached_layers = frozen_layers
    context.note(note)


def delete_features(run: RunFolder) -> None:
    """Delete the features of a run after it has finished; failures are ignored."""
    shutil.rmtree(_feature_folder(run), ignore_errors=True)


@dataclass(frozen=True)
class FeatureExtractor:
    """Runs the encoder over inputs and caches its outputs below `folder`."""

    network: Network
    tokenizer: Tokenizer
    machine: Machine
    folder: Path
    frozen_layers: int = 0  # number of frozen layers to run; 0: the layers of the probe

    def features(
        self,
        tokenized: TokenizedDataset,
        rows: np.ndarray,
        others: tuple[int, ...] = (),
        progress: ProgressCallback = no_progress,
    ) -> CachedFeatures:
        """Return the features of some inputs; computes missing ones.

        Args:
            rows: indices of the inputs, int64 [n], ascending; other rows stay undefined.
            others: layers that other runs will read, computed in the same pass.
        """
        needed: tuple[int, ...] = (self.frozen_layers,)
        if not self.frozen_layers:
            assert self.network.probe is not None
            needed = self.network.probe.layers
        target = self.folder / self._key(tokenized, rows)
        missing = [h for h in dict.fromkeys((*needed, *others)) if not _file(target, h).is_file()]
        if any(h in needed for h in missing):
            self._compute(tokenized, rows, target, missing, progress)
        return CachedFeatures([_file(target, h) for h in needed], tokenized.lengths)

    def _compute(
        self,
        tokenized: TokenizedDataset,
        rows: np.ndarray,
        target: Path,
        layer_indices: list[int],
        progress: ProgressCallback,
    ) -> None:
        """Compute all inputs in one pass; files appear complete or not at all."""
        shape = (int(tokenized.lengths.sum()), self.network.spec.hidden_size)
        size = 4 * int(tokenized.lengths[rows].sum()) * shape[1]  # sparse files
        self.network.eval()
        with disk_errors_for(target), ExitStack() as cleaning:
            target.mkdir(mode=0o700, parents=True, exist_ok=True)
            check_free_space(target, size * len(layer_indices))
            new = [_file(target, h).with_suffix(f".{os.getpid()}.tmp") for h in layer_indices]
            for file in new:
                cleaning.callback(file.unlink, missing_ok=True)
            maps = [np.lib.format.open_memmap(f, "w+", np.float32, shape) for f in new]
            self._fill(tokenized, rows, maps, layer_indices, progress)
            for layer_map, file, h in zip(maps, new, layer_indices, strict=True):
                layer_map.flush()
                with open(file, "rb+") as handle:
                    os.fsync(handle.fileno())
                os.replace(file, _file(target, h))

    def _fill(
        self,
        tokenized: TokenizedDataset,
        rows: np.ndarray,
        maps: list[np.memmap],  # float32 [tokens, D], one per layer
        layer_indices: list[int],
        progress: ProgressCallback,
    ) -> None:
        device = self.machine.device
        offsets = np.concatenate([[0], np.cumsum(tokenized.lengths)])

        def fill(positions: np.ndarray) -> None:
            batch_rows = rows[positions]
            tokens, segments, attention_mask = pad(tokenized, batch_rows, self.tokenizer.pad)
            attention_mask = None if attention_mask is None else attention_mask.to(device)
            vectors = self._vectors(
                tokens.to(device), segments.to(device), attention_mask, layer_indices
            )
            values = vectors.float().cpu().numpy()
            for index, row in enumerate(batch_rows):
                length = tokenized.lengths[row]
                for layer, layer_map in enumerate(maps):
                    layer_map[offsets[row] : offsets[row + 1]] = values[index, :length, layer]

        batches = batches_by_length(tokenized.lengths[rows], EXTRACTION_BATCH)
        precision = self.machine.precision
        with low_precision_weights(self.network, precision):
            for_each(batches[::-1], fill, precision, progress, uses_two_threads(device))

    def _vectors(
        self,
        tokens: Tensor,
        segments: Tensor,
        attention_mask: Tensor | None,
        layer_indices: list[int],
    ) -> Tensor:
        """Return float [B, T, N, D]."""
        encoder = self.network.encoder
        if self.frozen_layers:
            hidden = run_lower_layers(encoder, tokens, segments, attention_mask, self.frozen_layers)
            return hidden[:, :, None]
        encoded = encoder(tokens, segments, attention_mask, keep_hidden=True)
        return select_layers(encoded.hidden, tuple(layer_indices))

    def _key(self, tokenized: TokenizedDataset, rows: np.ndarray) -> str:
        """Hash the weights used, the inputs, and the device and precision."""
        network, machine, count = self.network, self.machine, self.frozen_layers
        digest = hashlib.sha256(
            f"{machine.device.type} {machine.precision_name} {network.spec} {count}".encode()
        )
        for name, tensor in merge_adapters(network.encoder).items():
            if not count or layer_index(f"encoder.{name}", network.spec) <= count:
                digest.update(name.encode())
                digest.update(tensor.cpu().numpy().tobytes())
        digest.update(tokenized.lengths.tobytes())
        digest.update(rows.tobytes())
        for index in range(len(tokenized)):
            digest.update(tokenized.ids(index).tobytes())
            digest.update(tokenized.segments(index).tobytes())
        return digest.hexdigest()[:24]


def _feature_folder(run: RunFolder) -> Path:
    return run.cache / "vectors"


def _file(target: Path, layer_index: int) -> Path:
    return target / (f"layer-{layer_index:03d}.npy" if layer_index >= 0 else "sum-of-all.npy")
