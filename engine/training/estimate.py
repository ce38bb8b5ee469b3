"""Time and memory of a job, from measured steps.

One step with the longest input and a full batch gives the memory: nothing that follows needs more.
Steps with the job's usual lengths give the time. Both run in the process that asks, which should
be a fresh one, since the peak of its memory is the answer.
"""

import math
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import psutil
import torch

from engine.data.store import Rows, StoredTexts, resolve
from engine.data.tokenizer import Tokenizer
from engine.messages import Estimated
from engine.models import checkpoint
from engine.models.network import Network
from engine.runs.keeping import most_kept
from engine.runs.parts import split
from engine.spec.job import FromScratch, JobSpec
from engine.tasks import learner_for
from engine.tasks.chance import SHARE, chance
from engine.tasks.learner import Learner, total
from engine.tasks.widths import width_of
from engine.training.batches import Order
from engine.training.devices import Machine, choose
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
JUDGING = 1 / 3  # time of a forward pass, against one with its backward pass


def estimate(job: JobSpec, working: Callable[[str], None]) -> Estimated:
    """Measure a job without doing it; `working` hears each stage.

    Raises StudioError for whatever would keep the job itself from starting.
    """
    parts = split(job)
    job = parts[-1]  # the dearest: of a layer bench it is fine-tuning
    processes = job.hardware.processes
    machine = choose(job.hardware, beside=processes)
    working("Reading the data")
    with tempfile.TemporaryDirectory(prefix="bert-studio-") as scratch:
        dataset = resolve(job.data, Path(scratch) / "dataset")
        learner = learner_for(job.task)
        rows, dev_count = learner.rows(dataset, "train"), dataset.spec.rows.get("dev", 0)
        learner.study(rows)
    working("Looking at the lengths")
    tokenizer = _tokenizer(job, rows)
    lengths = _lengths(job, learner, rows, tokenizer)
    plan = job.training
    share = math.ceil(plan.batch / processes)  # what one process computes of a batch
    order = Order(lengths, plan.batch, plan.seed, plan.share)
    batches = [lengths[order.numbers(i)] for i in range(min(order.steps_per_epoch, 200))]
    usual = width_of(math.ceil(sum(one.sum() for one in batches) / sum(map(len, batches))))

    working("Measuring one step")
    network = _network(job, learner)
    set_up(network, plan)
    network.to(machine.device).train()
    optimiser = adamw(network, plan)
    longest = min(plan.max_length, network.spec.positions)
    long_length = min(learner.long_inputs[0], network.spec.positions)

    def step(width: int) -> float:
        random = chance(plan.seed, SHARE, width)
        batch = learner.made_up(share, width, tokenizer, random).to(machine.device)
        if network.reader is not None:
            shape = (*batch.tokens.shape, len(network.reader.heights), network.spec.width)
            batch = batch._replace(tokens=torch.zeros(shape, device=machine.device))
        began = time.perf_counter()
        for part in batch.parts(plan.micro_batch):
            with machine.precision():
                loss = total(learner.losses(network, part, batch))
            loss.backward()
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        if machine.device.type == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter() - began

    step(max(longest, long_length))  # reaches the peak of memory, and warms up
    short = min(step(min(usual, longest)) for _ in range(3))
    steps, looks = planned_steps(plan, order.steps_per_epoch)
    seconds = steps * short
    if long_length > longest:
        last = steps - first_long_step(steps, learner.long_inputs[1])
        seconds += last * (min(step(long_length) for _ in range(2)) - short)
    if network.reader is not None:
        seconds += _vectors_take(network, learner, plan.batch, usual, tokenizer, machine) * (
            order.steps_per_epoch + math.ceil(dev_count / plan.batch)
        )
    judging = looks * math.ceil(dev_count / share) * short * JUDGING  # by one process alone
    return Estimated(
        steps=steps,
        seconds_per_step=short,
        seconds=(seconds + judging) * len(parts),
        memory=_peak_memory(machine) * (1 if machine.device.type == "cuda" else processes),
        available=machine.free_memory(),
        parameters=sum(p.numel() for p in network.parameters()),
        device=str(machine.device),
        precision=machine.precision_name,
        checkpoint=checkpoint_size(network),
        checkpoints=most_kept(steps, save_interval(plan, order.steps_per_epoch), plan) * len(parts),
    )


def _vectors_take(
    network: Network,
    learner: Learner,
    batch: int,
    width: int,
    tokenizer: Tokenizer,
    machine: Machine,
) -> float:
    """Seconds in which the encoder gives the vectors of a batch."""
    one = learner.made_up(batch, width, tokenizer, chance(0, SHARE)).to(machine.device)
    began = time.perf_counter()
    with torch.inference_mode(), machine.precision():
        network.eval().encoder(one.tokens, one.segments, one.real)
    network.train()
    return time.perf_counter() - began


def _tokenizer(job: JobSpec, rows: Rows) -> Tokenizer:
    """The job's vocabulary, or one made from a few rows where the job would make a new one."""
    if (given := given_tokenizer(job.start)) is not None:
        return given
    assert isinstance(job.start, FromScratch)
    return Tokenizer.train(rows.texts[:SAMPLE], job.start.model.vocabulary, job.start.lowercase)


def _lengths(job: JobSpec, learner: Learner, rows: Rows, tokenizer: Tokenizer) -> np.ndarray:
    """Tokens of each training example, int [examples], known from a sample of the rows."""
    plan = job.training
    pick = chance(plan.seed, SHARE).permutation(len(rows))[:SAMPLE]
    if isinstance(rows.texts, StoredTexts):  # rows are joined and cut to full length
        some = rows.texts.some(SAMPLE, chance(plan.seed, SHARE))
        pieces = sum(len(ids) for ids in tokenizer.contents(some)) / max(1, len(some))
        blocks = max(1, round(pieces * len(rows) / (plan.max_length - 2)))
        return np.full(blocks, plan.max_length)
    with tempfile.TemporaryDirectory(prefix="bert-studio-") as scratch:
        examples = learner.pack(
            rows.take(pick), tokenizer, plan.max_length, Path(scratch) / "sample", lambda a, b: None
        )
    lengths = examples.lengths
    return np.resize(lengths, max(1, round(len(lengths) * len(rows) / max(1, len(pick)))))


def _network(job: JobSpec, learner: Learner) -> Network:
    if isinstance(job.start, FromScratch):
        return Network(job.start.model, learner.heads)
    heads = wanted_heads(job, learner)
    return checkpoint.load(job.start.path, heads, learner.labels).network


def _peak_memory(machine: Machine) -> int:
    """Bytes that were held at the most: of the device, or of this process."""
    if machine.device.type == "cuda":
        return int(torch.cuda.max_memory_allocated())
    if sys.platform == "win32":
        return int(psutil.Process().memory_info().peak_wset)
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
