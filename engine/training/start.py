"""Prepare a run for its next step: the first one, or the one after a resume."""

from typing import Any

import torch

from engine.config.recommended import layer_weights
from engine.errors import StudioError
from engine.messages.events import Prepared
from engine.phrases import join, phrase
from engine.training.checkpoints import ResumePoint, emit_missing_saved, restore
from engine.training.context import RunContext, TrainingProgress
from engine.training.data.features import attach_features
from engine.training.device.cuda_graphs import choose_graphs, graphs_mode
from engine.training.device.environment import (
    differences,
    environment,
    reusable_threads,
    weights_sha256,
)
from engine.training.device.fastest import (
    choose_attention,
    choose_precision,
    choose_products,
    settle_products,
)
from engine.training.device.machine import Machine
from engine.training.device.ranks import Ranks
from engine.training.network import cache_frozen_weights, count_parameters, count_trained
from engine.training.optimiser import WeightAverage, adamw
from engine.training.setup import TrainingSetup, set_up
from engine.training.training_run import TrainingRun

MAX_ABSENT = 20  # labels to name that the validation set lacks


def start(
    context: RunContext, machine: Machine, ranks: Ranks, resume: ResumePoint | None
) -> TrainingRun:
    """Prepare or resume a run; raises Cancelled soon after a stop."""
    progress = resume.progress if resume else TrainingProgress()
    previous = progress.environment
    machine = _machine(context, machine, ranks, previous)
    setup, machine, products = _set_up(context, machine, ranks, resume)
    ranks.broadcast_weights(setup.network)
    attention = choose_attention(setup.network.encoder, machine, previous.get("attention", ""))
    initial = previous.get("start", "unknown") if resume else weights_sha256(setup.network)
    graphs = choose_graphs(
        setup.network.train(),
        setup.data.learner,
        machine,
        context.job,
        setup.data.tokenizer.pad,
        lambda: setup.data.batch(0),
        previous.get("CUDA graphs", ""),
        context.note,
    )
    mode = graphs_mode(graphs, machine)
    current = environment(
        machine, setup.data, attention, initial, ranks.description, mode, products
    )
    ranks.shard(setup.network)
    if ranks.world == 1:
        setup.network.use_sparse_token_gradient()
    optimiser = adamw(setup.network, context.job.training)
    average = WeightAverage(setup.network, context.job.training.ema_decay)
    run = TrainingRun(context, setup, machine, ranks, optimiser, average, progress, graphs)
    changed = differences(previous, current)
    if resume is not None:
        _resume(run, resume, changed)
    cache_frozen_weights(setup.network, machine)
    progress.environment = current
    context.emit(_prepared_event(run, changed))
    _note_frozen(run)
    return run


def _machine(
    context: RunContext, machine: Machine, ranks: Ranks, previous: dict[str, str]
) -> Machine:
    """Machine of this run; a resumed run keeps its precision and threads."""
    hardware = context.job.hardware
    if previous:
        threads = reusable_threads(previous, ranks.description)
        machine = machine.resume(hardware, previous.get("precision", ""), threads)
    for remark in machine.remarks(hardware):
        context.note(remark)
    return machine


def _set_up(
    context: RunContext, machine: Machine, ranks: Ranks, resume: ResumePoint | None
) -> tuple[TrainingSetup, Machine, str]:
    folder = resume.folder if resume else None
    with ranks.rank_zero_first():
        setup = context.retry_when_full(lambda: set_up(context, folder))
        setup.network.to(machine.device)
        previous = resume.progress.environment if resume else None
        products = choose_products(setup.network, machine, ranks.world > 1, previous)
        if not (resume and resume.progress.environment):
            settings, lengths = context.job.training, setup.data.phases[0].examples.lengths
            rows = settings.micro_batch_size or settings.batch_size / ranks.world
            tokens = float(lengths.mean())
            machine = choose_precision(setup.network, machine, context.job.hardware, rows, tokens)
        products = settle_products(setup.network, machine, products)
        context.retry_when_full(lambda: attach_features(context, setup, machine))
    return setup, machine, products


def _resume(run: TrainingRun, resume: ResumePoint, changed: tuple[str, ...]) -> None:
    """Restore the optimiser and the exact weights."""
    step, exact = resume.progress.step, phrase("bit for bit")
    _check_data(run, resume.progress.environment)
    if changed:
        exact = phrase("not bit for bit ({changed})", changed=join(", ", changed))
    run.context.note(phrase("Resumed from step {step}, {exact}.", step=step, exact=exact))
    if run.ranks.is_writer:
        emit_missing_saved(run.context, resume.progress)
    restore(run, resume.folder)


def _check_data(run: TrainingRun, previous: dict[str, str]) -> None:
    """Raise StudioError if the data changed since the checkpoint, unless allowed."""
    folder = run.context.folder
    fingerprint = run.setup.data.dataset.spec.fingerprint
    if previous.get("data", fingerprint) != fingerprint and not folder.changed_data_file.exists():
        raise StudioError(
            "The data of this run have changed since its last checkpoint.",
            "Restore them, or start a new run. To resume with the changed data all the"
            " same: bert-studio resume FOLDER --changed-data",
        )


def _prepared_event(run: TrainingRun, changed: tuple[str, ...]) -> Prepared:
    truncated = 0.0
    if run.setup.data.learner.task.truncates:
        max_length = min(run.settings.max_length, run.network.spec.max_positions)
        truncated = float((run.setup.data.phases[0].examples.lengths >= max_length).mean())
    return Prepared(
        steps=run.setup.data.steps,
        parameters=count_parameters(run.network),
        examples=len(run.setup.data.phases[0].order),
        device=str(run.machine.device),
        threads=run.machine.threads,
        processes=run.ranks.world,
        versions={"torch": torch.__version__, "precision": run.machine.precision_name},
        step=run.progress.step,
        best_metric=f"validation_{run.setup.best_metric.name}",
        higher_is_better=run.setup.best_metric.higher_is_better,
        layer_weights=layer_weights(run.network.spec),
        longest=run.network.spec.max_positions,
        **_majority_fields(run),
        truncated=truncated,  # probably: they have the maximum length
        environment=run.progress.environment,
        differences=changed,
    )


def _majority_fields(run: TrainingRun) -> dict[str, Any]:
    """Majority baseline on the validation set, and labels missing from it."""
    data = run.setup.data
    if data.validation is None or run.job.teacher is not None:
        return {}
    validation = data.learner.target_counts(data.validation)
    training = data.learner.target_counts(data.phases[0].examples)
    if not validation or not training:
        return {}
    answer = training.most_common(1)[0][0]  # ties: the first, as in `engine.tasks.baselines`
    return {
        "majority": answer,
        "majority_score": validation[answer] / validation.total(),
        "absent": tuple(label for label in training if not validation[label])[:MAX_ABSENT],
    }


def _note_frozen(run: TrainingRun) -> None:
    if all(p.requires_grad for p in run.network.parameters()):
        return
    trained, total = count_trained(run.network), count_parameters(run.network)
    run.context.note(
        "Training {trained:,} of {total:,} parameters ({fraction:.2%}).",
        trained=trained,
        total=total,
        fraction=trained / total,
    )
