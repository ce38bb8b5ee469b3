"""The gradients of some examples, added to those of a network.

On a processor two threads go through half of the examples each. They wait for one another once,
while torch's own threads, which share out every single operation, wait after each of them, and let
one do alone whatever is too small to be shared.
"""

from concurrent.futures import ThreadPoolExecutor

import torch

from engine.models.fast.dropout import drawing
from engine.models.network import Network
from engine.tasks.learner import Batch, Learner, total
from engine.training.devices import Machine
from engine.training.ranks import dealt
from engine.training.sharding import is_sharded

WORTH = 20_000_000  # tokens of a half times the square of the width: in smaller ones the threads
# would mostly wait for Python, which goes on in one of them at a time


def add_gradients(
    network: Network,
    learner: Learner,
    part: Batch,
    whole: Batch,
    machine: Machine,
    counts: float = 1.0,
    scale: float = 1.0,
) -> dict[str, float]:
    """Add the gradients of a part of a batch; what it adds to the loss, by terms.

    Args:
        part: some examples of the batch `whole`, of which the loss is the mean.
        counts: what the loss is multiplied by.
        scale: by what the gradients are multiplied besides; see scaling.py.
    """
    if not _worth_sharing(network, part, machine):
        return _add(network, learner, part, whole, machine, counts, scale)
    halves = [part.taken(numbers) for numbers in dealt(part.lengths, 2)]
    seeds = torch.randint(2**62, (2,)).tolist()

    def one(half: Batch, seed: int) -> dict[str, float]:
        torch.set_num_threads(max(1, machine.threads // 2))  # of this thread
        with drawing(seed):
            return _add(network, learner, half, whole, machine, counts, scale)

    try:
        # autograd adds to a gradient under a lock, and a + b is b + a, whoever comes first
        with ThreadPoolExecutor(1) as beside:
            other = beside.submit(one, halves[1], seeds[1])
            values, more = one(halves[0], seeds[0]), other.result()
    finally:
        torch.set_num_threads(machine.threads)
    return {name: value + more[name] for name, value in values.items()}


def _worth_sharing(network: Network, part: Batch, machine: Machine) -> bool:
    if machine.device.type != "cpu" or machine.threads < 2 or part.size < 2:
        return False
    if network.reader is not None or is_sharded(network):
        return False  # its dropout is drawn by torch itself; its slices are gathered for one alone
    if any(parameter.grad is not None for parameter in network.parameters()):
        return False  # of three summands the order counts
    return part.token_count // 2 * network.spec.hidden_size**2 >= WORTH


def _add(
    network: Network,
    learner: Learner,
    part: Batch,
    whole: Batch,
    machine: Machine,
    counts: float,
    scale: float,
) -> dict[str, float]:
    with machine.precision():
        terms = network(learner.losses, part.planned(network).to(machine.device), whole)
        loss = total(terms) * (counts * scale)
    loss.backward()
    return {name: float(term.detach()) * counts for name, term in terms.items()}
