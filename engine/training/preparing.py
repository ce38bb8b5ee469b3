"""From a job to all that its first step needs: data, vocabulary, network, plan."""

import hashlib
import math
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn

from engine.atomic_write import verify, whole_folder
from engine.data.datasets.store import Cancelled, Dataset, Rows, resolve
from engine.data.packing.packed import key
from engine.errors import StudioError
from engine.messages.events import Noted, Progressed
from engine.models import checkpoint
from engine.models.heads import Heads
from engine.models.lora import adapt
from engine.models.network import Network
from engine.models.probe import heights
from engine.phrases import phrase
from engine.runs.folder import RunFolder
from engine.spec.dataset import SplitName
from engine.spec.job import BaseModelSource, FromCheckpoint, FromScratch, JobSpec
from engine.spec.training import TrainingSpec
from engine.tasks import learner_for
from engine.tasks.learner import Batch, Examples, Learner, special_ids
from engine.tasks.learner import Progress as Report
from engine.tasks.rng import MASKS, rng_for
from engine.tokenizers.tokenizer import Tokenizer
from engine.training.batches import Order
from engine.training.devices import Machine
from engine.training.features import vectors_for
from engine.training.optimiser import freeze
from engine.training.saving import Tell
from engine.training.token_cache import shared_tokens
from engine.training.warm_init import give_head_start


@dataclass
class Stretch:
    """Steps in a row that see the same examples, from step `first` on."""

    first: int
    examples: Examples
    order: Order


@dataclass
class Material:
    """What a run learns from, and in which order; all but the network."""

    tokenizer: Tokenizer
    learner: Learner
    dataset: Dataset
    stretches: list[Stretch]
    validation: Examples | None  # None where no rows are kept for judging
    steps: int
    seed: int

    def numbers(self, step: int) -> tuple[Examples, np.ndarray]:
        """The examples, and which of them a step sees."""
        stretch = next(s for s in reversed(self.stretches) if s.first <= step)
        return stretch.examples, stretch.order.numbers(step - stretch.first)

    def batch(self, step: int) -> Batch:
        """What the network is given in a step, which counts from 0."""
        return self.batch_of(step, *self.numbers(step))

    def batch_of(self, step: int, examples: Examples, numbers: np.ndarray) -> Batch:
        """The same, of what `numbers` says; safe in any thread."""
        random = rng_for(self.seed, MASKS, step)
        return self.learner.batch(examples, numbers, self.tokenizer, random)


@dataclass
class Prepared(Material):
    """All that a training loop needs."""

    network: Network
    evaluate_every: int
    save_every: int


def prepare(
    job: JobSpec,
    run: RunFolder,
    tell: Tell,
    weights: Path | None = None,
    stop_wanted: Callable[[], bool] = lambda: False,
) -> Prepared:
    """Make everything ready; `weights` is the run's own checkpoint when it goes on.

    Raises:
        Cancelled: soon after a stop is wanted; what was half made is gone.
    """

    def stage(name: str) -> Report:
        return _stage(tell, name, stop_wanted)

    dataset = resolve(job.data, run.dataset, stage(phrase("Reading the data")), stop_wanted)
    learner = learner_for(job.task)
    rows = learner.rows(dataset, "train")
    if not len(rows):
        raise StudioError(
            phrase("The data set has no rows for training."),
            phrase("Give it a split that leaves some."),
        )
    learner.fit_labels(rows)
    made = stage(phrase("Making the vocabulary"))
    tokenizer = (
        Tokenizer.from_folder(weights) if weights else _tokenizer(job, dataset, rows, run, made)
    )
    torch.manual_seed(job.training.seed)  # fresh weights come from it
    network = _network(job, learner, tokenizer, weights, tell)
    set_up(network, job.training)
    if (most := network.spec.max_positions) < max(job.training.max_length, learner.long_inputs[0]):
        tell(
            Noted(
                text=phrase(
                    "Inputs are cut to {most} word pieces: the model knows no more.", most=most
                )
            )
        )
    found = material(job, dataset, rows, learner, tokenizer, most, stage)
    train = found.stretches[0]
    for part, examples in (
        (phrase("Training rows"), train.examples),
        (phrase("Dev rows"), found.validation),
    ):
        if examples is not None and weights is None:
            for note in examples.notes:
                tell(Noted(text=f"{part}: {note}"))
    if weights is None and isinstance(job.base_model, FromScratch):
        learner.init_output_bias(network, train.examples, tokenizer)
        if job.base_model.warm_init:
            counting = stage(phrase("Counting which words stand together"))
            packed = train.examples.packed
            give_head_start(network, packed, special_ids(tokenizer), counting)
    return Prepared(
        **vars(found),
        network=network,
        evaluate_every=evaluation_interval(job.training, train.order.steps_per_epoch),
        save_every=save_interval(job.training, train.order.steps_per_epoch),
    )


def material(
    job: JobSpec,
    dataset: Dataset,
    rows: Rows,
    learner: Learner,
    tokenizer: Tokenizer,
    positions: int,
    stage: Callable[[str], Report],
) -> Material:
    """The token ids of a job, and the order in which they are seen.

    Args:
        rows: those for training, which the learner has studied.
        positions: how many tokens an input of the network may have at the most.
        stage: makes what hears of the progress of a stage with this name.
    """
    plan, (long_length, long_share) = job.training, learner.long_inputs
    longest, long_length = (min(n, positions) for n in (plan.max_length, long_length))
    dev_rows = learner.rows(dataset, "validation")
    packer = _Packer(dataset, learner, tokenizer)
    train = packer.pack(rows, "train", longest, stage(phrase("Tokenising the training rows")))
    dev = None
    if len(dev_rows):
        dev = packer.pack(dev_rows, "validation", longest, stage(phrase("Tokenising the dev rows")))
    if not len(train):
        raise StudioError(
            phrase("The training rows hold no words."), phrase("Choose another text column.")
        )
    order = Order(train.lengths, plan.batch_size, plan.seed, plan.train_fraction)
    steps, _ = planned_steps(plan, order.steps_per_epoch)
    stretches = [Stretch(0, train, order)]
    if long_length > longest:
        told = stage(phrase("Tokenising the training rows for long inputs"))
        long = packer.pack(rows, "train", long_length, told)
        order_of_long = Order(long.lengths, plan.batch_size, plan.seed, plan.train_fraction)
        stretches.append(Stretch(first_long_step(steps, long_share), long, order_of_long))
    return Material(tokenizer, learner, dataset, stretches, dev, steps, plan.seed)


@dataclass(frozen=True)
class _Packer:
    """Makes token ids from rows, or finds those that an earlier run has made from the same."""

    dataset: Dataset
    learner: Learner
    tokenizer: Tokenizer

    def pack(self, rows: Rows, part: SplitName, length: int, told: Report) -> Examples:
        shared, way = shared_tokens(), self.learner.packing
        shared.drop_old()
        name = key(self.dataset.spec.fingerprint, self.tokenizer, 0, part)
        with shared.reserved(name, lambda: told(0, 0)) as inside:
            return self.learner.pack(rows, self.tokenizer, length, inside / f"{way}-{length}", told)


def give_vectors(
    job: JobSpec,
    run: RunFolder,
    made: Prepared,
    machine: Machine,
    tell: Tell,
    stop_wanted: Callable[[], bool] = lambda: False,
) -> None:
    """Where a reader is trained, compute what it reads, or find it where it was kept.

    Raises Cancelled where a stop is wanted meanwhile.
    """
    if made.network.reader is None:
        return
    shared = job.features.cache  # the run may have been copied to where there is no such place
    is_here = shared is not None and (shared.parent.is_dir() or shared.parents[1].is_dir())
    folder = shared if shared is not None and is_here else own_vectors(run)
    rows = job.group.vectors if job.group is not None else ()
    layers = made.network.spec.layers
    others = [job.features.model_copy(update={"vectors": row}) for row in rows]
    later = tuple(h for other in others if other.trains_probe for h in heights(other, layers))
    examples = [(stretch.examples, "training") for stretch in made.stretches]
    for some, name in [*examples, *([(made.validation, "validation")] if made.validation else [])]:
        stage = _stage(
            tell, phrase("Computing the vectors of the {name} rows", name=name), stop_wanted
        )
        some.vectors = vectors_for(
            made.network, some.packed, made.tokenizer, folder, machine, later, stage
        )
    tell(
        Noted(
            text=phrase(
                "The vectors lie in {folder}; if they are deleted, they are made again.",
                folder=folder,
            )
        )
    )


def own_vectors(run: RunFolder) -> Path:
    """Where a run by itself keeps vectors until it is finished."""
    return run.cache / "vectors"


def forget_vectors(run: RunFolder) -> None:
    """Delete what a finished run will not read again; where a system does not let it, it stays."""
    shutil.rmtree(own_vectors(run), ignore_errors=True)


def planned_steps(plan: TrainingSpec, steps_per_epoch: int) -> tuple[int, int]:
    """How many steps a run takes, and how often it is judged by the dev examples."""
    steps = plan.steps or max(1, math.ceil(plan.epochs * steps_per_epoch))
    return steps, math.ceil(steps / evaluation_interval(plan, steps_per_epoch))


def first_long_step(steps: int, share: float) -> int:
    """From which step on inputs are long."""
    return steps - round(share * steps)


def evaluation_interval(plan: TrainingSpec, steps_per_epoch: int) -> int:
    """Steps between two judgements: an epoch, or less so that a run has four of them."""
    steps = plan.steps or max(1, math.ceil(plan.epochs * steps_per_epoch))
    return plan.evaluate_every or max(1, min(steps_per_epoch, math.ceil(steps / 4)))


def save_interval(plan: TrainingSpec, steps_per_epoch: int) -> int:
    """Steps between two checkpoints."""
    return plan.save_every or evaluation_interval(plan, steps_per_epoch)


def set_up(network: Network, plan: TrainingSpec) -> None:
    """Make a network learn as the plan says; what it computes stays the same.

    Adapters begin by torch's present random state.
    """
    if plan.dropout is not None:
        set_dropout(network, plan.dropout)
    network.encoder.activation_checkpointing = plan.gradient_checkpointing
    if network.reader is not None:
        network.requires_grad_(False)
        network.reader.requires_grad_(True)
        return
    freeze(network, plan.frozen_layers)
    if plan.lora_rank:
        adapt(
            network,
            plan.lora_rank,
            plan.lora_alpha,
            plan.lora_dropout,
            plan.lora_layers,
            plan.frozen_layers,
        )


def set_dropout(network: nn.Module, share: float) -> None:
    """Set every dropout of a network, and leave its spec as it is."""
    for module in network.modules():
        if isinstance(module, nn.Dropout):
            module.p = share
        if isinstance(module, nn.LSTM):
            module.dropout = share


def given_tokenizer(start: BaseModelSource) -> Tokenizer | None:
    """The vocabulary that a start names; None where a new one is to be made."""
    if isinstance(start, FromCheckpoint):
        return Tokenizer.from_folder(start.path)
    if start.tokenizer is None:
        return None
    if start.tokenizer.is_dir():
        return Tokenizer.from_folder(start.tokenizer)
    return Tokenizer.from_vocabulary(start.tokenizer, start.lowercase)


def _tokenizer(
    job: JobSpec, dataset: Dataset, rows: Rows, run: RunFolder, told: Report
) -> Tokenizer:
    """The vocabulary of the start; a new one is made once for all runs, and kept in the run."""
    start = job.base_model
    if (given := given_tokenizer(start)) is not None:
        return given
    assert isinstance(start, FromScratch)
    kept = run.cache / "vocabulary"
    if not kept.is_dir():
        texts = (dataset.spec.fingerprint, rows.pairs is None, rows.tags is None)
        asked = (*texts, start.model.vocab_size, start.lowercase)
        name = phrase(
            "vocabulary-{hexdigest}",
            hexdigest=hashlib.sha256(repr(asked).encode("utf-8")).hexdigest()[:24],
        )
        with shared_tokens().reserved(name, lambda: told(0, 0)) as inside:
            made = _made_vocabulary(inside / "made", rows, start, told)
        with whole_folder(kept) as mine:
            made.save(mine)
    return Tokenizer.from_folder(kept)


def _made_vocabulary(folder: Path, rows: Rows, start: FromScratch, told: Report) -> Tokenizer:
    """The vocabulary in `folder`; it is made there where none is, or a damaged one."""
    try:
        verify(folder)
        return Tokenizer.from_folder(folder)
    except StudioError:
        made = Tokenizer.train(rows.all_texts(), start.model.vocab_size, start.lowercase, told)
        with whole_folder(folder) as inside:
            made.save(inside)
        return made


def wanted_heads(job: JobSpec, learner: Learner) -> Heads:
    """The heads that the network of a job needs; a reader in the place of the task's."""
    if not job.features.trains_probe:
        return learner.heads
    heads = learner.heads
    return Heads(outputs=heads.outputs, kind=heads.kind, reader=job.features.plain())


def _network(
    job: JobSpec, learner: Learner, tokenizer: Tokenizer, weights: Path | None, tell: Tell
) -> Network:
    start = job.base_model
    if weights is None and isinstance(start, FromScratch):
        spec = start.model.model_copy(update={"vocab_size": tokenizer.size})
        return Network(spec, learner.heads)
    folder = weights or (start.path if isinstance(start, FromCheckpoint) else None)
    assert folder is not None
    loaded = checkpoint.load(folder, wanted_heads(job, learner), learner.labels)
    if learner.causal not in (None, loaded.spec.causal):
        raise _another_direction(folder.name, loaded.spec.causal)
    if weights is None:
        tell(
            Noted(
                text=phrase(
                    "From {folder}: {report}", folder=folder.name, report=loaded.report.sentence()
                )
            )
        )
        for note in loaded.report.notes:
            tell(Noted(text=note))
    return loaded.network


def _another_direction(name: str, causal: bool) -> StudioError:
    if causal:
        return StudioError(
            phrase(
                "{name} is left-to-right, and masked words are guessed from both sides.", name=name
            ),
            phrase("Give the pre-training the objective “next_token”, or choose another model."),
        )
    return StudioError(
        phrase(
            "{name} looks to both sides, so that each next word would be seen before it "
            "is guessed.",
            name=name,
        ),
        phrase("Choose a left-to-right model, or begin with a new one."),
    )


def _stage(tell: Tell, stage: str, stop_wanted: Callable[[], bool]) -> Report:
    """Progress of a stage, told at most a hundred times; it raises Cancelled to end the stage."""
    last = -1

    def report(done: int, total: int) -> None:
        nonlocal last
        if stop_wanted():
            raise Cancelled
        share = done * 100 // total if total else done // 1000
        if share != last:
            last = share
            tell(Progressed(stage=stage, done=done, total=total))

    return report
