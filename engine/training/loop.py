"""The training of a job, in the order in which it happens.

A run that was stopped, or whose process was killed at any moment, resumes from its last checkpoint
and ends with the same weights, bit for bit, as one that was never interrupted (same machine,
threads and libraries): the examples, masks and dropout of a step follow from the seed and the step
alone, and the checkpoint holds the weights in full and the state of AdamW.

Several processes may train together (ranks.py): each runs this loop with its share of every batch,
and only the first of them writes.
"""

from collections.abc import Callable
from typing import Literal

from engine.config.job import JobSpec
from engine.progress import Cancelled
from engine.runs.folder import RunFolder
from engine.training.checkpoints import latest_checkpoint, save
from engine.training.context import Emit, RunContext
from engine.training.curves import Speed, emit_curves
from engine.training.devices import choose
from engine.training.evaluation import early_stopping_note, evaluate
from engine.training.features import delete_own_features
from engine.training.micro_batches import out_of_memory_note
from engine.training.prefetch import batches
from engine.training.ranks import here, joined
from engine.training.snapshots import begin_snapshots, save_snapshot
from engine.training.start import start
from engine.training.step import update
from engine.training.training_run import TrainingRun

Outcome = Literal["finished", "stopped"]


def train(
    job: JobSpec,
    folder: RunFolder,
    emit: Emit = lambda event: None,
    stop_wanted: Callable[[], bool] = lambda: False,
) -> tuple[Outcome, int]:
    """Train to the end, or until a stop is wanted; returns the outcome and the last step.

    Args:
        emit: gets each event of the run; nothing but checkpoints is written to the folder here.
        stop_wanted: asked before each step, and often while the run is prepared.
    """
    context, rank = RunContext(job, folder, emit, stop_wanted), here()
    machine = choose(job.hardware, rank.local, rank.beside)
    with joined(rank, machine.device, job.hardware.sharded) as ranks:
        resume = latest_checkpoint(context)
        try:
            run = start(context, machine, ranks, resume)
        except Cancelled:
            return "stopped", resume.progress.step if resume else 0
        begin_snapshots(run, resumed=resume is not None)
        return _steps(run, resume.progress.step if resume else -1)


def _steps(run: TrainingRun, saved_step: int) -> tuple[Outcome, int]:
    """Take the steps that remain; `saved_step` is that of the last checkpoint, -1 without one."""
    progress, speed = run.progress, Speed()
    ahead = run.machine.device.type != "cpu"
    plans_for = run.network if ahead and run.graphs is None else None
    coming = batches(run.setup.data, progress.step, ahead, plans_for)
    while not run.is_over:
        if stop_agreed(run):
            if saved_step != progress.step:
                save(run)
            return "stopped", progress.step

        updated = update(run, next(coming))
        run.average.update(progress.step)
        speed.add(updated.tokens)
        emit_curves(run, updated, speed)

        improved = False
        if run.evaluates_now:
            improved = evaluate(run)
            speed.restart()
        if save_snapshot(run):  # before the checkpoint, after which it would not be made again
            speed.restart()
        if improved or run.saves_now:
            save(run)
            saved_step = progress.step
            speed.restart()

    if progress.step < run.setup.data.steps:
        run.context.note(early_stopping_note(progress))
    if run.ranks.writes:
        delete_own_features(run.context.folder)
    return "finished", progress.step


def stop_agreed(run: TrainingRun) -> bool:
    """Whether any rank is asked to stop; the smallest micro-batch of all ranks holds for all."""
    progress = run.progress
    own = 1 / progress.micro_batch_size if progress.micro_batch_size else 0.0
    stop, smallest = run.ranks.highest(float(run.context.stop_wanted()), own)
    if smallest > own:
        progress.micro_batch_size = round(1 / smallest)
        run.context.note(out_of_memory_note(progress), exact=False)
    return stop > 0
