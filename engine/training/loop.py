"""The training of a job, in the order in which it happens.

A run that was stopped, or whose worker was killed at any moment, goes on from its last checkpoint
and ends with the same weights, bit for bit, as one that was never disturbed (same machine, threads
and libraries): the examples, masks and dropout of a step follow from the seed and the step alone,
and the checkpoint holds the weights in full and what AdamW remembers.

Several processes may train together (ranks.py): each goes through this story, with its share of
every batch, and only the first of them writes.
"""

import math
import time
from collections.abc import Callable
from functools import partial
from typing import Literal

import torch

from engine.data.datasets.store import Cancelled
from engine.errors import StudioError
from engine.evaluation.report import Report
from engine.messages.events import Noted, Progressed, measured
from engine.messages.events import Prepared as PreparedEvent
from engine.models.lora import merged
from engine.models.network import Network
from engine.phrases import phrase
from engine.runs.folder import RunFolder
from engine.runs.full_disk import patiently
from engine.spec.job import JobSpec
from engine.tasks.evaluating import evaluate
from engine.tasks.learner import Batch, PredictionCollector
from engine.tasks.rng import DROPOUT, rng_for
from engine.training import saving
from engine.training.devices import Machine, choose
from engine.training.environment import conditions, differences, sum_of_weights, threads_to_keep
from engine.training.gradients import add_gradients
from engine.training.not_finite import Step, not_finite
from engine.training.optimiser import adamw, rate_at, set_rate
from engine.training.prefetch import Given, batches
from engine.training.preparing import Prepared, forget_vectors, give_vectors, prepare
from engine.training.ranks import Ranks, here, joined
from engine.training.saving import Progress, Tell
from engine.training.scaling import Scaling
from engine.training.sharding import is_sharded, whole
from engine.training.weight_averaging import Average

SHORT_OF_MEMORY = ("not enough memory", "can't allocate memory", "out of memory")
Outcome = Literal["finished", "stopped"]
NAMED = 10  # labels in one warning
POINTS = 400  # of the slow curves: learning rate, gradient norm, speed


def train(
    job: JobSpec, tell: Tell, stop_wanted: Callable[[], bool], run: RunFolder
) -> tuple[Outcome, int]:
    """Train to the end, or until a stop is wanted; returns how it ended and after which step."""
    rank = here()
    machine = choose(job.hardware, rank.local, rank.beside)
    with joined(rank, machine.device, job.hardware.sharded) as ranks:
        return _train(job, tell, stop_wanted, run, machine, ranks)


def _train(
    job: JobSpec,
    tell: Tell,
    stop_wanted: Callable[[], bool],
    run: RunFolder,
    machine: Machine,
    ranks: Ranks,
) -> tuple[Outcome, int]:
    found = saving.latest(run, tell)
    if found:
        then = found[1].conditions
        threads = threads_to_keep(then, ranks.said)
        machine = machine.going_on(job.hardware, then.get("precision", ""), threads)
    for remark in machine.remarks(job.hardware):
        tell(Noted(text=remark))
    weights = found[0] if found else None
    ready = partial(prepare, job, run, tell, weights, stop_wanted)
    try:
        with ranks.first_then_others():
            made = patiently(ready, tell, stop_wanted)
            network = made.network.to(machine.device)
            read = partial(give_vectors, job, run, made, machine, tell, stop_wanted)
            patiently(read, tell, stop_wanted)
    except Cancelled:
        return "stopped", found[1].step if found else 0
    ranks.equalise(network)
    progress, changed = found[1] if found else Progress(), tuple[str, ...]()
    first = progress.conditions.get("start", "unknown") if found else sum_of_weights(network)
    now = conditions(machine, made, first, ranks.said)
    ranks.shard(network)
    optimiser = adamw(network, job.training)
    average = Average(network, job.training.ema_decay)
    if found is not None:
        changed = differences(progress.conditions, now)
        exact = (
            phrase("not bit for bit: {changed}", changed=", ".join(changed))
            if changed
            else phrase("bit for bit")
        )
        tell(
            Noted(
                text=phrase("Goes on from step {step}, {exact}.", step=progress.step, exact=exact)
            )
        )
        if ranks.writes:
            saving.tell_if_unheard(run, progress, tell)
        saving.read_optimiser(found[0], optimiser, network)
        saving.read_raw(found[0], network, average)
    progress.conditions = now
    tell(_plan(made, machine, ranks, progress, changed))
    if sentence := _trained(network):
        tell(Noted(text=sentence))

    def save() -> None:
        whole, memory = ranks.whole(network, optimiser)
        if not ranks.writes:
            return
        write = partial(
            saving.save,
            run,
            job,
            whole,
            made.tokenizer,
            made.learner,
            memory,
            average,
            progress,
        )
        tell(patiently(write, tell, stop_wanted))
        saving.prune(run, job.training, progress.best_step, tell)

    saved = progress.step if found else -1
    coming = batches(made, progress.step, ahead=machine.device.type != "cpu")
    pace = _Pace()
    while progress.step < made.steps and not _in_vain(job, progress):
        if agree(ranks, stop_wanted(), progress, tell):
            if saved != progress.step:
                save()
            return "stopped", progress.step
        rate = rate_at(progress.step, made.steps, job.training)
        set_rate(optimiser, rate)
        given = next(coming)
        loss, norm, tokens = _step(job, made, machine, ranks, optimiser, given, progress, tell)
        progress.step += 1
        average.update(progress.step)
        pace.add(tokens)

        tell(measured("loss", progress.step, loss))
        if progress.step % max(1, made.steps // POINTS) == 0 or progress.step == made.steps:
            tell(measured("learning_rate", progress.step, rate))
            tell(measured("gradient_norm", progress.step, norm))
            tell(measured("tokens_per_second", progress.step, pace.rate()))

        last = progress.step == made.steps
        improved = False
        if last or progress.step % made.evaluate_every == 0:
            with average.in_place():
                improved = _looked(job, made, machine, ranks, progress, tell)
            last = last or _in_vain(job, progress)
            pace.restart()
        if last or improved or progress.step % made.save_every == 0:
            save()
            saved = progress.step
            pace.restart()
    if progress.step < made.steps:
        tell(Noted(text=_early(progress)))
    if ranks.writes:
        forget_vectors(run)
    return "finished", progress.step


def agree(ranks: Ranks, stop: bool, progress: Progress, tell: Tell) -> bool:
    """Whether any rank is asked to stop; the one with the least memory decides for all."""
    few = 1 / progress.micro_batch if progress.micro_batch else 0.0
    stop_wanted, fewest = ranks.highest(float(stop), few)
    if fewest > few:
        progress.micro_batch = round(1 / fewest)
        tell(Noted(text=_short_of_memory(progress), exact=False))
    return stop_wanted > 0


def _in_vain(job: JobSpec, progress: Progress) -> bool:
    """Whether the dev figures did not get better for as long as the job has patience."""
    return 0 < job.training.early_stopping_patience <= progress.looks_in_vain


def _early(progress: Progress) -> str:
    return phrase(
        "Ended early at step {step}: the last {looks_in_vain} looks at the dev "
        "examples found nothing better than step {best_step}.",
        step=progress.step,
        looks_in_vain=progress.looks_in_vain,
        best_step=progress.best_step,
    )


def _step(
    job: JobSpec,
    made: Prepared,
    machine: Machine,
    ranks: Ranks,
    optimiser: torch.optim.Optimizer,
    given: Given,
    progress: Progress,
    tell: Tell,
) -> tuple[float, float, int]:
    """One update: its loss, the length of its gradient, and how many tokens it saw."""
    step, (examples, numbers, batch) = progress.step, given
    scaling = Scaling(machine, progress)
    made.network.train()
    values = ranks.sums(_gradients(job, made, machine, ranks, batch, progress, scaling.scale, tell))
    ranks.sum_gradients(made.network)
    scaling.take_out(made.network)
    value = sum(values.values())
    longest = job.training.max_grad_norm or math.inf
    norm = float(whole(torch.nn.utils.clip_grad_norm_(made.network.parameters(), longest)))
    left_out = scaling.is_too_high(value, norm)
    for what, curve, length in (("loss", "loss", value), ("gradient", "gradient_norm", norm)):
        if not (math.isfinite(length) or left_out):
            tell(measured(curve, step + 1, length))
            failed = Step(step + 1, examples, numbers, batch)
            raise not_finite(made, machine, failed, what, length)
    if left_out:
        tell(Noted(text=scaling.lower()))
    else:
        optimiser.step()
        scaling.count_good()
    optimiser.zero_grad(set_to_none=True)
    if len(values) > 1:
        for name, part in values.items():
            tell(measured(f"loss_{name}", step + 1, part))
    return value, norm, batch.token_count


def _gradients(
    job: JobSpec,
    made: Prepared,
    machine: Machine,
    ranks: Ranks,
    batch: Batch,
    progress: Progress,
    scale: float,
    tell: Tell,
) -> dict[str, float]:
    """The gradients of this rank's share of a batch, times `scale`, in smaller parts where memory
    is short; what the share adds to the loss, by terms.
    """
    at_once = _at_once(job, progress)
    while True:
        drawn = rng_for(job.training.seed, DROPOUT, progress.step).integers(2**62, size=ranks.world)
        torch.manual_seed(int(drawn[ranks.rank]))
        parts = ranks.parts(batch, at_once)
        try:
            return _in_parts(made, machine, parts, batch, scale)
        except (RuntimeError, MemoryError) as error:
            if ranks.shards:
                raise _not_alone(error) from error
            made.network.zero_grad(set_to_none=True)
            size = sum(part.size for part, _ in parts)
            progress.micro_batch = at_once = _smaller(error, at_once, size)
            tell(Noted(text=_short_of_memory(progress), exact=False))


def _in_parts(
    made: Prepared, machine: Machine, parts: list[tuple[Batch, float]], batch: Batch, scale: float
) -> dict[str, float]:
    """`parts` as `Ranks.parts` has them."""
    values: dict[str, float] = {}
    for part, counts in parts:
        terms = add_gradients(made.network, made.learner, part, batch, machine, counts, scale)
        for name, term in terms.items():
            values[name] = values.get(name, 0.0) + term
    return values


def _not_alone(error: Exception) -> Exception:
    """A sharded network is computed in step with the others: none can try again by itself."""
    if not _is_short_of_memory(error):
        return error
    return StudioError(
        phrase("Memory is short on one of the devices."),
        phrase(
            "Set training.micro_batch_size to fewer examples, or gradient_checkpointing to true, "
            "and "
            "start a new run."
        ),
    )


def _is_short_of_memory(error: Exception) -> bool:
    return isinstance(error, (torch.OutOfMemoryError, MemoryError)) or any(
        words in str(error) for words in SHORT_OF_MEMORY
    )


def _at_once(job: JobSpec, progress: Progress) -> int:
    """How many examples are computed at a time; 0: all of a batch."""
    asked, possible = job.training.micro_batch_size, progress.micro_batch
    return min(asked, possible) if asked and possible else asked or possible


def _smaller(error: Exception, micro_batch: int, size: int) -> int:
    """Half the examples at once, where that can help; any other error goes on."""
    at_once = min(micro_batch or size, size)
    if not _is_short_of_memory(error) or at_once == 1:
        raise error
    return at_once // 2


def _short_of_memory(progress: Progress) -> str:
    return phrase(
        "Memory was short at step {step}: from here on {micro_batch} "
        "examples are computed at once; an update is still that of the whole batch.",
        step=progress.step + 1,
        micro_batch=progress.micro_batch,
    )


def _looked(
    job: JobSpec, made: Prepared, machine: Machine, ranks: Ranks, progress: Progress, tell: Tell
) -> bool:
    """The same on every rank, though only the first looks, unless all are needed for it."""
    improved = (ranks.writes or ranks.shards) and _look(job, made, machine, progress, tell)
    said, in_vain = ranks.as_first(float(improved), float(progress.looks_in_vain))
    progress.looks_in_vain = int(in_vain)
    return said > 0


def _look(job: JobSpec, made: Prepared, machine: Machine, progress: Progress, tell: Tell) -> bool:
    """Judge by the dev examples, tell the figures, and say whether they are the best so far."""
    if made.validation is None:
        progress.best_step = progress.step  # nothing to judge by: the last is the best
        return False
    began = time.monotonic()

    def report(done: int, total: int) -> None:
        nonlocal began
        if time.monotonic() - began > 1:
            began = time.monotonic()
            tell(Progressed(stage=phrase("Judging by the dev rows"), done=done, total=total))

    collected = evaluate(
        made.network,
        made.learner,
        made.tokenizer,
        made.validation,
        job.training.batch_size,
        seed=job.training.seed,
        device=machine.device,
        precision=machine.precision,
        report=report,
        at_once=_at_once(job, progress),
        together=is_sharded(made.network),
    )
    if isinstance(collected, PredictionCollector):
        told = collected.report()
        metrics = told.metrics()
        _warn(told, progress, tell)
    else:
        metrics = collected.compute()
    for name, value in metrics.items():
        if name != "examples":
            tell(measured(f"validation_{name}", progress.step, value))
    value = metrics[made.learner.best_metric]
    if not made.learner.is_better(value, progress.best):
        progress.looks_in_vain += 1
        return False
    progress.looks_in_vain = 0
    progress.best, progress.best_step = value, progress.step
    return True


def _warn(told: Report, progress: Progress, tell: Tell) -> None:
    """Name the labels that no dev row was given, though some have them; each label once."""
    new = [label for label in told.never_given() if label not in progress.never_given]
    if not new:
        return
    progress.never_given += new
    names = ", ".join(f"“{label[:60]}”" for label in new[:NAMED])
    more = phrase(" and {count:,} more", count=len(new) - NAMED) if len(new) > NAMED else ""
    tell(
        Noted(
            text=phrase(
                "At step {step} no dev row is given the label {names}{more}, though "
                "some rows have it. If this stays so, train for longer, balance the labels, or add "
                "rows with it.",
                step=progress.step,
                names=names,
                more=more,
            )
        )
    )


def _plan(
    made: Prepared,
    machine: Machine,
    ranks: Ranks,
    progress: Progress,
    changed: tuple[str, ...],
) -> PreparedEvent:
    return PreparedEvent(
        steps=made.steps,
        parameters=sum(tensor.numel() for tensor in merged(made.network).values()),
        examples=len(made.stretches[0].order),
        device=str(machine.device),
        threads=machine.threads,
        processes=ranks.world,
        versions={"torch": torch.__version__, "precision": machine.precision_name},
        step=progress.step,
        best_metric=f"validation_{made.learner.best_metric}",
        higher_is_better=made.learner.higher_is_better,
        conditions=progress.conditions,
        differences=changed,
    )


def _trained(network: Network) -> str:
    """How many parameters are trained, where it is not all of them."""
    numbers = sum(tensor.numel() for tensor in merged(network).values())
    trained = sum(p.numel() for p in network.parameters() if p.requires_grad)
    if all(p.requires_grad for p in network.parameters()):
        return ""
    return phrase(
        "Trains {trained:,} parameters, {trained2:.2%} of the model's {numbers:,}.",
        trained=trained,
        trained2=trained / numbers,
        numbers=numbers,
    )


class _Pace:
    """Tokens per second since the last look, on the monotonic clock."""

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        self._tokens, self._began = 0, time.monotonic()

    def add(self, tokens: int) -> None:
        self._tokens += tokens

    def rate(self) -> float:
        rate = self._tokens / max(1e-9, time.monotonic() - self._began)
        self.restart()
        return rate
