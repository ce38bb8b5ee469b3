"""Prepare what the first step of a job needs: data, tokenizer, network, intervals."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import torch

from engine.config.job import FromScratch
from engine.errors import StudioError
from engine.models.network import Network
from engine.phrases import phrase
from engine.tasks.learner import Learner, special_ids
from engine.tokenizers.tokenizer import Tokenizer
from engine.training.context import RunContext
from engine.training.data.batch_order import evaluation_interval, save_interval
from engine.training.data.teaching import learn_from_teacher
from engine.training.data.tokenizer import tokenizer_for
from engine.training.data.training_data import TrainingData, read_rows, tokenise
from engine.training.network import configure, network_for
from engine.training.warm_init import warm_init


class BestMetric(NamedTuple):
    """The validation metric that selects the best checkpoint."""

    name: str
    higher_is_better: bool

    def is_better(self, new: float, old: float | None) -> bool:
        """True if `new` beats the best so far; NaN never does."""
        if math.isnan(new):
            return False
        return old is None or (new > old if self.higher_is_better else new < old)


def choose_best_metric(requested: str, learner: Learner) -> BestMetric:
    """Return the requested metric, or the default of the task.

    Raises StudioError if the metric is not available with these labels.
    """
    name = requested or learner.best_metric
    if name not in learner.metric_names:
        raise StudioError(
            "With this data set, the metric “{metric}” is not available for the task.",
            "Choose one of {metrics} for the best checkpoint.",
            metric=name,
            metrics=", ".join(learner.metric_names),
        )
    metrics = learner.task.info.metrics
    return BestMetric(name, next(m.higher_is_better for m in metrics if m.name == name))


@dataclass(frozen=True)
class TrainingSetup:
    """Network, data and intervals of a run."""

    data: TrainingData
    network: Network
    best_metric: BestMetric
    evaluate_every: int
    save_every: int


def set_up(context: RunContext, resume_from: Path | None = None) -> TrainingSetup:
    """Prepare a run; `resume_from` is the checkpoint of this run to resume from.

    Raises Cancelled soon after a stop; leaves nothing incomplete.
    """
    job, settings = context.job, context.job.training
    training_rows = read_rows(job, context.folder.dataset, context.stage, context.stop_requested)
    metric = choose_best_metric(settings.best_metric, training_rows.learner)
    tokenizer = (
        Tokenizer.from_folder(resume_from) if resume_from else tokenizer_for(context, training_rows)
    )
    torch.manual_seed(settings.seed)  # new weights are drawn below
    network = network_for(context, training_rows.learner, tokenizer, resume_from)
    configure(network, job)
    training_rows.learner.fit_network(network)
    is_split = job.hardware.processes > 1
    is_split = is_split or 0 < settings.micro_batch_size < settings.batch_size
    if training_rows.learner.needs_whole_batch and is_split:
        raise StudioError(
            "With in-batch negatives a batch cannot be split: its rows are compared.",
            "Set training.micro_batch_size to 0 and hardware.processes to 1, and choose a "
            "batch size that fits into memory.",
        )
    limit, (long_length, _) = network.spec.max_positions, training_rows.learner.long_inputs
    tokenizer.allow(max(settings.max_length, long_length))
    if limit < max(settings.max_length, long_length):
        context.note(
            "Inputs are truncated to {limit} tokens, the maximum of this model.", limit=limit
        )
    data = tokenise(training_rows, tokenizer, limit, context.stage)
    if job.teacher is not None:
        data = learn_from_teacher(data, training_rows, job.teacher, context.stage)
    if resume_from is None:
        _note_examples(context, data)
        if isinstance(job.base_model, FromScratch):
            examples = data.phases[0].examples
            training_rows.learner.init_output_bias(network, examples, tokenizer)
            if job.base_model.warm_init:
                progress = context.stage(phrase("Counting co-occurrences"))
                warm_init(network, examples.tokenized, special_ids(tokenizer), progress)
    steps_per_epoch = data.phases[0].order.steps_per_epoch
    return TrainingSetup(
        data,
        network,
        metric,
        evaluate_every=evaluation_interval(settings, steps_per_epoch),
        save_every=save_interval(settings, steps_per_epoch),
    )


def _note_examples(context: RunContext, data: TrainingData) -> None:
    sets = (
        (phrase("Training set"), data.phases[0].examples),
        (phrase("Validation set"), data.validation),
    )
    for name, examples in sets:
        for note in examples.notes if examples is not None else ():
            context.note("{name}: {note}", name=name, note=note)
