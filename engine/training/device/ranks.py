"""Several processes that train one network together, each with its share of every batch.

Every rank has the whole network and makes the whole batch, computes the gradient of its share, and
gets the sum of all: the update is that of one process but for the order of the sums. Rank 0 alone
writes.
"""

import heapq
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn

from engine.models.network import Network
from engine.runs.ranks import Rank, RankLost, this_rank
from engine.tasks.learner import Batch
from engine.training.device.sharding import gather, shard
from engine.training.optimiser import optimiser_tensors

RANK_TIMEOUT = timedelta(days=30)  # rank 0 may wait for a full disk; who died is seen by the worker
GPU_TIMEOUT = timedelta(minutes=10)  # for sums on GPUs, before which nobody waits for a disk
BUCKET_SIZE = 16 << 20  # gradients in one sum, at about the most: 64 MB in float32


class Ranks:
    """All processes of a run, seen from one of them. Alone, it does nothing to anything."""

    def __init__(self, rank: Rank, device: torch.device, sharded: bool = False) -> None:
        """Meet the others, which may take as long as they need to start."""
        self.rank, self.world = rank.number, rank.world
        self.shards = sharded and self.world > 1  # whether each has a slice of the weights alone
        self._device = device
        self._gpus: dist.ProcessGroup | None = None
        if self.world == 1:
            return
        if rank.store is None:
            dist.init_process_group("gloo", timeout=RANK_TIMEOUT)
        else:
            file = str(rank.store / "store")
            store = dist.FileStore(file, rank.world)  # type: ignore[attr-defined]
            dist.init_process_group(
                "gloo", store=store, rank=rank.number, world_size=rank.world, timeout=RANK_TIMEOUT
            )
        if device.type == "cuda":
            self._gpus = dist.new_group(backend="nccl", timeout=GPU_TIMEOUT)

    @property
    def description(self) -> str:
        """How many there are, and whether the weights are spread over them."""
        return f"{self.world}, sharded" if self.shards else str(self.world)

    @property
    def writes(self) -> bool:
        """Whether this one emits events, evaluates and saves."""
        return self.rank == 0

    def parts(self, batch: Batch, at_once: int) -> list[tuple[Batch, float]]:
        """What this rank computes one after another, and how much the loss of each counts.

        It counts 0 where a rank has nothing left to do and only keeps step with the others.
        """
        if self.world == 1:
            return [(part, 1.0) for part in batch.parts(at_once)]
        mine = balance(batch.lengths, self.world)[self.rank]
        own = batch.taken(mine).parts(at_once) if len(mine) else []
        steps = self.maximum(len(own))[0] if self.shards else 1
        empty = batch.taken(np.zeros(1, dtype=np.int64))
        return [(part, 1.0) for part in own] + [(empty, 0.0)] * (int(steps) - len(own))

    def sum_gradients(self, network: nn.Module) -> None:
        """Let every rank have the sum of all gradients; a sharded network has taken it already."""
        if self.world == 1 or self.shards:
            return
        gradients = [p.grad for p in network.parameters() if p.grad is not None]
        for some in _buckets(gradients):
            flat = torch.cat([gradient.reshape(-1) for gradient in some])
            dist.all_reduce(flat, group=self._gpus)
            sums = flat.split([gradient.numel() for gradient in some])
            for gradient, summed in zip(some, sums, strict=True):
                gradient.copy_(summed.view_as(gradient))

    def sums(self, values: dict[str, float]) -> dict[str, float]:
        """The sum over the ranks of each value; all ranks have the same names."""
        if self.world == 1:
            return values
        flat = torch.tensor(list(values.values()), dtype=torch.float64)
        dist.all_reduce(flat)
        return dict(zip(values, flat.tolist(), strict=True))

    def maximum(self, *values: float) -> list[float]:
        """The highest that any rank says, of each value."""
        if self.world == 1:
            return list(values)
        flat = torch.tensor(values, dtype=torch.float64)
        dist.all_reduce(flat, dist.ReduceOp.MAX)
        return flat.tolist()

    def broadcast(self, *values: float) -> list[float]:
        """What rank 0 says, of each value."""
        if self.world == 1:
            return list(values)
        flat = torch.tensor(values, dtype=torch.float64)
        dist.broadcast(flat, 0)
        return flat.tolist()

    def broadcast_weights(self, network: nn.Module) -> None:
        """Give every rank the weights of rank 0: machines may differ in the last bit of a draw."""
        if self.world == 1:
            return
        with torch.no_grad():
            for tensor in (*network.parameters(), *network.buffers()):
                dist.broadcast(tensor.data, 0, group=self._gpus)

    @contextmanager
    def first_then_others(self) -> Iterator[None]:
        """Let rank 0 do the block before the others do: they find in files what it made."""
        if self.world == 1:
            yield
            return
        if not self.writes:
            self.meet()
        yield
        if self.writes:
            self.meet()

    def meet(self) -> None:
        """Wait until all ranks are here."""
        if self.world > 1:
            dist.barrier()

    def shard(self, network: Network) -> None:
        """Spread the weights over the ranks, where the job asks for it."""
        if self.shards:
            group = self._gpus or dist.group.WORLD
            assert group is not None
            shard(network, group, self._device)

    def gather(
        self, network: Network, optimiser: torch.optim.Optimizer
    ) -> tuple[Network, dict[str, Tensor]]:
        """The network and the memory of its optimiser, to be saved by rank 0; all ranks ask."""
        if not self.shards:
            return network, optimiser_tensors(optimiser, network) if self.writes else {}
        memory = optimiser_tensors(optimiser, network, keep=self.writes)
        return gather(network, keep=self.writes), memory

    def gather_network(self, network: Network) -> Network:
        """The network alone, for rank 0; all ranks ask."""
        return gather(network, keep=self.writes) if self.shards else network

    def leave(self) -> None:
        """Let go of the others."""
        if self.world > 1:
            dist.destroy_process_group()


@contextmanager
def join_ranks(rank: Rank, device: torch.device, sharded: bool = False) -> Iterator[Ranks]:
    """The ranks of this run for the block; after an error the end of the process parts them.

    Raises:
        RankLost: another rank has ended; torch says it with errors of the library that it asks.
    """
    try:
        ranks = Ranks(rank, device, sharded)
        yield ranks
        ranks.leave()
    except RuntimeError as error:
        if isinstance(error, dist.DistError) or "gloo" in str(error):
            raise RankLost from error
        raise


def current_rank() -> Rank:
    """Which rank this process is, alone or not."""
    return this_rank() or Rank()


def balance(lengths: np.ndarray, world: int) -> list[np.ndarray]:
    """The examples of each rank, in their order, so that all have about as many tokens.

    The longest goes first, each to the rank with the fewest tokens (Graham 1969, LPT): two ranks
    differ by one example at the most.
    """
    found: list[list[int]] = [[] for _ in range(world)]
    fewest = [(0, rank) for rank in range(world)]
    for number in np.argsort(-lengths, kind="stable"):
        tokens, rank = fewest[0]
        found[rank].append(int(number))
        heapq.heapreplace(fewest, (tokens + int(lengths[number]), rank))
    return [np.sort(np.array(numbers, dtype=np.int64)) for numbers in found]


def _buckets(gradients: list[Tensor]) -> Iterator[list[Tensor]]:
    """Gradients in a row that are summed at once, for few sums and little memory."""
    some, size = list[Tensor](), 0
    for gradient in gradients:
        some.append(gradient)
        size += gradient.numel()
        if size >= BUCKET_SIZE:
            yield some
            some, size = [], 0
    if some:
        yield some
