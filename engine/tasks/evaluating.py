"""Deterministic evaluation of a network on examples, batched by length.

On a CPU two threads each process whole batches instead of sharing every operation; see
`engine.training.gradients`.
"""

import hashlib
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from engine.data.datasets.rows import Rows
from engine.models.checkpoint import Checkpoint
from engine.models.frozen_linear import low_precision_weights
from engine.models.network import Network
from engine.progress import ProgressCallback, no_progress
from engine.tasks.learner import Examples, Learner, Metrics, PredictionCollector
from engine.tasks.rng import VALIDATION, rng_for
from engine.tokenizers.tokenizer import Tokenizer

ENTRY_BYTES = 400  # of a known output, besides its numbers
Item = TypeVar("Item")
Precision = Callable[[], AbstractContextManager[object]]


def evaluate(
    network: Network,
    learner: Learner,
    tokenizer: Tokenizer,
    examples: Examples,
    batch_size: int,
    seed: int = 0,
    device: torch.device | None = None,
    precision: Precision = nullcontext,
    report: ProgressCallback = lambda done, total: None,
    micro_batch_size: int = 0,
    lockstep: bool = False,
) -> Metrics:
    """Evaluate a network on `examples`; random masking is the same every time.

    Args:
        micro_batch_size: examples computed at a time; 0: the whole batch.
        lockstep: other processes must run the same batches in the same order.
    """
    network.eval()
    metrics = learner.make_metrics(examples)
    batches = batches_by_length(examples.lengths, batch_size)
    device = device or torch.device("cpu")

    def add(index: int) -> None:
        indices = batches[index]
        rng = rng_for(seed, VALIDATION, index)
        batch = examples.add_vectors(learner.batch(examples, indices, tokenizer, rng), indices)
        batch = batch._replace(indices=torch.from_numpy(indices))
        for part in batch.parts(micro_batch_size):
            part = part if part.attention_mask is None else part.plan(network)
            network(metrics.add, part.to(device))

    longest_first = range(len(batches))[::-1]
    with nullcontext() if lockstep else low_precision_weights(network, precision):
        for_each(longest_first, add, precision, report, not lockstep and uses_two_threads(device))
    return metrics


def uses_two_threads(device: torch.device) -> bool:
    """True if two threads, each with half of the cores, are faster."""
    return device.type == "cpu" and torch.get_num_threads() > 1


def for_each(
    items: Sequence[Item],
    do: Callable[[Item], None],
    precision: Precision,
    report: ProgressCallback,
    parallel: bool,
) -> None:
    """Run `do` without gradients on all items, and report progress on this thread.

    An error in either thread stops both after the items in progress.
    """
    threads, parallel = torch.get_num_threads(), parallel and len(items) > 1
    pending, done = iter(items), list[Item]()

    def work(on_done: Callable[[], None]) -> None:
        torch.set_num_threads(threads // 2 if parallel else threads)  # of the calling thread
        try:
            with torch.inference_mode(), precision():
                for item in pending:
                    do(item)
                    done.append(item)
                    on_done()
        finally:
            deque(pending, maxlen=0)  # after an error, leave nothing for the other thread

    try:
        with ThreadPoolExecutor(1) as executor:
            second = executor.submit(work, lambda: None) if parallel else None
            work(lambda: report(len(done), len(items)))
            if second is not None:
                second.result()
                report(len(done), len(items))
    finally:
        torch.set_num_threads(threads)


def batches_by_length(lengths: np.ndarray, batch_size: int) -> list[np.ndarray]:
    """Batches for an evaluation: each example once, sorted by length."""
    order = np.argsort(lengths, kind="stable")
    return [order[i : i + batch_size] for i in range(0, len(order), batch_size)]


def collect_predictions(
    loaded: Checkpoint,
    learner: Learner,
    rows: Rows,
    max_length: int,
    batch_size: int = 8,
    progress: ProgressCallback = lambda done, total: None,
    on_tokenized: Callable[[Examples], object] | None = None,
    known: "KnownOutputs | None" = None,
) -> PredictionCollector:
    """Predict rows with a loaded model; `learner` belongs to its task head.

    Equal inputs are computed once. `on_tokenized` receives the tokenized examples; outputs in
    `known` are not computed, and new ones are added.
    """
    network, tokenizer = loaded.network, loaded.tokenizer
    device = next(network.parameters()).device
    with tempfile.TemporaryDirectory(prefix="bert-studio-") as scratch:
        folder = Path(scratch) / "tokenized"
        examples = learner.tokenize(rows, tokenizer, max_length, folder, lambda done, total: None)
        if on_tokenized is not None:
            on_tokenized(examples)
        metrics = learner.make_metrics(examples)
        assert isinstance(metrics, PredictionCollector)
        outputs, keys = known or KnownOutputs(), input_keys(examples)
        first = {key: index for index, key in reversed([*enumerate(keys)])}
        is_new = np.array(
            [first[key] == index and key not in outputs for index, key in enumerate(keys)], bool
        )
        outputs.need(key for key, new in zip(keys, is_new, strict=True) if not new)
        network.eval()

        def add(indices: np.ndarray) -> None:
            batch = learner.batch(examples, indices, tokenizer, rng_for(0, VALIDATION, 0))
            batch = batch._replace(indices=torch.from_numpy(indices))
            names = [keys[index] for index in indices.tolist()]
            if is_new[indices[0]]:
                batch = batch if batch.attention_mask is None else batch.plan(network)
                source: Any = _Recorder(network, outputs, names)
                network(lambda _: metrics.add(source, batch.to(device)))
            else:
                metrics.add(cast(Network, _Recalled(outputs, names)), batch)

        parallel = uses_two_threads(device)
        for indices, report in (
            (np.flatnonzero(is_new), progress),
            (np.flatnonzero(~is_new), no_progress),
        ):
            batches = [indices[b] for b in batches_by_length(examples.lengths[indices], batch_size)]
            for_each(batches[::-1], add, nullcontext, report, parallel)
        outputs.forget_needed()
        if not is_new.any():
            progress(len(keys), len(keys))
    return metrics


class KnownOutputs:
    """Outputs of the task head by the key of an input, up to a number of bytes.

    Those that are `needed` again in the same call are kept in any case.
    """

    def __init__(self, max_bytes: int = 0) -> None:
        self._kept: dict[bytes, Tensor] = {}
        self._needed: dict[bytes, Tensor | None] = {}
        self._free = max_bytes

    def __contains__(self, key: bytes) -> bool:
        return key in self._kept

    def __getitem__(self, key: bytes) -> Tensor:
        output = self._kept.get(key)
        needed = self._needed.get(key) if output is None else output
        assert needed is not None
        return needed

    def need(self, keys: Iterable[bytes]) -> None:
        """Keep the outputs of these inputs until `forget_needed`."""
        self._needed = dict.fromkeys(keys)

    def forget_needed(self) -> None:
        self._needed = {}

    def add(self, key: bytes, output: Tensor) -> None:
        """Add an output, float32 [E, C] or [E, T, C]."""
        if key in self._needed or output.nbytes + ENTRY_BYTES <= self._free:
            copy = output.cpu().clone()  # not a view of the outputs of a batch
            if key in self._needed:
                self._needed[key] = copy
            if output.nbytes + ENTRY_BYTES <= self._free:
                self._free -= output.nbytes + ENTRY_BYTES
                self._kept[key] = copy


def input_keys(examples: Examples) -> list[bytes]:
    """Keys of the inputs of examples, equal for equal token ids and segments."""
    count, tokenized = examples.inputs_per_example, examples.tokenized

    def key(example: int) -> bytes:
        digest = hashlib.blake2b(digest_size=16)
        for row in range(example * count, (example + 1) * count):
            ids = np.ascontiguousarray(tokenized.ids(row))
            digest.update(len(ids).to_bytes(4, "little") + ids.tobytes())
            digest.update(np.ascontiguousarray(tokenized.segments(row)).tobytes())
        return digest.digest()

    return [key(example) for example in range(len(examples))]


class _Recorder:
    """A network for collectors; what it computes becomes known."""

    def __init__(self, network: Network, outputs: KnownOutputs, keys: Sequence[bytes]) -> None:
        self._network, self._outputs, self._keys = network, outputs, keys

    def logits(self, *inputs: Any, **options: Any) -> Tensor:
        logits = self._network.logits(*inputs, **options)
        for key, output in zip(self._keys, logits.chunk(len(self._keys)), strict=True):
            self._outputs.add(key, output)
        return logits


class _Recalled:
    """Known outputs as a network for collectors."""

    def __init__(self, outputs: KnownOutputs, keys: Sequence[bytes]) -> None:
        self._outputs, self._keys = outputs, keys

    def logits(self, tokens: Tensor, *_: Any, **__: Any) -> Tensor:
        """Logits as of the network: [B * E, C], or [B * E, T, C] with zeros on padding."""
        outputs = [self._outputs[key] for key in self._keys]
        if outputs[0].dim() == 2:
            return torch.cat(outputs)
        width = tokens.size(1)
        cut = [output[:, :width] for output in outputs]
        return torch.cat([F.pad(output, (0, 0, 0, width - output.size(1))) for output in cut])
