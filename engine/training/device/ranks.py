"""Data parallelism: several processes train one network.

Every rank holds the network, builds the whole batch and computes the gradient of its part. Summed
gradients give the update of a single process, except for rounding. Only rank 0 writes.
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
from engine.training.optimiser import AdamW, optimiser_tensors

RANK_TIMEOUT = timedelta(days=30)  # rank 0 may wait for a full disk; the worker notices dead ranks
GPU_TIMEOUT = timedelta(minutes=10)  # GPU reductions never wait for a disk
BUCKET_SIZE = 16 << 20  # gradient elements per all-reduce: 64 MB in float32


class Ranks:
    """Process group of a run; a single process makes every method a no-op."""

    def __init__(self, rank: Rank, device: torch.device, sharded: bool = False) -> None:
        """Join the group; waits indefinitely for the other ranks."""
        self.rank, self.world = rank.number, rank.world
        self.is_sharded = sharded and self.world > 1  # each rank holds a shard of the weights
        self._device = device
        self._gpu_group: dist.ProcessGroup | None = None
        if self.world == 1:
            return
        if rank.rendezvous is None:
            dist.init_process_group("gloo", timeout=RANK_TIMEOUT)
        else:
            file = str(rank.rendezvous / "store")
            store = dist.FileStore(file, rank.world)  # type: ignore[attr-defined]
            dist.init_process_group(
                "gloo", store=store, rank=rank.number, world_size=rank.world, timeout=RANK_TIMEOUT
            )
        if device.type == "cuda":
            self._gpu_group = dist.new_group(backend="nccl", timeout=GPU_TIMEOUT)

    @property
    def description(self) -> str:
        """Number of ranks, and whether the weights are sharded."""
        return f"{self.world}, sharded" if self.is_sharded else str(self.world)

    @property
    def is_writer(self) -> bool:
        """True on the rank that emits events, evaluates and saves."""
        return self.rank == 0

    def parts(self, batch: Batch, size: int) -> list[tuple[Batch, float]]:
        """Split a batch into this rank's micro-batches, each with its loss weight.

        The weight is 0 for a dummy that keeps sharded ranks in step.
        """
        if self.world == 1:
            return [(part, 1.0) for part in batch.parts(size)]
        indices = balance(batch.lengths, self.world)[self.rank]
        parts = batch.take(indices).parts(size) if len(indices) else []
        steps = self.maximum(len(parts))[0] if self.is_sharded else 1
        empty = batch.take(np.zeros(1, dtype=np.int64))
        return [(part, 1.0) for part in parts] + [(empty, 0.0)] * (int(steps) - len(parts))

    def sum_gradients(self, network: nn.Module) -> None:
        """All-reduce gradients; sharded networks have done so already."""
        if self.world == 1 or self.is_sharded:
            return
        gradients = [p.grad for p in network.parameters() if p.grad is not None]
        for bucket in _buckets(gradients):
            flat = torch.cat([gradient.reshape(-1) for gradient in bucket])
            dist.all_reduce(flat, group=self._gpu_group)
            sums = flat.split([gradient.numel() for gradient in bucket])
            for gradient, summed in zip(bucket, sums, strict=True):
                gradient.copy_(summed.view_as(gradient))

    def sums(self, values: dict[str, float]) -> dict[str, float]:
        """Sum each value over the ranks; all ranks have the same names."""
        if self.world == 1:
            return values
        flat = torch.tensor(list(values.values()), dtype=torch.float64)
        dist.all_reduce(flat)
        return dict(zip(values, flat.tolist(), strict=True))

    def maximum(self, *values: float) -> list[float]:
        """Maximum of each value over the ranks."""
        if self.world == 1:
            return list(values)
        flat = torch.tensor(values, dtype=torch.float64)
        dist.all_reduce(flat, dist.ReduceOp.MAX)
        return flat.tolist()

    def broadcast(self, *values: float) -> list[float]:
        """Values of rank 0."""
        if self.world == 1:
            return list(values)
        flat = torch.tensor(values, dtype=torch.float64)
        dist.broadcast(flat, 0)
        return flat.tolist()

    def broadcast_weights(self, network: nn.Module) -> None:
        """Copy the weights of rank 0: initial draws may differ in the last bit between machines."""
        if self.world == 1:
            return
        with torch.no_grad():
            for tensor in (*network.parameters(), *network.buffers()):
                dist.broadcast(tensor.data, 0, group=self._gpu_group)

    @contextmanager
    def rank_zero_first(self) -> Iterator[None]:
        """Run the block on rank 0 first; the others then find its files."""
        if self.world == 1:
            yield
            return
        if not self.is_writer:
            self.barrier()
        yield
        if self.is_writer:
            self.barrier()

    def barrier(self) -> None:
        """Wait for all ranks."""
        if self.world > 1:
            dist.barrier()

    def shard(self, network: Network) -> None:
        """Shard the weights over the ranks if the job asks for it."""
        if self.is_sharded:
            group = self._gpu_group or dist.group.WORLD
            assert group is not None
            shard(network, group, self._device)

    def gather(self, network: Network, optimiser: AdamW) -> tuple[Network, dict[str, Tensor]]:
        """Network and optimiser state, to be saved by rank 0; collective."""
        if not self.is_sharded:
            return network, optimiser_tensors(optimiser, network) if self.is_writer else {}
        state = optimiser_tensors(optimiser, network, keep=self.is_writer)
        return gather(network, keep=self.is_writer), state

    def gather_network(self, network: Network) -> Network:
        """Network to be saved by rank 0; collective."""
        return gather(network, keep=self.is_writer) if self.is_sharded else network

    def leave(self) -> None:
        """Leave the process group."""
        if self.world > 1:
            dist.destroy_process_group()


@contextmanager
def join_ranks(rank: Rank, device: torch.device, sharded: bool = False) -> Iterator[Ranks]:
    """Join the ranks of a run for the block; after an error, process exit ends the group.

    Raises:
        RankLost: another rank has exited; torch reports it as an error of its backend.
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
    """Rank of this process."""
    return this_rank() or Rank()


def balance(lengths: np.ndarray, world: int) -> list[np.ndarray]:
    """Divide examples over ranks with about equal token counts, in ascending order.

    Longest first, each to the rank with the fewest tokens (LPT, Graham 1969); token counts differ
    by at most one example.
    """
    parts: list[list[int]] = [[] for _ in range(world)]
    heap = [(0, rank) for rank in range(world)]
    for index in np.argsort(-lengths, kind="stable"):
        tokens, rank = heap[0]
        parts[rank].append(int(index))
        heapq.heapreplace(heap, (tokens + int(lengths[index]), rank))
    return [np.sort(np.array(indices, dtype=np.int64)) for indices in parts]


def _buckets(gradients: list[Tensor]) -> Iterator[list[Tensor]]:
    bucket, size = list[Tensor](), 0
    for gradient in gradients:
        bucket.append(gradient)
        size += gradient.numel()
        if size >= BUCKET_SIZE:
            yield bucket
            bucket, size = [], 0
    if bucket:
        yield bucket
