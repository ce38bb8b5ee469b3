"""One update of the weights, from a batch to the optimiser."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from engine.messages.events import measured
from engine.models.network import Network
from engine.training.loss_scaling import LossScaler
from engine.training.micro_batches import accumulate_gradients
from engine.training.not_finite import FailedStep, not_finite
from engine.training.optimiser import learning_rate_at, set_learning_rate
from engine.training.prefetch import StepInput
from engine.training.sharding import whole
from engine.training.training_run import TrainingRun


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
    run.network.train()
    on_device = accumulate_gradients(run, given.batch, scaler.scale)
    run.ranks.sum_gradients(run.network)
    scaler.unscale(run.network)
    gradient_norm = clip_gradients(run.network, run.settings.max_grad_norm)
    terms = run.ranks.sums({name: float(term) for name, term in on_device.items()})
    loss, norm = sum(terms.values()), float(gradient_norm)
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


def clip_gradients(network: Network, max_norm: float) -> Tensor:
    """Scale the gradients down to `max_norm`, 0 for no limit; returns their norm before, []."""
    limit, kept = max_norm or math.inf, network.encoder.embeddings.token.kept
    learning = [p for p in network.parameters() if p.grad is not None]
    rows = None
    if kept is not None and kept.is_there:
        learning = [p for p in learning if p is not kept.weight]
        rows = kept.read()
    gradients = [p.grad for p in learning if p.grad is not None]
    norm = torch.nn.utils.get_total_norm(gradients if rows is None else [rows, *gradients])
    torch.nn.utils.clip_grads_with_norm_(learning, limit, norm)
    if kept is not None and rows is not None:
        kept.write(rows.mul_((limit / (norm + 1e-6)).clamp(max=1)))  # as torch does
    return whole(norm)


def _check_finite(run: TrainingRun, given: StepInput, loss: float, norm: float) -> None:
    number = run.progress.step + 1
    for what, curve, value in (("loss", "loss", loss), ("gradient", "gradient_norm", norm)):
        if not math.isfinite(value):
            run.context.emit(measured(curve, number, value))
            raise not_finite(run, FailedStep(number, *given), what, value)
