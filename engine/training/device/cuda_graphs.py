"""CUDA graphs of the forward and backward pass.

Launching over a thousand kernels per step from Python takes longer than a fast GPU needs to run
them. Passes are captured once per batch shape; a later batch of that shape is copied into the
captured tensors and all kernels are launched together. Sizes are rounded up to get few shapes; the
extra padding is computed.

Clipping, optimiser and evaluation are not captured. Each replay draws new dropout from the seed of
its step.

Shapes: B sequences, T tokens in each, N predicted tokens.
"""

import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from engine.config.job import JobSpec
from engine.errors import is_out_of_memory
from engine.models.encoder import Encoder
from engine.models.network import Network
from engine.phrases import phrase
from engine.tasks.learner import Batch, Learner, total
from engine.tasks.sending import copy_together
from engine.training.device.machine import Machine
from engine.training.gradients import GradientAccumulator

GRAPH_DEVICES = ("cuda",)
SIZES = 4  # sizes per power of two: at most a quarter is padding
MAX_GRAPHS = 64
CAPTURE_WARM_UP = 2  # passes before a capture, in which libraries allocate memory
TIMING_WARM_UP, TIMED_PASSES = 2, 5
MIN_SPEEDUP = 1.1

Terms = dict[str, Tensor]
Captured = tuple[Callable[[], None], Terms]  # replay function, and the tensors with its loss terms


@dataclass(frozen=True)
class _Graph:
    """Captured passes of one batch shape."""

    batch: Batch  # static input
    values: Tensor  # float32 [1 + terms], the loss scale, then the counts
    replay: Callable[[], None]
    terms: Terms

    def load(self, batch: Batch, values: Tensor, device: torch.device) -> None:
        """Copy a batch of the same shape from the host into the static input."""
        on_device = copy_together([*batch.tensors, values], device)
        for buffer, tensor in zip([*self.batch.tensors, self.values], on_device, strict=True):
            buffer.copy_(tensor)


class CudaGraphs:
    """Captured passes of a network by batch shape."""

    def __init__(self, network: Network, learner: Learner, machine: Machine, pad_id: int) -> None:
        """`pad_id` is the id of [PAD]."""
        self._network, self._learner, self._machine = network, learner, machine
        self._pad_id = pad_id
        self._graphs: dict[object, _Graph] = {}
        self._gradients: list[tuple[nn.Parameter, Tensor]] = []  # shared by all graphs
        self._pool: Any = None  # memory pool of all graphs; only one is replayed at a time

    def add(self, part: Batch, counts: Mapping[str, float], scale: float = 1.0) -> Terms:
        """Add the gradients of a micro-batch; see `GradientAccumulator.add`.

        Raises RuntimeError if the passes cannot be captured.
        """
        padded = self.pad(part)
        values = torch.tensor([scale, *counts.values()], dtype=torch.float32)
        shape = (*(tensor.shape for tensor in padded.tensors), *counts)
        if shape in self._graphs:
            self._graphs[shape].load(padded, values, self._machine.device)
        else:
            while len(self._graphs) >= MAX_GRAPHS:
                self._graphs.pop(next(iter(self._graphs)))
            self._graphs[shape] = self._capture(padded, values, tuple(counts))
        graph = self._graphs[shape]
        self._attach_gradients()
        graph.replay()
        return {name: term.clone() for name, term in graph.terms.items()}

    def pad(self, batch: Batch) -> Batch:
        """Pad a batch to its graph shape; see `pad_to_graph_shape`."""
        max_length = self._network.spec.max_positions
        return pad_to_graph_shape(batch, self._pad_id, max_length, self._learner.ignore_index)

    def _capture(self, host_batch: Batch, values: Tensor, names: tuple[str, ...]) -> _Graph:
        network, device = self._network, self._machine.device
        *tensors, values = copy_together([*host_batch.tensors, values], device)
        batch = host_batch.with_tensors(tensors)

        def passes() -> Terms:
            factor, *counts = values.unbind()
            with _compute_padding(network.encoder), self._machine.precision():
                counted = dict(zip(names, counts, strict=True))
                terms = network(self._learner.losses, batch, counted)
                loss = total(terms) * factor
            loss.backward()
            return {name: term.detach().double() for name, term in terms.items()}

        with _preserve_state(network, device):
            if not self._gradients:
                network.zero_grad(set_to_none=True)
                passes()
                self._gradients = [
                    (parameter, torch.zeros_like(parameter.grad))
                    for parameter in network.parameters()
                    if parameter.grad is not None
                ]
            network.zero_grad(set_to_none=True)
            self._attach_gradients()
            if self._pool is None:
                self._pool = new_pool()
            return _Graph(batch, values, *capture(passes, self._pool))

    @torch.no_grad()
    def _attach_gradients(self) -> None:
        fresh = [buffer for parameter, buffer in self._gradients if parameter.grad is None]
        if fresh:
            torch._foreach_zero_(fresh)
        for parameter, buffer in self._gradients:
            if parameter.grad is not None and parameter.grad is not buffer:
                buffer.copy_(parameter.grad)
            parameter.grad = buffer


def pad_to_graph_shape(batch: Batch, pad_id: int, max_length: int, ignore_index: int) -> Batch:
    """Pad a batch on the host to one of few shapes, always with a mask.

    Args:
        pad_id: token id of padding.
        max_length: maximum T.
        ignore_index: target of added positions.
    """
    old = batch.segments.size(1)
    width = max(old, min(graph_size(old), max_length))
    extra, mask = width - old, batch.attention_mask
    if mask is None:
        mask = torch.ones(batch.segments.shape, dtype=torch.bool)
    targets, positions = batch.targets, batch.positions
    if positions is not None:
        count = min(graph_size(len(positions)), mask.size(0) * width)
        added = max(0, count - len(positions))
        positions = F.pad(positions // old * width + positions % old, (0, added))
        rows = (*(0, 0) * (targets.dim() - 1), 0, added)
        targets = F.pad(targets, rows, value=ignore_index)
    return batch._replace(
        tokens=F.pad(batch.tokens, (0, extra), value=pad_id),
        segments=F.pad(batch.segments, (0, extra)),
        attention_mask=F.pad(mask, (0, extra), value=False),
        targets=targets,
        positions=positions,
        indices=None,
        unpadded=None,
    )


def graph_size(size: int) -> int:
    """Round up to 8, 16, 24, 32, 40, 48, 56, 64, 80, …: `SIZES` steps per power of two."""
    step = max(8, (1 << (max(1, size - 1).bit_length() - 1)) // SIZES)
    return max(8, -(-size // step) * step)


def choose_graphs(
    network: Network,
    learner: Learner,
    machine: Machine,
    job: JobSpec,
    pad_id: int,
    batch: Callable[[], Batch],
    previous: str = "",
    note: Callable[[str], object] = lambda sentence: None,
) -> CudaGraphs | None:
    """Return the graphs of a run if requested, or if measured to be faster; otherwise None.

    Args:
        network: on the device, in training mode.
        batch: builds the first batch, on the host.
        previous: choice of the resumed run, “on” or “off”, which is kept.
        note: receives the measurement, or why graphs are not used.
    """
    choice = previous or job.hardware.cuda_graphs
    if choice == "off":
        return None
    if not can_capture(network, machine, job):
        if job.hardware.cuda_graphs == "on":
            note(
                phrase(
                    "No CUDA graphs: they need an NVIDIA GPU and a single process, without "
                    "gradient checkpointing, cached layers or a probe."
                )
            )
        return None
    graphs = CudaGraphs(network, learner, machine, pad_id)
    if choice == "on":
        return graphs
    part = batch().parts(job.training.micro_batch_size)[0]
    plain = GradientAccumulator(network, learner, machine)
    return graphs if _are_faster(graphs, plain, part, note) else None


def can_capture(network: Network, machine: Machine, job: JobSpec) -> bool:
    """True for a single process that runs entirely on the GPU."""
    return (
        machine.device.type in GRAPH_DEVICES
        and job.hardware.processes == 1
        and network.probe is None
        and not job.training.gradient_checkpointing
        and not job.training.cache_frozen_layers
    )


def graphs_mode(graphs: CudaGraphs | None, machine: Machine) -> str:
    """“on” or “off”; empty if the device does not support CUDA graphs."""
    if machine.device.type not in GRAPH_DEVICES:
        return ""
    return "off" if graphs is None else "on"


def _are_faster(
    graphs: CudaGraphs, plain: GradientAccumulator, batch: Batch, note: Callable[[str], object]
) -> bool:
    """Time a batch with and without graphs; False if capturing fails."""
    network, counts = plain.network, plain.learner.counts(batch)
    prepared = batch.plan(network)  # as prefetching does in a run
    padding = 1 - batch.token_count / graphs.pad(batch).segments.numel()
    try:
        graph_seconds = _time_passes(lambda: graphs.add(batch, counts), network)
    except RuntimeError as error:
        if (reason := failure_note(error)) is None:
            raise
        note(reason)
        return False
    finally:
        network.zero_grad(set_to_none=True)
    eager_seconds = _time_passes(lambda: plain.add(prepared, counts), network)
    note(
        phrase(
            "Forward and backward pass of a batch: {seconds:.1f} ms with CUDA graphs ({padding:.0f}"
            " % of the tokens are padding), {without:.1f} ms without.",
            seconds=1000 * graph_seconds,
            padding=100 * padding,
            without=1000 * eager_seconds,
        )
    )
    return eager_seconds > MIN_SPEEDUP * graph_seconds


def failure_note(error: Exception) -> str | None:
    """Explain why graphs failed; None if another error was raised."""
    if is_out_of_memory(error):  # graphs keep memory for every shape
        return phrase("No CUDA graphs: there is not enough memory for them.")
    if "captur" in str(error):
        return phrase("No CUDA graphs: this network or GPU does not allow capturing.")
    return None


def _time_passes(work: Callable[[], Terms], network: Network) -> float:
    times = list[float]()
    for _ in range(TIMING_WARM_UP + TIMED_PASSES):
        began = time.perf_counter()
        for term in work().values():
            float(term)  # synchronises
        times.append(time.perf_counter() - began)
        network.zero_grad(set_to_none=True)
    return statistics.median(times[TIMING_WARM_UP:])


@contextmanager
def _compute_padding(encoder: Encoder) -> Iterator[None]:
    """Compute padding too, so that shapes do not depend on lengths."""
    encoder.computes_padding = True
    try:
        yield
    finally:
        encoder.computes_padding = False


@contextmanager
def _preserve_state(network: Network, device: torch.device) -> Iterator[None]:
    """Restore gradients and random state afterwards."""
    before = [(p, None if p.grad is None else p.grad.clone()) for p in network.parameters()]
    devices = [device] if device.type == "cuda" else []
    try:
        with torch.random.fork_rng(devices):
            yield
    finally:
        for parameter, gradient in before:
            parameter.grad = gradient


def new_pool() -> Any:
    return torch.cuda.graph_pool_handle()


def capture(passes: Callable[[], Terms], pool: Any) -> Captured:
    """Capture the kernels of `passes` on the current GPU, after warm-up passes."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(CAPTURE_WARM_UP):
            passes()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool):
        terms = passes()
    return graph.replay, terms
