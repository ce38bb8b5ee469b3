"""One update of the weights: gradients, clipping, optimiser step.

Includes micro-batches, which get smaller when memory runs out, and loss scaling for fp16.
"""

import math
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from engine.errors import StudioError, is_out_of_memory
from engine.messages.events import measured
from engine.models.network import Network
from engine.phrases import phrase
from engine.tasks.learner import Batch
from engine.tasks.rng import DROPOUT, rng_for
from engine.training.context import TrainingProgress
from engine.training.data.prefetch import StepInput
from engine.training.device.cuda_graphs import failure_note
from engine.training.device.machine import Machine
from engine.training.device.ranks import balance
from engine.training.device.sharding import full_tensor, is_sharded
from engine.training.not_finite import FailedStep, not_finite_error
from engine.training.optimiser import AdamW, gradients, learning_rate_at, set_learning_rate
from engine.training.training_run import TrainingRun

MIN_PARALLEL = 2**23  # gradient elements from which a second thread pays off
LOWEST_SCALE, HIGHEST_SCALE = 1.0, 2.0**24
STEPS_UNTIL_DOUBLED = 2_000  # good steps


class StepResult(NamedTuple):
    """Measurements of one update."""

    loss: float
    gradient_norm: float  # before clipping
    learning_rate: float
    tokens: int


def update(run: TrainingRun, inputs: StepInput) -> StepResult:
    """Accumulate gradients, clip them and step the optimiser.

    Synchronises once, for the loss and the gradient norm.

    Raises NotFinite if the loss or a gradient is NaN or infinite; the weights are then unchanged.
    """
    progress = run.progress
    rate = learning_rate_at(progress.step, run.setup.data.steps, run.settings)
    set_learning_rate(run.optimiser, rate)
    scaler = LossScaler(run.machine, progress)
    if not run.network.training:  # walking all modules takes 0.2 ms
        run.network.train()
    on_device = accumulate_gradients(run, inputs.batch, scaler.scale)
    run.ranks.sum_gradients(run.network)
    scaler.unscale(run.network)
    gradient_norm = total_gradient_norm(run.network, run.optimiser, run.machine.threads)
    clip_gradients(run.network, run.optimiser, gradient_norm, run.settings.max_grad_norm)
    terms = run.ranks.sums({name: float(term) for name, term in on_device.items()})
    loss, norm = sum(terms.values()), float(full_tensor(gradient_norm))
    if scaler.overflowed(loss, norm):
        run.context.note(scaler.lower())
    else:
        _check_finite(run, inputs, loss, norm)
        run.optimiser.step()
        scaler.count_good_step()
    run.optimiser.zero_grad(set_to_none=True)
    tokens = inputs.batch.token_count  # of the whole batch, on every rank
    progress.step, progress.tokens = progress.step + 1, progress.tokens + tokens
    if len(terms) > 1:
        for name, term in terms.items():
            run.context.emit(measured(f"loss_{name}", progress.step, term))
    return StepResult(loss, norm, rate, tokens)


def total_gradient_norm(network: Network, optimiser: AdamW, threads: int = 1) -> Tensor:
    """Norm of all gradients, [].

    On a CPU, two threads compute half each, as torch reduces a gradient in one thread.
    """
    parameters = (p for group in optimiser.param_groups for p in group["params"])
    found = gradients(parameters)
    sizes = np.array([gradient.numel() for gradient in found])
    total_norm = torch.nn.utils.get_total_norm
    is_large = threads > 1 and sizes.sum() >= MIN_PARALLEL
    if not is_large or not _is_on_cpu(network, found[0]):
        return total_norm(found)
    halves = [[found[index] for index in indices] for indices in balance(sizes, 2)]
    with ThreadPoolExecutor(1) as executor:
        other = executor.submit(total_norm, halves[1])
        norms = torch.stack([total_norm(halves[0]), other.result()])
    norm: Tensor = torch.linalg.vector_norm(norms)
    return norm


def clip_gradients(network: Network, optimiser: AdamW, norm: Tensor, max_norm: float) -> None:
    """Clip the gradients to `max_norm`; 0 disables clipping.

    On a CPU the fused optimiser step does the scaling.
    """
    on_cpu = _is_on_cpu(network, norm)
    is_scaled_in_step = on_cpu and max_norm > 0
    optimiser.grad_scale = ((norm + 1e-6) / max_norm).clamp(min=1) if is_scaled_in_step else None
    if not on_cpu:
        torch.nn.utils.clip_grads_with_norm_(network.parameters(), max_norm or math.inf, norm)


def _is_on_cpu(network: Network, tensor: Tensor) -> bool:
    return tensor.device.type == "cpu" and not is_sharded(network)


def _check_finite(run: TrainingRun, inputs: StepInput, loss: float, norm: float) -> None:
    step = run.progress.step + 1
    for title, curve, value in (("loss", "loss", loss), ("gradient", "gradient_norm", norm)):
        if not math.isfinite(value):
            run.context.emit(measured(curve, step, value))
            raise not_finite_error(run, FailedStep(step, *inputs), title, value)


def accumulate_gradients(run: TrainingRun, batch: Batch, scale: float) -> dict[str, Tensor]:
    """Accumulate the gradients of this rank's part of a batch, times `scale`.

    Returns its loss terms, still on the device.
    """
    while True:
        _seed_dropout(run)
        parts = run.ranks.parts(batch, run.micro_batch_size)
        try:
            return _accumulate(run, parts, batch, scale)
        except (RuntimeError, MemoryError) as error:
            if run.graphs is not None and (reason := failure_note(error)) is not None:
                run.graphs = None
                run.network.zero_grad(set_to_none=True)
                run.context.note(reason, exact=False)
                continue
            if run.setup.data.learner.needs_whole_batch and is_out_of_memory(error):
                raise StudioError(
                    "Out of memory: with in-batch negatives the whole batch is computed at once.",
                    "Start a new run with a smaller batch size, or with gradient checkpointing.",
                ) from error
            if run.ranks.is_sharded and is_out_of_memory(error):  # no rank may retry alone
                raise StudioError(
                    "One of the devices ran out of memory.",
                    "Start a new run with a smaller training.micro_batch_size, or with "
                    "training.gradient_checkpointing.",
                ) from error
            if run.ranks.is_sharded:
                raise
            run.network.zero_grad(set_to_none=True)
            rows = sum(part.size for part, _ in parts)
            size = min(run.micro_batch_size or rows, rows)
            if not is_out_of_memory(error) or size == 1:
                raise
            run.progress.micro_batch_size = size // 2
            run.context.note(out_of_memory_note(run.progress), exact=False)


def out_of_memory_note(progress: TrainingProgress) -> str:
    return phrase(
        "Out of memory at step {step}: continuing with a micro-batch size of {size}. Each update "
        "still uses the whole batch.",
        step=progress.step + 1,
        size=progress.micro_batch_size,
    )


def _seed_dropout(run: TrainingRun) -> None:
    """Seed dropout from seed, step and rank, also when a step is retried."""
    ranks = run.ranks
    random = rng_for(run.settings.seed, DROPOUT, run.progress.step)
    seeds = random.integers(2**62, size=ranks.world)
    on_cpu = run.machine.device.type == "cpu"
    # seeding all devices takes up to 1 ms
    seed = torch.default_generator.manual_seed if on_cpu else torch.manual_seed
    seed(int(seeds[ranks.rank]))


def _accumulate(
    run: TrainingRun, parts: list[tuple[Batch, float]], batch: Batch, scale: float
) -> dict[str, Tensor]:
    """`parts` come from `Ranks.parts`."""
    accumulator, graphs = run.accumulator, run.graphs
    counts = run.setup.data.learner.counts(batch)
    losses: dict[str, Tensor] = {}
    for part, weight in parts:
        if graphs is None:
            terms = accumulator.add(part, counts, weight, scale)
        else:
            terms = graphs.add(part, counts, scale)  # single process: the weight is always 1
        for name, term in terms.items():
            losses[name] = losses[name] + term if name in losses else term
    return losses


class LossScaler:
    """Loss scaling for fp16 (Micikevicius et al. 2018, §3.2); a no-op in other precisions.

    The smallest positive fp16 number is 6·10⁻⁸, so the loss is multiplied by a power of two before
    the backward pass and the float32 gradients are divided by it. If a gradient overflows, the step
    is skipped and the scale halved; it doubles after many good steps. All ranks decide alike, as
    they see the norm of the same sum.
    """

    def __init__(self, machine: Machine, progress: TrainingProgress) -> None:
        """`progress` holds the scale and its number of good steps."""
        self._progress = progress
        self._applies = machine.precision_name == "fp16"
        self.scale = progress.loss_scale if self._applies else 1.0

    def unscale(self, network: nn.Module) -> None:
        """Divide the gradients by the scale."""
        if self._applies:
            torch._foreach_mul_(gradients(network.parameters()), 1 / self.scale)

    def overflowed(self, loss: float, norm: float) -> bool:
        """True if the step should be skipped and retried with a lower scale."""
        return self.scale > LOWEST_SCALE and math.isfinite(loss) and not math.isfinite(norm)

    def lower(self) -> str:
        """Halve the scale; returns a note."""
        progress = self._progress
        progress.loss_scale, progress.good_steps = self.scale / 2, 0
        return phrase(
            "Gradient overflow in fp16: step {step} was skipped and the loss scale reduced to "
            "{scale:,.0f}.",
            step=progress.step + 1,
            scale=progress.loss_scale,
        )

    def count_good_step(self) -> None:
        """Count a step that was taken, and double the scale after enough of them."""
        progress = self._progress
        progress.good_steps += self._applies
        if progress.good_steps == STEPS_UNTIL_DOUBLED:
            progress.loss_scale, progress.good_steps = min(2 * self.scale, HIGHEST_SCALE), 0
