"""Training on a simulated GPU: results of the CPU, correct devices, few synchronisations."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import torch
import transformers

from engine.config.families.bert import BertSpec
from engine.config.features import Features
from engine.config.job import FromCheckpoint, JobSpec
from engine.models.checkpoint import load
from engine.models.heads import Heads
from engine.models.network import Network
from engine.runs.folder import RunFolder
from engine.system.precision import Precision
from engine.tasks.learner import Batch
from engine.tasks.text_classification import TextClassificationLearner
from engine.training import estimate, loop, start
from engine.training.context import TrainingProgress
from engine.training.data.prefetch import StepInput
from engine.training.device.machine import DTYPES
from engine.training.not_finite import NotFinite
from engine.training.step import StepResult, update
from engine.training.training_run import TrainingRun
from tests.engine.training import small
from tests.engine.training.test_families import from_family
from tests.engine.training.test_loop import final, metrics
from tests.engine.training.test_loss_scaling import skipped_notes, with_precision
from tests.simulated.device import Counts, count_operations, device, keep_parameters
from tests.tasks.jobs import JOBS

CLOSE = 1e-5
TOLERANCE: dict[Precision, float] = {"bf16": 0.05, "fp16": 0.01}  # of curves against fp32
REDUCED: dict[str, tuple[Precision, ...]] = {  # for all kinds of losses
    "text_classification": ("bf16",),
    "question_answering": ("fp16",),
    "pretraining": ("bf16",),  # fp16 with graphs is in test_cuda_graphs.py
}
RANKS = ("average_precision", "spearman")  # nearly equal scores may swap ranks
SHORT = {"steps": 2, "epochs": 1, "save_every": 2, "evaluate_every": 9, "dropout": 0.0}
OPTIONS: dict[str, dict[str, object]] = {
    "activations recomputed, averaged weights": {"gradient_checkpointing": True, "ema_decay": 0.9},
    "cached frozen layers": {"frozen_layers": 1, "cache_frozen_layers": True},
    "frozen layers, parts of batches, rates by layer": {
        "frozen_layers": 1,
        "micro_batch_size": 3,
        "layer_lr_decay": 0.8,
    },
}
Train = Callable[[RunFolder], list[Counts]]


@pytest.fixture
def on_device(monkeypatch: pytest.MonkeyPatch) -> Iterator[Train]:
    """`train(run)` trains on the device and returns the counts of each step."""
    choose, target = loop.choose_machine, device()

    def train(run: RunFolder) -> list[Counts]:
        steps: list[Counts] = []

        def step(training: TrainingRun, inputs: StepInput) -> StepResult:
            with count_operations() as counts:
                result = update(training, inputs)
            steps.append(counts)
            return result

        with monkeypatch.context() as patch:
            patch.setattr(loop, "update", step)
            patch.setattr(
                loop,
                "choose_machine",
                lambda *arguments, **options: replace(choose(*arguments, **options), device=target),
            )
            loop.train(run.job(), run, run.append)
        return steps

    with keep_parameters():
        yield train


def assert_curves_agree(run: RunFolder, other: RunFolder) -> None:
    expected, actual = metrics(other), metrics(run)
    assert actual.keys() == expected.keys()
    for curve, value in expected.items():
        if not curve[0].endswith(RANKS):
            assert actual[curve] == pytest.approx(value, abs=CLOSE), curve


def check(
    job: JobSpec, folder: Path, on_device: Train, precisions: tuple[Precision, ...] = ()
) -> tuple[RunFolder, list[Counts]]:
    """Check that curves match those of the CPU, that only losses and the norm are synchronised, and
    that each batch is sent in one copy."""
    reference, run = small.trained(folder / "cpu", job), small.new_run(folder / "device", job)
    counts = on_device(run)
    assert_curves_agree(run, reference)
    expected = metrics(reference)
    terms = sum(1 for name, step in expected if name.startswith("loss") and step == 1)
    waits = {"_local_scalar_dense": 1 + max(1, terms - 1)}
    parts = -(-job.training.batch_size // (job.training.micro_batch_size or 10_000))

    def check_counts(steps: list[Counts], dtype: torch.dtype) -> None:
        assert len(steps) == job.training.steps
        assert steps[-1].to_host == 0 and dict(steps[-1].waits) == waits
        assert steps[-1].to_device == parts
        assert {*steps[-1].products} <= {dtype}

    check_counts(counts, torch.float32)
    for precision in precisions:
        reduced = small.new_run(folder / precision, with_precision(job, precision))
        check_counts(on_device(reduced), DTYPES[precision])
        losses = {curve for curve in expected if "loss" in curve[0]}
        actual = metrics(reduced)
        assert any(actual[curve] != expected[curve] for curve in losses)
        for curve in losses:
            assert actual[curve] == pytest.approx(expected[curve], abs=TOLERANCE[precision]), curve
    return run, counts


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=pytest.mark.long) if kind == "pair_classification" else kind
        for kind in JOBS
    ],
)
def test_tasks_train_as_on_the_cpu(kind, on_device, tmp_path):
    check(JOBS[kind](tmp_path, **SHORT), tmp_path, on_device, REDUCED.get(kind, ()))


@pytest.mark.parametrize(  # every one is in test_nested_attention.py
    "family", ["deberta-v2", "modernbert", pytest.param("albert", marks=pytest.mark.long)]
)
def test_families_train_as_on_the_cpu(family, on_device, tmp_path):
    job = from_family(family, small.classifying(tmp_path), tmp_path, **SHORT)
    check(job, tmp_path, on_device, ("bf16",) if family == "deberta-v2" else ())


@pytest.mark.parametrize("options", OPTIONS)
def test_options_train_as_on_the_cpu(options, on_device, tmp_path):
    check(small.classifying(tmp_path, **SHORT | OPTIONS[options]), tmp_path, on_device)


def test_probes_train_as_on_the_cpu(on_device, tmp_path):
    first = small.trained(tmp_path / "base", small.classifying(tmp_path, steps=1))
    features = Features(vectors="sum of last four", probe="bilstm", probe_size=8)
    base = FromCheckpoint(path=first.checkpoint_folders()[-1])
    update = {"features": features, "base_model": base}
    check(small.classifying(tmp_path, **SHORT).model_copy(update=update), tmp_path, on_device)


def test_an_fp16_overflow_skips_its_step_as_on_the_cpu(on_device, tmp_path, monkeypatch):
    begin = partial(TrainingProgress, loss_scale=2.0**22)
    monkeypatch.setattr(start, "TrainingProgress", begin)
    job = with_precision(small.classifying(tmp_path, **SHORT | {"steps": 6}))
    reference = small.trained(tmp_path / "cpu", job)
    run = small.new_run(tmp_path / "device", job)
    steps = on_device(run)
    skipped = skipped_notes(run)
    assert 2 < len(skipped) < 6 and skipped[:3] == skipped_notes(reference)[:3]
    assert not steps[0].launches["_fused_adamw_"] and steps[-1].launches["_fused_adamw_"]
    assert steps[0].waits == steps[-1].waits


def test_a_nan_loss_is_traced_to_its_examples(on_device, tmp_path, monkeypatch):
    original = TextClassificationLearner.losses

    def losses(self: TextClassificationLearner, network: Network, batch: Batch, *whole: Batch):  # type: ignore[no-untyped-def]
        terms = original(self, network, batch, *whole)
        return {name: term + batch.targets.log().sum() * 0 for name, term in terms.items()}

    monkeypatch.setattr(TextClassificationLearner, "losses", losses)
    run = small.new_run(tmp_path / "run", small.classifying(tmp_path, **SHORT))
    with pytest.raises(NotFinite, match=r"[1-7] of its 8 examples cause this: line \d+"):
        on_device(run)


def test_a_batch_too_large_for_the_device_is_split(on_device, tmp_path, monkeypatch):
    send = Batch.to

    def send_small(self: Batch, target: torch.device) -> Batch:
        if target == device() and self.size > 4:
            raise torch.OutOfMemoryError("out of memory")
        return send(self, target)

    job = small.classifying(tmp_path, **SHORT)
    reference, run = small.trained(tmp_path / "cpu", job), small.new_run(tmp_path / "run", job)
    monkeypatch.setattr(Batch, "to", send_small)
    steps = on_device(run)
    assert steps[-1].to_device == 2
    assert_curves_agree(run, reference)


def test_time_and_memory_of_a_job_are_measured_on_a_device(tmp_path, monkeypatch):
    choose = estimate.choose_machine
    monkeypatch.setattr(
        estimate, "choose_machine", lambda *a, **n: replace(choose(*a, **n), device=device())
    )
    job = small.classifying(tmp_path, **SHORT)
    with keep_parameters(), count_operations() as counts:
        estimated = estimate.estimate(job, lambda stage: None)
    assert (
        counts.launches["_fused_adamw_"] and estimated.device == "sim:0" and estimated.seconds > 0
    )


def test_adapters_train_as_on_the_cpu(on_device, tmp_path):
    check(small.adapted(tmp_path, ema_decay=0.9, **SHORT), tmp_path, on_device)


def test_runs_stop_and_resume_on_the_device_or_elsewhere(on_device, tmp_path, monkeypatch):
    job = small.classifying(tmp_path, **SHORT | {"steps": 3})
    whole, moved, stopped = (
        small.new_run(tmp_path / n, job) for n in ("whole", "moved", "stopped")
    )
    on_device(whole)
    loop.train(job, moved, moved.append, lambda: small.has_seen(moved, 2))
    on_device(moved)
    assert_curves_agree(moved, whole)
    network = load(whole.checkpoint_folders()[-1]).network
    assert {p.device.type for p in network.parameters()} == {"cpu"}
    monkeypatch.setattr(loop, "agree_on_stop", lambda run: run.progress.step == 2)
    on_device(stopped)
    monkeypatch.undo()
    on_device(stopped)
    assert final(stopped) == final(whole) and metrics(stopped) == metrics(whole)


SPEC = BertSpec(
    vocab_size=60,
    hidden_size=24,
    layers=12,
    heads=12,
    intermediate_size=48,
    max_positions=40,
    dropout=0.0,
    attention_dropout=0.0,
)


@pytest.mark.parametrize("lengths, bound", [((20, 20, 20, 20), 1.2), ((20, 17, 9, 3), 1.35)])
def test_a_step_launches_about_as_much_as_transformers(lengths, bound):
    """Count the launches of a forward and backward pass of twelve tiny layers.

    Attention runs one block per length, and lengths differ in the second case.
    """
    config = transformers.BertConfig(
        vocab_size=60, hidden_size=24, num_hidden_layers=12, num_attention_heads=12,
        intermediate_size=48, max_position_embeddings=40, hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0, num_labels=2,
    )  # fmt: skip
    theirs = transformers.BertForSequenceClassification(config).train().to(device())
    ours = Network(SPEC, Heads(outputs=2)).train().to(device())
    tokens, labels = torch.randint(5, 60, (4, 20)), torch.tensor([0, 1, 1, 0])
    mask = torch.arange(20) < torch.tensor(lengths)[:, None]
    inputs = [value.to(device()) for value in (tokens, torch.zeros_like(tokens), mask, labels)]
    with count_operations() as expected:
        theirs(inputs[0], attention_mask=inputs[2].long(), labels=inputs[3]).loss.backward()
    plan = ours.unpad(mask.sum(1).numpy(), 20, None)
    with count_operations() as actual:
        sent = plan.map_tensors(lambda tensor: tensor.to(device()))
        logits = ours.logits(*inputs[:3], sent)
        torch.nn.functional.cross_entropy(logits, inputs[3]).backward()
    assert not actual.waits
    assert actual.launches.total() <= bound * expected.launches.total()
