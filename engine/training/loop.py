"""The training loop.

A run that was stopped or killed at any moment resumes from its last checkpoint and ends with the
same weights, bit for bit, as an uninterrupted one (same machine, threads and libraries): examples,
masks and dropout of a step depend only on seed and step, and checkpoints hold exact weights and the
Adam state.

With several processes (device/ranks.py), each runs this loop on its part of every batch, and only
rank 0 writes.
"""

import time
from collections.abc import Callable
from typing import Literal

from engine.config.job import JobSpec
from engine.messages.events import measured
from engine.progress import Cancelled
from engine.runs.folder import RunFolder
from engine.tasks.contrastive import ContrastiveLearner
from engine.training.checkpoints import latest_checkpoint, save
from engine.training.context import Emit, RunContext
from engine.training.data.features import delete_features
from engine.training.data.prefetch import batches
from engine.training.device.machine import choose_machine
from engine.training.device.ranks import current_rank, join_ranks
from engine.training.evaluation import early_stopping_note, evaluate
from engine.training.snapshots import begin_snapshots, save_snapshot
from engine.training.start import start
from engine.training.step import StepResult, out_of_memory_note, update
from engine.training.training_run import TrainingRun

Outcome = Literal["finished", "stopped"]
CURVE_POINTS = 400  # of learning rate, gradient norm, speed and tokens


def train(
    job: JobSpec,
    folder: RunFolder,
    emit: Emit = lambda event: None,
    stop_requested: Callable[[], bool] = lambda: False,
) -> tuple[Outcome, int]:
    """Train to the end or until a stop is requested; returns outcome and last step.

    Args:
        emit: receives all events; this function writes only checkpoints to the folder.
        stop_requested: polled before each step and during preparation.
    """
    context, rank = RunContext(job, folder, emit, stop_requested), current_rank()
    machine = choose_machine(job.hardware, rank.local, rank.local_world)
    with join_ranks(rank, machine.device, job.hardware.sharded) as ranks:
        resume = latest_checkpoint(context)
        try:
            run = start(context, machine, ranks, resume)
        except Cancelled:
            return "stopped", resume.progress.step if resume else 0
        begin_snapshots(run, resumed=resume is not None)
        return _run_steps(run, resume.progress.step if resume else -1)


def _run_steps(run: TrainingRun, saved_step: int) -> tuple[Outcome, int]:
    """Run the remaining steps; `saved_step`: step of the last checkpoint, or -1."""
    progress, speed = run.progress, Speed()
    prefetch = run.machine.device.type != "cpu"
    plan_network = run.network if prefetch and run.graphs is None else None
    inputs = batches(run.setup.data, progress.step, prefetch, plan_network)
    while not run.is_finished:
        if agree_on_stop(run):
            if saved_step != progress.step:
                fit_classifier(run)
                save(run)
            return "stopped", progress.step

        result = update(run, next(inputs))
        run.average.update(progress.step)
        speed.add(result.tokens)
        emit_curves(run, result, speed)

        improved = False
        if run.evaluates_now or run.saves_now:
            fit_classifier(run)
        if run.evaluates_now:
            improved = evaluate(run)
            speed.restart()
        if save_snapshot(run):  # before the checkpoint: a resume would skip it
            speed.restart()
        if improved or run.saves_now:
            save(run)
            saved_step = progress.step
            speed.restart()

    if progress.step < run.setup.data.steps:
        run.context.note(early_stopping_note(progress))
    if run.ranks.is_writer:
        delete_features(run.context.folder)
    return "finished", progress.step


def fit_classifier(run: TrainingRun) -> None:
    """Fit the linear layer of contrastive fine-tuning to the current vectors."""
    data = run.setup.data
    if isinstance(data.learner, ContrastiveLearner):
        phase, precision = data.phases[0], run.machine.precision
        rows = phase.order.examples
        data.learner.fit_classifier(run.network, phase.examples, rows, data.tokenizer, precision)


def agree_on_stop(run: TrainingRun) -> bool:
    """Use the smallest micro-batch size of all ranks; returns True if any rank should stop."""
    progress = run.progress
    inverse_size = 1 / progress.micro_batch_size if progress.micro_batch_size else 0.0
    stop, largest_inverse = run.ranks.maximum(float(run.context.stop_requested()), inverse_size)
    if largest_inverse > inverse_size:
        progress.micro_batch_size = round(1 / largest_inverse)
        run.context.note(out_of_memory_note(progress), exact=False)
    return stop > 0


class Speed:
    """Tokens per second since the last restart."""

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        self._tokens, self._began = 0, time.monotonic()

    def add(self, tokens: int) -> None:
        self._tokens += tokens

    def take_speed(self) -> float:
        """Return the tokens per second, and restart."""
        rate = self._tokens / max(1e-9, time.monotonic() - self._began)
        self.restart()
        return rate


def emit_curves(run: TrainingRun, result: StepResult, speed: Speed) -> None:
    """Emit the measurements of a step: the loss always, others at about CURVE_POINTS steps."""
    step, steps = run.progress.step, run.setup.data.steps
    run.context.emit(measured("loss", step, result.loss))
    is_point = step % max(1, steps // CURVE_POINTS) == 0 or step == steps
    if is_point or run.evaluates_now:  # exact token count at evaluations
        run.context.emit(measured("tokens", step, run.progress.tokens))
    if is_point:
        run.context.emit(measured("learning_rate", step, result.learning_rate))
        run.context.emit(measured("gradient_norm", step, result.gradient_norm))
        run.context.emit(measured("tokens_per_second", step, speed.take_speed()))
