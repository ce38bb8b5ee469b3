"""The gradients of a batch, accumulated over micro-batches; smaller ones once memory runs out."""

import torch
from torch import Tensor

from engine.errors import StudioError, is_out_of_memory
from engine.phrases import phrase
from engine.tasks.learner import Batch
from engine.tasks.rng import DROPOUT, rng_for
from engine.training.cuda_graphs import why_not
from engine.training.progress import TrainingProgress
from engine.training.training_run import TrainingRun


def accumulate_gradients(run: TrainingRun, batch: Batch, scale: float) -> dict[str, Tensor]:
    """Give the network the gradients of this rank's share of a batch, times `scale`.

    Returns what the share adds to the loss, by term, still on the device.
    """
    while True:
        _seed_dropout(run)
        shares = run.ranks.parts(batch, run.micro_batch_size)
        try:
            return _accumulate(run, shares, batch, scale)
        except (RuntimeError, MemoryError) as error:
            if run.graphs is not None and (why := why_not(error)) is not None:
                run.graphs = None
                run.network.zero_grad(set_to_none=True)
                run.context.note(why, exact=False)
                continue
            if run.setup.data.learner.needs_whole_batch and is_out_of_memory(error):
                raise _cannot_split() from error
            if run.ranks.shards:
                raise _cannot_retry_alone(error) from error
            run.network.zero_grad(set_to_none=True)
            size = sum(part.size for part, _ in shares)
            run.progress.micro_batch_size = _half(error, min(run.micro_batch_size or size, size))
            run.context.note(out_of_memory_note(run.progress), exact=False)


def out_of_memory_note(progress: TrainingProgress) -> str:
    """The note of a lower micro-batch size."""
    return phrase(
        "Out of memory at step {step}: continuing with a micro-batch size of {size}. Each update "
        "still uses the whole batch.",
        step=progress.step + 1,
        size=progress.micro_batch_size,
    )


def _seed_dropout(run: TrainingRun) -> None:
    """Dropout follows from the seed, the step and the rank, however often a step is tried."""
    ranks = run.ranks
    random = rng_for(run.settings.seed, DROPOUT, run.progress.step)
    seeds = random.integers(2**62, size=ranks.world)
    on_processor = run.machine.device.type == "cpu"
    # to seed all devices there might be takes up to a millisecond
    seed = torch.default_generator.manual_seed if on_processor else torch.manual_seed
    seed(int(seeds[ranks.rank]))


def _accumulate(
    run: TrainingRun, shares: list[tuple[Batch, float]], batch: Batch, scale: float
) -> dict[str, Tensor]:
    """`shares` as `Ranks.parts` has them."""
    accumulator, graphs = run.accumulator, run.graphs
    counts = run.setup.data.learner.counts(batch)
    losses: dict[str, Tensor] = {}
    for part, weight in shares:
        if graphs is None:
            terms = accumulator.add(part, counts, weight, scale)
        else:
            terms = graphs.add(part, counts, scale)  # alone, each part counts as it is
        for name, term in terms.items():
            losses[name] = losses[name] + term if name in losses else term
    return losses


def _cannot_retry_alone(error: Exception) -> Exception:
    """A sharded network is computed in step with the others: no rank can retry by itself."""
    if not is_out_of_memory(error):
        return error
    return StudioError(
        phrase("One of the devices ran out of memory."),
        phrase(
            "Start a new run with a smaller training.micro_batch_size, or with "
            "training.gradient_checkpointing."
        ),
    )


def _cannot_split() -> StudioError:
    return StudioError(
        phrase("Out of memory: with in-batch negatives the whole batch is computed at once."),
        phrase("Start a new run with a smaller batch size, or with gradient checkpointing."),
    )


def _half(error: Exception, size: int) -> int:
    """Half the micro-batch size where that can help; any other error is raised again."""
    if not is_out_of_memory(error) or size == 1:
        raise error
    return size // 2
