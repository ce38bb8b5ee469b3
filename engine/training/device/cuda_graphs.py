"""Forward and backward passes that a GPU replays: CUDA graphs.

Python launches a thousand kernels and more for a step, one after another, which takes longer than a
fast GPU computes them. Here the passes over a batch are captured once for each shape; a later batch
of that shape is copied into the place of the captured one, and all kernels are launched at once.
Few shapes are to come up, so sizes are rounded up: what is added is padding, which is computed.

Clipping, the optimiser and evaluation are not captured. Dropout is drawn anew by each replay, from
the seed of its step.

Shapes: B sequences, T tokens in each, N tokens that are predicted.
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
from engine.tasks.sending import sent_together
from engine.training.device.machine import Machine
from engine.training.gradients import GradientAccumulator

USED_ON = ("cuda",)
SIZES = 4  # between a number and twice that number: at most a quarter is added
MAX_GRAPHS = 64  # graphs that are kept
WARM_UP = 2  # passes before one is captured, in which libraries take their memory
WARM_UP_PASSES, COUNTED = 2, 5  # passes of each way, to measure them
MIN_SPEEDUP = 1.1  # times as fast

Terms = dict[str, Tensor]
Captured = tuple[Callable[[], None], Terms]  # launches all of it again; where its terms are then


@dataclass(frozen=True)
class _Graph:
    """Passes over batches of one shape."""

    batch: Batch  # which they read
    values: Tensor  # float32 [1 + terms], the factor of the loss, then its counts
    replay: Callable[[], None]
    terms: Terms

    def take(self, batch: Batch, values: Tensor, device: torch.device) -> None:
        """Copy another batch of the same shape into this one, from the host."""
        there = sent_together([*batch.tensors, values], device)
        for place, given in zip([*self.batch.tensors, self.values], there, strict=True):
            place.copy_(given)


class CudaGraphs:
    """The captured passes of a network, by the shapes of their batches."""

    def __init__(self, network: Network, learner: Learner, machine: Machine, pad: int) -> None:
        """`pad` is the id of [PAD]."""
        self._network, self._learner, self._machine, self._pad = network, learner, machine, pad
        self._graphs: dict[object, _Graph] = {}
        self._gradients: list[tuple[nn.Parameter, Tensor]] = []  # to which every graph adds
        self._pool: Any = None  # of memory, which all graphs share: one is replayed at a time

    def add(self, part: Batch, counts: Mapping[str, float], scale: float = 1.0) -> Terms:
        """Add the gradients of a part of a batch; see `GradientAccumulator.add`.

        Raises RuntimeError where the passes cannot be captured.
        """
        given = self.padded(part)
        values = torch.tensor([scale, *counts.values()], dtype=torch.float32)
        shape = (*(tensor.shape for tensor in given.tensors), *counts)
        if shape in self._graphs:
            self._graphs[shape].take(given, values, self._machine.device)
        else:
            while len(self._graphs) >= MAX_GRAPHS:
                self._graphs.pop(next(iter(self._graphs)))
            self._graphs[shape] = self._graph(given, values, tuple(counts))
        graph = self._graphs[shape]
        self._attach_gradients()
        graph.replay()
        return {name: term.clone() for name, term in graph.terms.items()}

    def padded(self, batch: Batch) -> Batch:
        """The batch as it is computed; see `pad_to_graph_shape`."""
        longest = self._network.spec.max_positions
        return pad_to_graph_shape(batch, self._pad, longest, self._learner.no_target)

    def _graph(self, given: Batch, values: Tensor, names: tuple[str, ...]) -> _Graph:
        network, device = self._network, self._machine.device
        *tensors, values = sent_together([*given.tensors, values], device)
        batch = given.with_tensors(tensors)

        def passes() -> Terms:
            factor, *counts = values.unbind()
            with _padded(network.encoder), self._machine.precision():
                counted = dict(zip(names, counts, strict=True))
                terms = network(self._learner.losses, batch, counted)
                loss = total(terms) * factor
            loss.backward()
            return {name: term.detach().double() for name, term in terms.items()}

        with _restored(network, device):
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
        """Let the parameters have the gradients that graphs add to, with what they have so far."""
        fresh = [buffer for parameter, buffer in self._gradients if parameter.grad is None]
        if fresh:
            torch._foreach_zero_(fresh)
        for parameter, buffer in self._gradients:
            if parameter.grad is not None and parameter.grad is not buffer:
                buffer.copy_(parameter.grad)
            parameter.grad = buffer


def pad_to_graph_shape(batch: Batch, pad: int, longest: int, no_target: int) -> Batch:
    """The batch on the host with sizes of which there are few, and a mask in any case.

    Args:
        pad: the token in what is added.
        longest: T at the most.
        no_target: the target at positions that are added.
    """
    old = batch.segments.size(1)
    width = max(old, min(graph_size(old), longest))
    more, mask = width - old, batch.attention_mask
    if mask is None:
        mask = torch.ones(batch.segments.shape, dtype=torch.bool)
    targets, positions = batch.targets, batch.positions
    if positions is not None:
        count = min(graph_size(len(positions)), mask.size(0) * width)
        added = max(0, count - len(positions))
        positions = F.pad(positions // old * width + positions % old, (0, added))
        targets = F.pad(targets, (0, added), value=no_target)
    return batch._replace(
        tokens=F.pad(batch.tokens, (0, more), value=pad),
        segments=F.pad(batch.segments, (0, more)),
        attention_mask=F.pad(mask, (0, more), value=False),
        targets=targets,
        positions=positions,
        numbers=None,
        unpadded=None,
    )


def graph_size(number: int) -> int:
    """The next of 8, 16, 24, 32, 40, 48, 56, 64, 80, …: `SIZES` from one power of 2 to the next."""
    step = max(8, (1 << (max(1, number - 1).bit_length() - 1)) // SIZES)
    return max(8, -(-number // step) * step)


def choose_graphs(
    network: Network,
    learner: Learner,
    machine: Machine,
    job: JobSpec,
    pad: int,
    batch: Callable[[], Batch],
    before: str = "",
    note: Callable[[str], object] = lambda sentence: None,
) -> CudaGraphs | None:
    """The graphs of a run, where they are possible and wanted, or measured to be faster.

    Args:
        network: on the device, in training.
        batch: makes that of the first step, on the host.
        before: “on” or “off”, as a run that resumes had it; it is kept.
        note: is told what was measured, or why what is asked for is not done.
    """
    wanted = before or job.hardware.cuda_graphs
    if wanted == "off":
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
    graphs = CudaGraphs(network, learner, machine, pad)
    if wanted == "on":
        return graphs
    part = batch().parts(job.training.micro_batch_size)[0]
    plain = GradientAccumulator(network, learner, machine)
    return graphs if _are_faster(graphs, plain, part, note) else None


def can_capture(network: Network, machine: Machine, job: JobSpec) -> bool:
    """Whether passes can be captured here: in one process, all of it on the GPU."""
    return (
        machine.device.type in USED_ON
        and job.hardware.processes == 1
        and network.probe is None
        and not job.training.gradient_checkpointing
        and not job.training.cache_frozen_layers
    )


def describe_graphs(graphs: CudaGraphs | None, machine: Machine) -> str:
    """“on” or “off”; nothing where no device has them."""
    if machine.device.type not in USED_ON:
        return ""
    return "off" if graphs is None else "on"


def _are_faster(
    graphs: CudaGraphs, plain: GradientAccumulator, batch: Batch, note: Callable[[str], object]
) -> bool:
    """Whether a batch clearly takes less time so; no where its passes cannot be captured."""
    network, counts = plain.network, plain.learner.counts(batch)
    planned = batch.planned(network)  # as threads do while a run goes on
    padding = 1 - batch.token_count / graphs.padded(batch).segments.numel()
    try:
        seconds = _seconds(lambda: graphs.add(batch, counts), network)
    except RuntimeError as error:
        if (why := failure_note(error)) is None:
            raise
        note(why)
        return False
    finally:
        network.zero_grad(set_to_none=True)
    without = _seconds(lambda: plain.add(planned, counts), network)
    note(
        phrase(
            "Forward and backward pass of a batch: {seconds:.1f} ms with CUDA graphs ({padding:.0f}"
            " % of the tokens are padding), {without:.1f} ms without.",
            seconds=1000 * seconds,
            padding=100 * padding,
            without=1000 * without,
        )
    )
    return without > MIN_SPEEDUP * seconds


def failure_note(error: Exception) -> str | None:
    """Why there can be no graphs where this was raised; None where they are not to blame."""
    if is_out_of_memory(error):  # they keep the memory of every shape
        return phrase("No CUDA graphs: there is too little memory for them.")
    if "captur" in str(error):
        return phrase("No CUDA graphs: this network or GPU does not allow capturing.")
    return None


def _seconds(work: Callable[[], Terms], network: Network) -> float:
    found = list[float]()
    for _ in range(WARM_UP_PASSES + COUNTED):
        began = time.perf_counter()
        for term in work().values():
            float(term)  # waits for the device
        found.append(time.perf_counter() - began)
        network.zero_grad(set_to_none=True)
    return statistics.median(found[WARM_UP_PASSES:])


@contextmanager
def _padded(encoder: Encoder) -> Iterator[None]:
    """Compute padding too, so that shapes do not depend on the lengths."""
    encoder.computes_padding = True
    try:
        yield
    finally:
        encoder.computes_padding = False


@contextmanager
def _restored(network: Network, device: torch.device) -> Iterator[None]:
    """Afterwards the gradients and the random state are what they were."""
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
    """Capture what it launches on the present GPU, after it was launched some times."""
    aside = torch.cuda.Stream()
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(WARM_UP):
            passes()
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool):
        terms = passes()
    return graph.replay, terms
