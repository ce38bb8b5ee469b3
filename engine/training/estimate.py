"""Time and memory of a job, from measured steps.

A step with the heaviest batch that was found and the longest row gives the memory, once the
optimiser has its own: nothing that follows needs more. Steps with the job's usual lengths give the
time. Both run in the process that asks, which should be a fresh one, since the peak of its memory
is the answer.
"""

import math
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from engine.data.datasets.store import Rows, StoredTexts, resolve
from engine.home import Home
from engine.messages.estimating import Estimated
from engine.models import checkpoint
from engine.models.network import Network
from engine.phrases import phrase
from engine.runs.groups import split
from engine.runs.retention import most_kept
from engine.spec.job import FromScratch, JobSpec
from engine.tasks import learner_for
from engine.tasks.learner import Batch, Examples, Learner
from engine.tasks.rng import SHARE, rng_for
from engine.tasks.widths import width_of
from engine.tokenizers.tokenizer import Tokenizer
from engine.training.batches import Order
from engine.training.devices import Machine, choose
from engine.training.gradients import add_gradients
from engine.training.memory import peak_memory
from engine.training.optimiser import adamw
from engine.training.preparing import (
    first_long_step,
    given_tokenizer,
    planned_steps,
    save_interval,
    set_up,
    wanted_heads,
)
from engine.training.saving import checkpoint_size

SAMPLE = 1_000  # training rows that are tokenised for their lengths
MOST_CHARACTERS = 4_000_000  # in them, where they are texts of any length
LONGEST = 20  # more of them, those with most characters
LOOKED_AT = 200  # batches among which the heaviest is looked for
JUDGING = 1 / 3  # time of a forward pass, against one with its backward pass


def estimate(job: JobSpec, working: Callable[[str], None]) -> Estimated:
    """Measure a job without doing it; `working` hears each stage.

    Raises StudioError for whatever would keep the job itself from starting.
    """
    with tempfile.TemporaryDirectory(prefix="bert-studio-", ignore_cleanup_errors=True) as scratch:
        return _estimate(job, working, Path(scratch))  # Windows keeps what is mapped


def _estimate(job: JobSpec, working: Callable[[str], None], scratch: Path) -> Estimated:
    parts = split(job)
    job = parts[-1]  # the dearest: of a layer sweep it is fine-tuning
    processes = job.hardware.processes
    machine = choose(job.hardware, beside=processes)
    working(phrase("Reading the data"))
    dataset = resolve(job.data, scratch / "dataset")
    learner = learner_for(job.task)
    rows, dev_count = learner.rows(dataset, "train"), dataset.spec.rows.get("validation", 0)
    learner.fit_labels(rows)
    working(phrase("Looking at the lengths"))
    tokenizer = _tokenizer(job, rows)
    plan = job.training
    sample = _sample(job, learner, rows, tokenizer, scratch / "sample")
    order = Order(sample.lengths, plan.batch_size, plan.seed, plan.train_fraction)
    drawn = [order.numbers(i) for i in range(min(order.steps_per_epoch, LOOKED_AT))]
    batches = [sample.lengths[numbers] for numbers in drawn]
    usual = width_of(math.ceil(sum(one.sum() for one in batches) / sum(map(len, batches))))
    share = math.ceil(len(drawn[0]) / processes)  # what one process computes of a batch

    working(phrase("Measuring one step"))
    network = _network(job, learner)
    set_up(network, plan)
    network.to(machine.device).train()
    optimiser = adamw(network, plan)
    longest = min(plan.max_length, network.spec.max_positions)
    long_length = min(learner.long_inputs[0], network.spec.max_positions)

    def step(width: int) -> float:
        random = rng_for(plan.seed, SHARE, width)
        return update(learner.dummy_batch(share, width, tokenizer, random))

    def update(batch: Batch) -> float:
        batch = batch.to(machine.device)
        if network.reader is not None:
            shape = (*batch.tokens.shape, len(network.reader.heights), network.spec.hidden_size)
            batch = batch._replace(tokens=torch.zeros(shape, device=machine.device))
        began = time.perf_counter()
        for part in batch.parts(plan.micro_batch_size):
            add_gradients(network, learner, part, batch, machine)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        if machine.device.type == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter() - began

    random = rng_for(plan.seed, SHARE)
    mine = sample.heaviest(drawn)[::-processes][::-1]  # the longest, and every n-th before it
    heaviest = learner.batch(sample.examples, mine, tokenizer, random)
    if long_length > longest:
        heaviest = learner.dummy_batch(share, long_length, tokenizer, random)
    update(heaviest)  # after it there is what the optimiser remembers
    update(heaviest)
    memory = peak_memory().decisive  # before the steps for the time, whose batches are made up
    short = min(step(min(usual, longest)) for _ in range(3))
    steps, looks = planned_steps(plan, order.steps_per_epoch)
    seconds = steps * short
    if long_length > longest:
        last = steps - first_long_step(steps, learner.long_inputs[1])
        seconds += last * (min(step(long_length) for _ in range(2)) - short)
    if network.reader is not None:
        seconds += _vectors_take(network, learner, plan.batch_size, usual, tokenizer, machine) * (
            order.steps_per_epoch + math.ceil(dev_count / plan.batch_size)
        )
    judging = looks * math.ceil(dev_count / share) * short * JUDGING  # by one process alone
    return Estimated(
        steps=steps,
        seconds_per_step=short,
        seconds=(seconds + judging) * len(parts),
        memory=memory * (1 if machine.device.type == "cuda" else processes),
        available=machine.free_memory(),
        parameters=sum(p.numel() for p in network.parameters()),
        device=str(machine.device),
        precision=machine.precision_name,
        threads=machine.threads,
        checkpoint=checkpoint_size(network),
        disk_free=_disk_free(),
        checkpoints=most_kept(steps, save_interval(plan, order.steps_per_epoch), plan) * len(parts),
    )


def _disk_free() -> int:
    """Bytes, where the runs of this home lie or will lie."""
    runs = Home().runs
    return shutil.disk_usage(next(p for p in (runs, *runs.parents) if p.exists())).free


def _vectors_take(
    network: Network,
    learner: Learner,
    batch: int,
    width: int,
    tokenizer: Tokenizer,
    machine: Machine,
) -> float:
    """Seconds in which the encoder gives the vectors of a batch."""
    one = learner.dummy_batch(batch, width, tokenizer, rng_for(0, SHARE)).to(machine.device)
    began = time.perf_counter()
    with torch.inference_mode(), machine.precision():
        network.eval().encoder(one.tokens, one.segments, one.real)
    network.train()
    return time.perf_counter() - began


def _tokenizer(job: JobSpec, rows: Rows) -> Tokenizer:
    """The job's vocabulary, or one made from a few rows where the job would make a new one."""
    if (given := given_tokenizer(job.base_model)) is not None:
        return given
    assert isinstance(job.base_model, FromScratch)
    return Tokenizer.train(
        rows.texts[:SAMPLE], job.base_model.model.vocab_size, job.base_model.lowercase
    )


@dataclass(frozen=True)
class _Sample:
    """What is known of the training examples from some of the rows.

    `examples` has first those of a fair sample, as many as `fair`, and then those of the longest
    rows, unless rows are joined and cut.
    """

    lengths: np.ndarray  # int [examples of the job], tokens of each; those of the sample, repeated
    examples: Examples
    fair: int

    def heaviest(self, drawn: list[np.ndarray]) -> np.ndarray:
        """The batch with most tokens of those drawn, and in it the longest example of all."""
        batch = max(drawn, key=lambda numbers: int(self.lengths[numbers].sum())) % self.fair
        lengths = self.examples.lengths
        longest = int(lengths.argmax())
        if lengths[longest] > lengths[batch].max():
            batch[lengths[batch].argmax()] = longest
        return batch[np.argsort(lengths[batch], kind="stable")]


def _sample(
    job: JobSpec, learner: Learner, rows: Rows, tokenizer: Tokenizer, folder: Path
) -> _Sample:
    """Tokenise some of the rows into `folder`."""
    plan = job.training
    random = rng_for(plan.seed, SHARE)

    def pack(some: Rows) -> Examples:
        return learner.pack(some, tokenizer, plan.max_length, folder, lambda done, total: None)

    if isinstance(rows.texts, StoredTexts):
        texts = _together(rows.texts.some(SAMPLE, random))
        examples = pack(Rows(texts))
        count = max(1, round(len(examples) * len(rows) / max(1, len(texts))))
        return _Sample(np.resize(examples.lengths, count), examples, len(examples))
    pick = random.permutation(len(rows))[:SAMPLE]
    examples = pack(rows.take(np.concatenate([pick, _longest(rows)])))
    owners = np.array([learner.row(examples, number) for number in range(len(examples))])
    fair = int((owners < len(pick)).sum())
    count = max(1, round(fair * len(rows) / max(1, len(pick))))
    return _Sample(np.resize(examples.lengths[:fair], count), examples, fair)


def _together(texts: list[str]) -> list[str]:
    """The first texts, as many as are tokenised in a moment; one at least."""
    ends = np.cumsum([len(text) for text in texts])
    return texts[: max(1, int((ends <= MOST_CHARACTERS).sum()))]


def _longest(rows: Rows) -> np.ndarray:
    """The numbers of the rows with most characters."""
    columns = [rows.texts, rows.pairs or (), rows.beginnings or ()]
    sizes = np.zeros(len(rows), dtype=np.int64)
    for column in columns:
        sizes[: len(column)] += np.fromiter(map(len, column), np.int64, len(column))
    for place, endings in enumerate(rows.endings or ()):
        sizes[place] += max(map(len, endings))
    return np.argsort(sizes)[-LONGEST:]


def _network(job: JobSpec, learner: Learner) -> Network:
    if isinstance(job.base_model, FromScratch):
        return Network(job.base_model.model, learner.heads)
    heads = wanted_heads(job, learner)
    return checkpoint.load(job.base_model.path, heads, learner.labels).network
