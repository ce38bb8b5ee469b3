"""Accumulate the gradients of a part of a batch.

On a CPU two threads compute half of the examples each. They synchronise once, while torch's own
threads synchronise after every operation and leave small operations to one thread.
"""

from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from engine.models.fast.dropout import dropout_seed
from engine.models.fast.gradient_sum import GradientSum, index_weights
from engine.models.network import Network
from engine.tasks.learner import Batch, Counts, Learner, total
from engine.training.device.machine import Machine
from engine.training.device.ranks import balance
from engine.training.device.sharding import is_sharded

# tokens per half times hidden size squared; below it, the threads wait for the GIL
MIN_PARALLEL = 20_000_000
REDUCED_PRECISION_FACTOR = 8  # raises this threshold: products then take less of a step


@dataclass(frozen=True)
class GradientAccumulator:
    """Adds to the gradients of a network, whose parameters must not be replaced."""

    network: Network
    learner: Learner
    machine: Machine

    def add(
        self, part: Batch, counts: Counts, weight: float = 1.0, scale: float = 1.0
    ) -> dict[str, Tensor]:
        """Add the gradients of a part of a batch; returns its loss terms.

        The terms are float64 and stay on the device, so nothing synchronises here.

        Args:
            part: some examples of a batch.
            counts: of the whole batch; the loss is a mean over it.
            weight: factor of loss and gradients.
            scale: factor of the gradients only; see `LossScaler`.
        """
        seeds = torch.randint(2**62, (2,)).tolist()
        halves = [part]
        if self._uses_two_threads(part):
            # planned one after the other, as threads would contend for the GIL
            rows = balance(part.lengths, 2)
            halves = [part.take(indices).plan(self.network) for indices in rows]
        gradients = GradientSum(self._indices, len(halves))

        def run_half(index: int) -> dict[str, Tensor]:
            if len(halves) > 1:
                torch.set_num_threads(max(1, self.machine.threads // 2))  # per thread
            accumulating = gradients.half(index) if self._sums_gradients else nullcontext()
            with dropout_seed(seeds[index]), accumulating:
                return self._add(halves[index], counts, weight, scale)

        if len(halves) < 2:
            return run_half(0)
        try:
            # autograd adds under a lock, and a + b = b + a in either order
            with ThreadPoolExecutor(1) as executor:
                other = executor.submit(run_half, 1)
                values, other_values = run_half(0), other.result()
            gradients.finish()
        finally:
            torch.set_num_threads(self.machine.threads)
        return {name: value + other_values[name] for name, value in values.items()}

    @cached_property
    def _parameters(self) -> list[Tensor]:
        return list(self.network.parameters())  # walking all modules takes 0.1 ms

    @cached_property
    def _indices(self) -> dict[Tensor, int]:
        return index_weights(self._parameters)

    @property
    def _sums_gradients(self) -> bool:
        """True if large weights use `gradient_sum`."""
        is_plain = self.machine.device.type == "cpu" and self.machine.precision_name == "fp32"
        return is_plain and not is_sharded(self.network)

    def _uses_two_threads(self, part: Batch) -> bool:
        if self.machine.device.type != "cpu" or self.machine.threads < 2 or part.size < 2:
            return False
        if self.learner.needs_whole_batch:
            return False
        if self.network.probe is not None or is_sharded(self.network):
            return False  # torch draws its dropout; shards are gathered for one thread
        if any(parameter.grad is not None for parameter in self._parameters):
            return False  # the order of three summands matters
        work = part.token_count // 2 * self.network.spec.hidden_size**2
        factor = 1 if self.machine.precision_name == "fp32" else REDUCED_PRECISION_FACTOR
        return work >= factor * MIN_PARALLEL

    def _add(self, part: Batch, counts: Counts, weight: float, scale: float) -> dict[str, Tensor]:
        with self.machine.precision():
            terms = self.network(
                self.learner.losses, part.plan(self.network).to(self.machine.device), counts
            )
            loss = total(terms) * (weight * scale)
        loss.backward()
        return {name: _float64(term.detach()) * weight for name, term in terms.items()}


def _float64(value: Tensor) -> Tensor:
    return (value.cpu() if value.device.type == "mps" else value).double()  # mps has no float64
