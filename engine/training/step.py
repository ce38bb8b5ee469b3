"""One update of the weights, from a batch to the optimiser."""

import math
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from engine.messages.events import measured
from engine.models.network import Network
from engine.training.loss_scaling import LossScaler
from engine.training.micro_batches import accumulate_gradients
from engine.training.not_finite import FailedStep, not_finite
from engine.training.optimiser import AdamW, learning_rate_at, set_learning_rate
from engine.training.prefetch import StepInput
from engine.training.ranks import balanced
from engine.training.sharding import is_sharded, whole
from engine.training.training_run import TrainingRun

WORTH_TWO_THREADS = 2**23  # numbers whose norm takes longer than to begin another thread


class Updated(NamedTuple):
    """What is measured in one update."""

    loss: float
    gradient_norm: float  # before clipping
    learning_rate: float
    tokens: int


def update(run: TrainingRun, given: StepInput) -> Updated:
    """Gradient accumulation, gradient clipping and a step of the optimiser.

    Only the loss and the norm are waited for, once everything before the optimiser is under way.

    Raises NotFinite where the loss or a gradient is NaN or infinite; the weights then stay.
    """
    progress = run.progress
    rate = learning_rate_at(progress.step, run.setup.data.steps, run.settings)
    set_learning_rate(run.optimiser, rate)
    scaler = LossScaler(run.machine, progress)
    if not run.network.training:  # to go through all modules takes 0.2 ms and more
        run.network.train()
    on_device = accumulate_gradients(run, given.batch, scaler.scale)
    run.ranks.sum_gradients(run.network)
    scaler.unscale(run.network)
    gradient_norm = norm_of_gradients(run.network, run.optimiser, run.machine.threads)
    clip_gradients(run.network, run.optimiser, gradient_norm, run.settings.max_grad_norm)
    terms = run.ranks.sums({name: float(term) for name, term in on_device.items()})
    loss, norm = sum(terms.values()), float(whole(gradient_norm))
    if scaler.overflowed(loss, norm):
        run.context.note(scaler.lower())
    else:
        _check_finite(run, given, loss, norm)
        run.optimiser.step()
        scaler.count_good_step()
    run.optimiser.zero_grad(set_to_none=True)
    tokens = given.batch.token_count  # of all ranks: each is given the whole batch
    progress.step, progress.tokens = progress.step + 1, progress.tokens + tokens
    if len(terms) > 1:
        for name, term in terms.items():
            run.context.emit(measured(f"loss_{name}", progress.step, term))
    return Updated(loss, norm, rate, tokens)


def norm_of_gradients(network: Network, optimiser: AdamW, threads: int = 1) -> Tensor:
    """The norm of all gradients together, [].

    Of a gradient that keeps its memory only the rows are read that may be other than zero. On a
    processor two threads take half each of many numbers, for torch reads a gradient by one.
    """
    kept = network.encoder.embeddings.token.kept
    rest = [p for group in optimiser.param_groups for p in group["params"] if p.grad is not None]
    rows = list[Tensor]()
    if kept is not None and kept.is_there:
        rest = [p for p in rest if p is not kept.weight]
        rows.append(kept.read())
    gradients = rows + [p.grad for p in rest if p.grad is not None]
    sizes = np.array([gradient.numel() for gradient in gradients])
    total_norm = torch.nn.utils.get_total_norm
    is_shared = threads > 1 and sizes.sum() >= WORTH_TWO_THREADS
    if not is_shared or not _is_on_processor(network, gradients[0]):
        return total_norm(gradients)
    halves = [[gradients[number] for number in numbers] for numbers in balanced(sizes, 2)]
    with ThreadPoolExecutor(1) as beside:
        other = beside.submit(total_norm, halves[1])
        norms = torch.stack([total_norm(halves[0]), other.result()])
    both: Tensor = torch.linalg.vector_norm(norms)
    return both


def clip_gradients(network: Network, optimiser: AdamW, norm: Tensor, max_norm: float) -> None:
    """Scale the gradients down to `max_norm`, 0 for no limit, where their norm is larger.

    On a processor the optimiser does that while it reads them.
    """
    on_processor = _is_on_processor(network, norm)
    limited = on_processor and max_norm > 0
    optimiser.grad_scale = ((norm + 1e-6) / max_norm).clamp(min=1) if limited else None
    if not on_processor:
        torch.nn.utils.clip_grads_with_norm_(network.parameters(), max_norm or math.inf, norm)


def _is_on_processor(network: Network, tensor: Tensor) -> bool:
    """Whether such a tensor of the network is whole, and in the memory of the host."""
    return tensor.device.type == "cpu" and not is_sharded(network)


def _check_finite(run: TrainingRun, given: StepInput, loss: float, norm: float) -> None:
    number = run.progress.step + 1
    for what, curve, value in (("loss", "loss", loss), ("gradient", "gradient_norm", norm)):
        if not math.isfinite(value):
            run.context.emit(measured(curve, number, value))
            raise not_finite(run, FailedStep(number, *given), what, value)
