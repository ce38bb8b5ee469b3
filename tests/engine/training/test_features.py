"""Feature extraction: layers, probes, caching, and the layer sweep."""

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
from pydantic import ValidationError

from engine.cli import main
from engine.config.features import PAPER_VECTORS, Features
from engine.config.job import JobSpec
from engine.data.datasets.rows import Rows
from engine.data.datasets.store import resolve
from engine.messages.events import Measured
from engine.models import checkpoint
from engine.models.heads import Heads
from engine.models.network import Network
from engine.models.probe import SUM_OF_ALL, Probe, layer_indices, select_layers
from engine.runs.groups import SUMMARY, expand
from engine.tasks import checkpoint_learner
from engine.tasks.predicting import Predictor
from engine.training.context import RunContext
from engine.training.data.features import FeatureExtractor, attach_features
from engine.training.device.machine import choose_machine
from engine.training.estimate import estimate
from engine.training.loop import train
from engine.training.setup import set_up
from tests.engine.training.small import (
    NETWORK,
    adapted,
    answering,
    classifying,
    learning,
    new_run,
    tagging,
    trained,
    with_training,
)

SMALL = {"probe_size": 8, "epochs": 3, "learning_rate": 1e-2}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> JobSpec:
    """A job that starts from a checkpoint."""
    return adapted(tmp_path_factory.mktemp("base"), lora_rank=0)


def probe_job(base: JobSpec, vectors: str, **options: object) -> JobSpec:
    features = Features.model_validate({"vectors": vectors, **SMALL, **options})
    return expand(base.model_copy(update={"features": features}))[0]


def hidden(layers: int = 12) -> tuple[torch.Tensor, ...]:
    """Vectors filled with their layer index: embeddings 0, top layer 12."""
    return tuple(torch.full((1, 2, 3), float(layer)) for layer in range(layers + 1))


@pytest.mark.parametrize(
    "vectors, mixed",
    [
        ("embeddings", [0.0]),
        ("second-to-last", [11.0]),
        ("last", [12.0]),
        ("sum of last four", [9.0 + 10 + 11 + 12]),
        ("concatenation of last four", [9.0, 10.0, 11.0, 12.0]),
        ("sum of all", [float(sum(range(1, 13)))]),
        ("learned mix", [6.0]),  # initially the mean
        ("one layer", [5.0]),
    ],
)
def test_each_option_reads_its_layers(vectors, mixed):
    features = Features.model_validate({"vectors": vectors, "layer": 5})
    probe = Probe(features, 3, 12, 2, 0.0, False)
    result = probe._mix(select_layers(hidden(), probe.layers))
    expected = torch.tensor(mixed).repeat_interleave(3).expand(1, 2, -1)
    assert torch.allclose(result, expected)


def test_the_sum_of_all_layers_is_stored_as_one_vector():
    assert layer_indices(Features(vectors="sum of all"), 12) == (SUM_OF_ALL,)
    assert layer_indices(Features(vectors="sum of last four"), 2) == (1, 2), "only two layers exist"


@pytest.mark.parametrize("probe", ["linear", "bilstm"])
@pytest.mark.parametrize("pooling", ["mean", "first"])
def test_padding_changes_nothing(probe, pooling):
    features = Features.model_validate(
        {"vectors": "last", **SMALL, "probe": probe, "pooling": pooling}
    )
    network = Probe(features, 16, 2, 3, 0.1, False).eval()
    short = torch.randn(1, 5, 1, 16)
    padded = torch.cat([short, torch.randn(1, 3, 1, 16)], 1)
    real = torch.tensor([[True] * 5 + [False] * 3])
    assert torch.allclose(network(short, None), network(padded, real), atol=1e-6)


def test_cached_vectors_give_the_logits_of_the_encoder(base, tmp_path):
    job = probe_job(base, "learned mix")
    run = new_run(tmp_path / "run", job)
    prepared = set_up(RunContext(job, run))
    examples = prepared.data.phases[0].examples
    numbers = np.array([3, 0, 7])
    batch = prepared.data.learner.batch(
        examples, numbers, prepared.data.tokenizer, np.random.default_rng(0)
    )
    assert examples.add_vectors(batch, numbers) is batch, "nothing is cached yet"
    prepared.network.eval()
    with torch.inference_mode():
        from_ids = prepared.network.logits(batch.tokens, batch.segments, batch.attention_mask)
    attach_features(RunContext(job, run), prepared, choose_machine(job.hardware))
    cached = examples.add_vectors(batch, numbers)
    assert cached.tokens.shape == (*batch.tokens.shape, NETWORK.layers + 1, NETWORK.hidden_size)
    with torch.inference_mode():
        actual = prepared.network.logits(cached.tokens, cached.segments, cached.attention_mask)
    assert torch.allclose(actual, from_ids, atol=1e-5)
    assert cached.token_count == batch.token_count
    assert [len(part.tokens) for part in cached.parts(2)] == [2, 1]


def test_vectors_are_computed_once(base, tmp_path, monkeypatch):
    job = probe_job(base, "last")
    run = new_run(tmp_path / "run", job)
    prepared, machine = set_up(RunContext(job, run)), choose_machine(job.hardware)
    attach_features(RunContext(job, run), prepared, machine)
    files = sorted((run.cache / "vectors").rglob("*.npy"))
    assert [file.name for file in files] == ["layer-002.npy"] * 2, "training and validation rows"
    before = [file.read_bytes() for file in files]
    original = FeatureExtractor._compute
    monkeypatch.setattr(FeatureExtractor, "_compute", lambda *_: pytest.fail("computed again"))
    attach_features(RunContext(job, run), prepared, machine)
    monkeypatch.setattr(FeatureExtractor, "_compute", original)
    for file in files:
        file.unlink()
    attach_features(RunContext(job, run), prepared, machine)
    assert [file.read_bytes() for file in files] == before, "safe to delete"
    with torch.no_grad():
        prepared.network.encoder.embeddings.token.weight[7] += 1
    attach_features(RunContext(job, run), prepared, machine)
    assert len(list((run.cache / "vectors").rglob("*.npy"))) == 4, "other weights, other vectors"


def test_a_probe_learns_and_the_encoder_is_unchanged(base, tmp_path):
    """The checkpoint holds the encoder for any program and the probe for ours."""
    transformers = pytest.importorskip("transformers")
    job = probe_job(base, "last", epochs=8, learning_rate=3e-2)
    job = with_training(job, save_every=0)
    run = trained(tmp_path / "run", job)
    assert base.base_model.kind == "checkpoint"
    before = dict(checkpoint.load(base.base_model.path).network.named_parameters())
    last = run.checkpoint_folders()[-1]
    loaded = checkpoint.load(last)
    assert not loaded.report.missing and not loaded.report.unexpected
    assert loaded.network.heads.features == job.features.probe_only()
    assert loaded.labels == ("bad", "good")
    for name, weight in loaded.network.named_parameters():
        if name.startswith("encoder."):
            assert torch.equal(weight, before[name]), name
    theirs = transformers.AutoModel.from_pretrained(last, add_pooling_layer=False).eval()
    tokens = torch.arange(24).view(2, 12) + 5
    with torch.inference_mode():
        ours = loaded.network.encoder(tokens, torch.zeros_like(tokens)).last
        assert (theirs(tokens).last_hidden_state - ours).abs().max() < 1e-5

    rows = Rows(["i loved this fine story", "a dull cold film"], None, ["good", "bad"])
    predictor = Predictor(last)
    assert [answer["label"] for answer in predictor.predict(rows)] == ["good", "bad"]
    other_run = new_run(tmp_path / "again", probe_job(base, "embeddings"))
    start = {"kind": "checkpoint", "path": last}
    other_job = JobSpec.model_validate(other_run.job().model_dump() | {"base_model": start})
    fresh = set_up(RunContext(other_job, other_run)).network
    assert fresh.probe is not None and fresh.probe.layers == (0,), "a new probe"
    tuned = base.model_copy(
        update={"base_model": base.base_model.model_copy(update={"path": last})}
    )
    plain = set_up(RunContext(tuned, new_run(tmp_path / "tuned", tuned))).network
    assert plain.probe is None and plain.task is not None


def test_a_damaged_probe_is_ignored(base, tmp_path):
    network = Network(
        NETWORK, Heads(outputs=2, features=Features(vectors="last", probe_size=8).probe_only())
    )
    assert base.base_model.kind == "checkpoint"
    tokenizer = checkpoint.load(base.base_model.path).tokenizer
    checkpoint.save(tmp_path / "model", network, tokenizer, ("a", "b"))
    assert checkpoint.load(tmp_path / "model").network.probe is not None
    config = tmp_path / "model" / "config.json"
    (tmp_path / "model" / "manifest.json").unlink()
    content = json.loads(config.read_text())
    for damage in ({"probe_size": -8}, {"vectors": ["last"]}, {"probe_size": 10**9}, {"kind": []}):
        config.write_text(json.dumps(content | {"probe": content["probe"] | damage}))
        loaded = checkpoint.load(tmp_path / "model")
        assert loaded.network.probe is None or damage == {"kind": []}


def test_probes_need_a_base_model_and_no_adapters(tmp_path, base):
    from_scratch = classifying(tmp_path).model_dump() | {"features": {"vectors": "last"}}
    with pytest.raises(ValidationError, match="needs a pre-trained base model"):
        JobSpec.model_validate(from_scratch)
    with_lora = base.model_dump() | {"features": {"vectors": "last"}, "training": {"lora_rank": 4}}
    with pytest.raises(ValidationError, match="has no LoRA adapters"):
        JobSpec.model_validate(with_lora)


def test_a_layer_sweep_expands_to_seven_runs(base):
    sweep = Features.model_validate({"vectors": "layer sweep", **SMALL})
    jobs = expand(base.model_copy(update={"features": sweep}), Path("/vectors"))
    assert tuple(job.features.vectors for job in jobs) == PAPER_VECTORS and len(jobs) == 7
    for job in jobs:
        assert job.group is not None and job.group.vectors == PAPER_VECTORS
        assert job.features.cache == Path("/vectors") / job.group.id
        rate = 1e-2 if job.features.trains_probe else base.training.learning_rate
        assert job.training.learning_rate == rate
        assert JobSpec.model_validate(job.model_dump()) == job
    seeded = base.training.model_copy(update={"seeds": 2})
    assert len(expand(base.model_copy(update={"features": sweep, "training": seeded}))) == 14


def test_the_train_command_runs_a_layer_sweep(base, tmp_path, capsys, monkeypatch):
    """One pass of the encoder serves all six; the table has seven rows."""
    passes = []
    original = FeatureExtractor._compute

    def recording_compute(*args: object) -> None:
        passes.append(args[4])
        original(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(FeatureExtractor, "_compute", recording_compute)
    sweep = Features.model_validate({"vectors": "layer sweep", **SMALL, "epochs": 1})
    training = base.training.model_copy(update={"steps": 2, "save_every": 0})
    job = base.model_copy(update={"features": sweep, "training": training})
    (tmp_path / "job.json").write_text(job.model_dump_json())
    into = tmp_path / "into"
    assert main(["train", str(tmp_path / "job.json"), "--into", str(into)]) == 0
    assert passes == [[0, 1, 2, SUM_OF_ALL]] * 2, (
        "for the training rows and for the validation rows"
    )
    summary = json.loads((into / SUMMARY).read_bytes())
    assert [row["vectors"] for row in summary["rows"]] == list(PAPER_VECTORS)
    assert all(row["metrics"]["validation_accuracy"]["runs"] == 1 for row in summary["rows"])
    assert (into / "sum-of-last-four").is_dir() and not (into / "vectors").exists()
    output = capsys.readouterr().out
    assert "concatenation of last four\n  validation_" in output


def test_a_layer_sweep_can_be_estimated(base):
    cost = estimate(probe_job(base, "last"), lambda _: None)
    assert cost.seconds > 0 and cost.steps == 3 * 11
    sweep = Features.model_validate({"vectors": "layer sweep", **SMALL})
    total = estimate(base.model_copy(update={"features": sweep}), lambda _: None)
    assert total.seconds > total.seconds_per_step * total.steps * 7 * 0.99


@pytest.mark.parametrize("task", ["tags", "answers", "choices"])
def test_every_task_can_train_a_probe(tmp_path, task):
    """A saved probe predicts from token ids as it did from cached features."""
    jobs = {"tags": tagging, "answers": answering}
    make = jobs.get(task, partial(learning, task))
    first = make(tmp_path, steps=2)
    base = trained(tmp_path / "base", first)
    start = {"kind": "checkpoint", "path": base.checkpoint_folders()[-1]}
    features = Features.model_validate({"vectors": "concatenation of last four", **SMALL})
    plain = first.model_dump() | {"base_model": start, "features": features}
    plain["training"] |= {"steps": 3, "evaluate_every": 3}
    (job,) = expand(JobSpec.model_validate(plain))
    events: list[object] = []
    run = new_run(tmp_path / "run", job)
    train(job, run, events.append)
    measured = {e.name: e.value for e in events if isinstance(e, Measured) and e.step == 3}

    last = run.checkpoint_folders()[-1]
    loaded = checkpoint.load(last)
    assert loaded.network.probe is not None and not loaded.report.unexpected
    learner = checkpoint_learner(loaded)
    assert learner is not None
    dev = resolve(job.data, run.dataset).rows("validation")
    actual = Predictor(last, job.training.max_length).evaluate(dev).metrics()
    metric = learner.best_metric
    assert actual[metric] == pytest.approx(measured[f"validation_{metric}"], abs=1e-5)
