"""Estimate time and memory of a job from measured steps.

Memory: a step with the heaviest sampled batch including the longest row, once the optimiser has
its state. Time: steps with the job's usual lengths. Run it in a fresh process, as the peak memory
of the process is the result.
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

from engine.config.job import FromScratch, JobSpec
from engine.config.search import SearchSpec
from engine.data.datasets.rows import Rows
from engine.data.datasets.store import StoredTexts
from engine.files.home import Home
from engine.messages.estimating import Estimated
from engine.models import checkpoint
from engine.models.fast.encoding import run_lower_layers
from engine.models.network import Network
from engine.phrases import phrase
from engine.progress import ProgressCallback, no_progress
from engine.runs.groups import expand
from engine.runs.retention import max_checkpoints
from engine.runs.snapshots import count_snapshots
from engine.tasks.learner import (
    Batch,
    Examples,
    Learner,
    WindowGroups,
    first_windows,
    padded_width,
)
from engine.tasks.rng import SUBSET, rng_for
from engine.tokenizers.tokenizer import Tokenizer
from engine.training.checkpoints import checkpoint_size
from engine.training.data.batch_order import (
    BatchOrder,
    count_evaluations,
    count_steps,
    first_long_step,
    save_interval,
)
from engine.training.data.features import count_cached_layers
from engine.training.data.tokenizer import base_tokenizer
from engine.training.data.training_data import TrainingRows, batch_order, read_rows
from engine.training.device.cuda_graphs import choose_graphs
from engine.training.device.fastest import (
    choose_attention,
    choose_precision,
    choose_products,
    settle_products,
)
from engine.training.device.machine import Machine, choose_machine, peak_memory
from engine.training.gradients import GradientAccumulator
from engine.training.network import cache_frozen_weights, configure, count_parameters, heads_for
from engine.training.optimiser import adamw
from engine.training.row_moments import MOMENTS
from engine.training.snapshots import snapshot_size

MAX_MEASURED = 4  # combinations of base model and data set of a search
SAMPLED_BATCHES = 200  # the heaviest of them is measured
FORWARD_FRACTION = 1 / 3  # time of a forward pass relative to forward and backward
SAMPLED_ROWS = 1_000
SAMPLED_CHARACTERS = 4_000_000  # limit for corpora of long texts
LONG_ROWS = 20  # rows with the most characters, sampled in addition


def estimate(job: JobSpec, on_stage: Callable[[str], None]) -> Estimated:
    """Measure a job without running it; `on_stage` gets the name of each stage.

    Raises StudioError for everything that would keep the job from starting.
    """
    if job.search is not None:
        return _estimate_search(job, job.search, on_stage)
    with tempfile.TemporaryDirectory(prefix="bert-studio-", ignore_cleanup_errors=True) as scratch:
        return _estimate(job, on_stage, Path(scratch))  # Windows keeps mapped files


def _estimate_search(
    job: JobSpec, search: SearchSpec, on_stage: Callable[[str], None]
) -> Estimated:
    """Estimate all runs of a search: measure the heaviest of each base model and data set.

    TPE trials are approximated by random ones.
    """
    if search.method == "tpe":
        search = search.model_copy(update={"method": "random", "budget": search.limit})
    groups: dict[str, list[JobSpec]] = {}
    for member in expand(job.model_copy(update={"search": search})):
        groups.setdefault(f"{member.base_model!r} {member.data!r}", []).append(member)
    estimates: list[Estimated] = []
    for jobs in [*groups.values()][:MAX_MEASURED]:
        heaviest = max(jobs, key=lambda j: j.training.batch_size * j.training.max_length)
        result = estimate(heaviest, on_stage)
        factor = sum(map(_work, jobs)) / _work(heaviest)
        changes = {"seconds": result.seconds * factor, "runs": len(jobs)}
        estimates.append(result.model_copy(update=changes))
    count = sum(map(len, groups.values()))
    # further models are assumed to be like these
    scale = count / sum(item.runs for item in estimates)
    largest = max(estimates, key=lambda item: item.memory)
    return largest.model_copy(
        update={
            "seconds": sum(item.seconds for item in estimates) * scale,
            "checkpoints": largest.checkpoints * count,
            "snapshots": largest.snapshots * count,
            "runs": count,
        }
    )


def _work(job: JobSpec) -> float:
    settings = job.training
    if settings.steps:
        return float(settings.steps * settings.batch_size)
    return settings.epochs * settings.train_fraction


def _estimate(job: JobSpec, on_stage: Callable[[str], None], scratch: Path) -> Estimated:
    jobs = expand(job)
    job = jobs[-1]  # the most expensive: fine-tuning in a layer sweep
    settings = job.training
    machine = choose_machine(job.hardware, processes=job.hardware.processes)

    def stage(name: str) -> ProgressCallback:
        on_stage(name)
        return no_progress

    source = read_rows(job, scratch / "dataset", stage)
    on_stage(phrase("Sampling input lengths"))
    tokenizer = _tokenizer(source)
    plan = _make_plan(source, sample(source, tokenizer, scratch / "sample"))
    on_stage(phrase("Measuring one step"))
    bench = _Bench(source, tokenizer, machine, plan)
    machine = bench.machine
    heaviest = bench.heaviest_batch(plan)
    bench.measure(heaviest)  # creates the optimiser state
    bench.measure(heaviest)
    memory = peak_memory().network_memory  # before the timed steps, which use dummy batches
    memory += bench.later_moments(plan)
    width = min(plan.mean_width, bench.length)
    seconds_per_step = min(bench.time_usual_step(plan, width) for _ in range(3))
    save_every = save_interval(settings, plan.order.steps_per_epoch)
    runs = Home().runs
    existing_folder = next(folder for folder in (runs, *runs.parents) if folder.exists())
    return Estimated(
        steps=plan.steps,
        seconds_per_step=seconds_per_step,
        seconds=_estimate_seconds(plan, bench, seconds_per_step) * len(jobs),
        memory=memory * (1 if machine.device.type == "cuda" else job.hardware.processes),
        available=machine.free_memory(),
        parameters=count_parameters(bench.network),
        device=str(machine.device),
        precision=machine.precision_name,
        threads=machine.threads,
        checkpoint=checkpoint_size(bench.network),
        snapshot=snapshot_size(bench.network),
        snapshots=count_snapshots(plan.steps, settings.snapshot_every) * len(jobs),
        cache=bench.cache_bytes(plan),
        disk_free=shutil.disk_usage(existing_folder).free,
        checkpoints=max_checkpoints(plan.steps, save_every, settings) * len(jobs),
        runs=len(jobs),
    )


@dataclass(frozen=True)
class Sample:
    """Tokenized sample of the training rows.

    `examples` starts with `random_count` random ones, followed by the longest rows, unless rows are
    joined and split.
    """

    lengths: np.ndarray  # int [examples of the job], tokens of each, repeated from the sample
    examples: Examples
    random_count: int

    def heaviest_batch(self, batches: list[np.ndarray]) -> np.ndarray:
        """Return the batch with the most tokens, with the longest example added."""
        batch = max(batches, key=lambda rows: int(self.lengths[rows].sum())) % self.random_count
        lengths = self.examples.lengths
        longest = int(lengths.argmax())
        if lengths[longest] > lengths[batch].max():
            batch[lengths[batch].argmax()] = longest
        return batch[np.argsort(lengths[batch], kind="stable")]


def sample(source: TrainingRows, tokenizer: Tokenizer, folder: Path) -> Sample:
    """Tokenize some of the rows into `folder`."""
    settings, learner, rows = source.job.training, source.learner, source.rows
    random = rng_for(settings.seed, SUBSET)

    def tokenize(part: Rows) -> Examples:
        examples = learner.tokenize(part, tokenizer, settings.max_length, folder, no_progress)
        return learner.training_examples(examples)

    if isinstance(rows.texts, StoredTexts):
        texts = rows.texts.sample(SAMPLED_ROWS, random)
        ends = np.cumsum([len(text) for text in texts])
        texts = texts[: max(1, int((ends <= SAMPLED_CHARACTERS).sum()))]
        examples = tokenize(Rows(texts))
        count = max(1, round(len(examples) * len(rows) / max(1, len(texts))))
        return Sample(np.resize(examples.lengths, count), examples, len(examples))
    picked = random.permutation(len(rows))[:SAMPLED_ROWS]
    examples = tokenize(rows.take(np.concatenate([picked, _long_rows(rows)])))
    row_indices = np.array([learner.row(examples, index) for index in range(len(examples))])
    random_count = int((row_indices < len(picked)).sum())
    count = max(1, round(random_count * len(rows) / max(1, len(picked))))
    return Sample(np.resize(examples.lengths[:random_count], count), examples, random_count)


def _long_rows(rows: Rows) -> np.ndarray:
    """Indices of the rows with the most characters."""
    columns = [rows.texts, rows.pairs or (), rows.beginnings or (), rows.negatives or ()]
    sizes = np.zeros(len(rows), dtype=np.int64)
    for column in columns:
        sizes[: len(column)] += np.fromiter(map(len, column), np.int64, len(column))
    for index, endings in enumerate(rows.endings or ()):
        sizes[index] += max(map(len, endings))
    return np.argsort(sizes)[-LONG_ROWS:]


@dataclass(frozen=True)
class _Plan:
    """Steps of a job, as estimated from a sample."""

    sample: Sample
    order: BatchOrder
    batches: list[np.ndarray]  # examples of some steps
    rank_batch: int  # examples of a batch per process
    processes: int
    steps: int
    evaluations: int
    validation_rows: int

    @property
    def mean_width(self) -> int:
        """Mean padded length of an input, in tokens."""
        tokens = sum(int(self.sample.lengths[indices].sum()) for indices in self.batches)
        return padded_width(math.ceil(tokens / sum(map(len, self.batches))))

    def count_distinct_tokens(self, vocabulary: int) -> int:
        """Expected number of distinct tokens in the examples of the run."""
        counts = self.sample.examples.tokenized.counts(vocabulary)
        examples = min(len(self.order), self.steps * self.rank_batch * self.processes)
        return extrapolate_distinct(counts, examples / len(self.sample.examples))


def extrapolate_distinct(counts: np.ndarray, size: float) -> int:
    """Expected number of distinct tokens in a text `size` times as long.

    It grows as a power of the length (Heaps 1978, §7.5), with the exponent at the end of the text:
    a token that occurs c times is expected in half of it with probability 1 - 2^-c.

    Args:
        counts: occurrences of each token of the vocabulary, int64 [V].
    """
    distinct, in_half = int((counts > 0).sum()), float((1 - 0.5**counts).sum())
    growth = math.pow(size, math.log2(distinct / in_half))
    return min(len(counts), math.ceil(distinct * growth))


def _make_plan(source: TrainingRows, sample: Sample) -> _Plan:
    settings, processes = source.job.training, source.job.hardware.processes
    order = batch_order(source.learner, sample.lengths, sample.examples.targets, settings)
    count = min(order.steps_per_epoch, SAMPLED_BATCHES)
    batches = [order.indices(step) for step in range(count)]
    return _Plan(
        sample=sample,
        order=order,
        batches=batches,
        rank_batch=math.ceil(min(len(batches[0]), settings.batch_size) / processes),
        processes=processes,
        steps=count_steps(settings, order.steps_per_epoch),
        evaluations=count_evaluations(settings, order.steps_per_epoch),
        validation_rows=_validation_examples(source, sample),
    )


def _validation_examples(source: TrainingRows, sample: Sample) -> int:
    """Validation rows, or as many examples of training as their windows take the time of."""
    rows, examples = source.dataset.spec.rows.get("validation", 0), sample.examples
    if examples.owners is None:
        return rows
    texts = len(first_windows(examples.owners))
    per_row = examples.tokenized.tokens * examples.inputs_per_example / texts
    return round(rows * per_row / float(examples.lengths.mean()))


class _Bench:
    """Network of a job, to time steps."""

    def __init__(
        self, source: TrainingRows, tokenizer: Tokenizer, machine: Machine, plan: _Plan
    ) -> None:
        self.settings, self.learner = source.job.training, source.learner
        self._trains_probe = source.job.features.trains_probe
        self.tokenizer = tokenizer
        self.network = _network(source.job, source.learner)
        configure(self.network, source.job)
        self.network.encoder.cached_layers = count_cached_layers(self.network, self.settings)
        self.network.to(machine.device).train()
        rows = self.settings.micro_batch_size or plan.rank_batch
        hardware, width = source.job.hardware, plan.mean_width
        products = choose_products(self.network, machine, hardware.processes > 1)
        self.machine = choose_precision(self.network, machine, hardware, rows, width)
        settle_products(self.network, self.machine, products)
        cache_frozen_weights(self.network, self.machine)
        choose_attention(self.network.encoder, self.machine)
        if source.job.hardware.processes == 1:
            self.network.use_sparse_token_gradient()
        self._optimiser = adamw(self.network, self.settings)
        limit = self.network.spec.max_positions
        self.length = min(self.settings.max_length, limit)
        long_length, self.long_fraction = self.learner.long_inputs
        self.long_length = min(long_length, limit)
        self._gradients = choose_graphs(
            self.network,
            self.learner,
            self.machine,
            source.job,
            tokenizer.pad,
            lambda: self._dummy(plan.rank_batch, min(width, self.length), rng_for(0, SUBSET)),
        ) or GradientAccumulator(self.network, self.learner, self.machine)

    @property
    def has_long_inputs(self) -> bool:
        return self.long_length > self.length

    def heaviest_batch(self, plan: _Plan) -> Batch:
        """Batch with the largest memory use, or the part of one process."""
        if self.has_long_inputs:
            return self._dummy(
                plan.rank_batch, self.long_length, rng_for(self.settings.seed, SUBSET)
            )
        indices = plan.sample.heaviest_batch(plan.batches)
        part = indices[:: -plan.processes][::-1]  # every n-th, including the longest
        random = rng_for(self.settings.seed, SUBSET)
        return self.learner.training_batch(plan.sample.examples, part, self.tokenizer, random)

    def time_step(self, count: int, width: int) -> float:
        """Seconds of a step with random inputs of this length."""
        return self.measure(self._dummy(count, width, rng_for(self.settings.seed, SUBSET, width)))

    def time_usual_step(self, plan: _Plan, width: int) -> float:
        """Seconds of a step with inputs of this length, or with the windows of sampled texts."""
        examples = plan.sample.examples
        if not isinstance(examples, WindowGroups):
            return self.time_step(plan.rank_batch, width)
        indices = np.unique(plan.batches[0][: plan.rank_batch] % plan.sample.random_count)
        random = rng_for(self.settings.seed, SUBSET)
        return self.measure(self.learner.batch(examples, indices, self.tokenizer, random))

    def measure(self, batch: Batch) -> float:
        """Seconds of an update."""
        if self.vectors_per_token:
            shape = (*batch.tokens.shape, self.vectors_per_token, self.network.spec.hidden_size)
            batch = batch._replace(tokens=torch.zeros(shape))
        began = time.perf_counter()
        counts = self.learner.counts(batch)
        for part in batch.parts(self.settings.micro_batch_size):
            self._gradients.add(part, counts)
        self._optimiser.step()
        self._optimiser.zero_grad(set_to_none=True)
        if self.machine.device.type == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter() - began

    @property
    def vectors_per_token(self) -> int:
        """Vectors per token that are computed once; 0 if every step runs the whole network."""
        if self.network.probe is not None and self._trains_probe:
            return len(self.network.probe.layers)
        return int(self.network.encoder.cached_layers > 0)

    def cache_bytes(self, plan: _Plan) -> int:
        lengths = plan.sample.lengths[plan.order.examples]
        tokens = float(lengths.sum() + lengths.mean() * plan.validation_rows)
        token_bytes = 4 * self.vectors_per_token * self.network.spec.hidden_size
        return round(tokens * plan.sample.examples.inputs_per_example * token_bytes)

    def later_moments(self, plan: _Plan) -> int:
        """Bytes of Adam moments of the token rows that a run reads after the measured batch."""
        size = 0
        for table, moments in self._optimiser.row_moments.items():
            later = plan.count_distinct_tokens(len(table)) - len(moments.rows)
            size += len(MOMENTS) * table.element_size() * table.size(1) * max(0, later)
        return size

    def time_extraction(self, width: int) -> float:
        """Seconds to extract the features of a batch."""
        random = rng_for(0, SUBSET)
        batch = self._dummy(self.settings.batch_size, width, random).to(self.machine.device)
        arguments = batch.tokens, batch.segments, batch.attention_mask
        encoder = self.network.eval().encoder
        began = time.perf_counter()
        with torch.inference_mode(), self.machine.precision():
            if encoder.cached_layers:
                run_lower_layers(encoder, *arguments, encoder.cached_layers)
            else:
                encoder(*arguments)
        self.network.train()
        return time.perf_counter() - began

    def _dummy(self, count: int, width: int, random: np.random.Generator) -> Batch:
        return self.learner.dummy_batch(count, width, self.tokenizer, random)


def _estimate_seconds(plan: _Plan, bench: _Bench, step_time: float) -> float:
    """Estimate the whole run from the mean time of a step."""
    seconds = plan.steps * step_time
    if bench.has_long_inputs:
        long_steps = plan.steps - first_long_step(plan.steps, bench.long_fraction)
        seconds += long_steps * (
            min(bench.time_step(plan.rank_batch, bench.long_length) for _ in range(2)) - step_time
        )
    if bench.vectors_per_token:
        batches = math.ceil(plan.validation_rows / bench.settings.batch_size)
        seconds += bench.time_extraction(plan.mean_width) * (plan.order.steps_per_epoch + batches)
    batches = math.ceil(plan.validation_rows / plan.rank_batch)  # one process evaluates
    return seconds + plan.evaluations * batches * step_time * FORWARD_FRACTION


def _tokenizer(source: TrainingRows) -> Tokenizer:
    """Tokenizer of the job; if the job trains it, one trained on a few rows."""
    base_model = source.job.base_model
    if (tokenizer := base_tokenizer(base_model)) is not None:
        return tokenizer
    assert isinstance(base_model, FromScratch)
    texts = source.rows.texts[:SAMPLED_ROWS]
    return Tokenizer.train(texts, base_model.model.vocab_size, base_model.lowercase)


def _network(job: JobSpec, learner: Learner) -> Network:
    if isinstance(job.base_model, FromScratch):
        return Network(job.base_model.model, learner.heads)
    heads = heads_for(job, learner)
    return checkpoint.load(job.base_model.path, heads, learner.labels).network
