"""LoRA: the formula, the trained parameters, the files, and exact resumes."""

import pytest
import safetensors.torch
import torch
from pydantic import ValidationError

from engine.config.job import JobSpec
from engine.messages.events import Noted
from engine.models import checkpoint
from engine.models.heads import Heads
from engine.models.lora import LINEARS, LoraLinear, add_adapters, merge_adapters
from engine.models.network import Network
from engine.training.checkpoints import RESUME, TRAINED_WEIGHTS
from tests.engine.training.small import (
    NETWORK,
    classifying,
    resumed,
    trained,
    with_hardware,
    with_training,
)
from tests.engine.training.small import adapted as adapted_job
from tests.engine.training.test_loop import final, metrics

LORA = {"lora_rank": 3, "lora_alpha": 6, "lora_dropout": 0.1}


def adapted_network(which: str = "all", frozen: int = 0) -> Network:
    """A network whose adapters have learned something."""
    network = Network(NETWORK, Heads(outputs=2)).eval()
    add_adapters(network, 3, 6, 0.1, which, frozen)
    for name, parameter in network.named_parameters():
        if name.endswith("lora_up"):
            torch.nn.init.normal_(parameter, std=0.3)
    return network


def logits(network: Network) -> torch.Tensor:
    tokens = torch.arange(24).view(2, 12) + 5
    with torch.inference_mode():
        pooled = network.encoder(tokens, torch.zeros_like(tokens)).pooled
        assert network.task is not None
        return network.task(pooled)


@pytest.mark.parametrize("which", LINEARS)
def test_merged_weights_give_the_same_logits(which):
    network = adapted_network(which)
    plain = Network(NETWORK, Heads(outputs=2)).eval()
    plain.load_state_dict(
        merge_adapters(network) | {"task.dense.bias": network.task.dense.bias}  # type: ignore[union-attr]
    )
    assert (logits(plain) - logits(network)).abs().max() < 1e-5
    for module in network.modules():
        if isinstance(module, LoraLinear):  # W + (alpha / r) B A, by the formula
            sums = module.weight + 6 / 3 * module.lora_up @ module.lora_down
            assert torch.allclose(module.merged_weight(), sums, atol=1e-6)


def test_only_adapters_and_heads_are_trained_and_frozen_layers_get_none():
    network = adapted_network("query and value", frozen=1)
    names = {name for name, p in network.named_parameters() if p.requires_grad}
    heads = {n for n in names if n.startswith(("task.", "encoder.pooler."))}
    assert names - heads == {
        f"encoder.layers.1.attention.{part}.lora_{direction}"
        for part in ("query", "value")
        for direction in ("up", "down")
    }
    assert len(heads) == 4


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> JobSpec:
    return adapted_job(tmp_path_factory.mktemp("base"), **LORA, steps=12, dropout=0.1)


def test_a_checkpoint_holds_merged_weights_and_the_base(job, tmp_path):
    run = trained(tmp_path / "run", job)
    assert job.base_model.kind == "checkpoint"
    before = dict(checkpoint.load(job.base_model.path).network.named_parameters())
    last = run.checkpoint_folders()[-1]
    loaded = checkpoint.load(last)
    assert not loaded.report.missing and not loaded.report.unexpected
    raw = safetensors.torch.load_file(last / RESUME / TRAINED_WEIGHTS)
    for name, weight in loaded.network.named_parameters():
        if name.endswith(("query.weight", "value.weight")):
            module = name.removesuffix(".weight")
            assert torch.equal(raw[name], before[name]), "the base is unchanged"
            sums = raw[name] + 2 * raw[f"{module}.lora_up"] @ raw[f"{module}.lora_down"]
            assert (weight - sums).abs().max() < 1e-6
            assert not torch.equal(weight, before[name])
        elif name.startswith(("encoder.embeddings.", "encoder.layers.")):
            assert torch.equal(weight, before[name]), name
            assert name not in raw
        elif name.startswith("task."):
            assert not torch.equal(weight, before[name]), name
    adapters = 2 * 2 * 3 * 2 * NETWORK.hidden_size  # layers, matrices, rank, A and B
    head = 2 * NETWORK.hidden_size + 2 + NETWORK.hidden_size**2 + NETWORK.hidden_size
    notes = [e.text for e in run.events_after(0)[0] if isinstance(e, Noted)]
    assert any(text.startswith(f"Training {adapters + head:,} of ") for text in notes), notes


def test_a_stop_and_a_resume_change_nothing(job, tmp_path):
    job = with_hardware(with_training(job, ema_decay=0.9), precision="bf16")
    uninterrupted, stopped = trained(tmp_path / "calm", job), resumed(tmp_path / "stopped", job, 8)
    assert final(stopped) == final(uninterrupted)
    assert metrics(stopped) == metrics(uninterrupted)


def test_cached_low_precision_weights_give_the_same_run(job, tmp_path, monkeypatch):
    job = with_hardware(job, precision="bf16")
    cached = trained(tmp_path / "once", job)
    calls = list[object]()
    monkeypatch.setattr(
        "engine.training.start.cache_frozen_weights", lambda *arguments: calls.append(arguments)
    )
    plain = trained(tmp_path / "always", job)
    assert len(calls) == 1 and final(cached) == final(plain) and metrics(cached) == metrics(plain)


def test_fresh_weights_are_not_adapted(tmp_path):
    with pytest.raises(ValidationError, match="LoRA needs a pre-trained model"):
        JobSpec.model_validate(classifying(tmp_path, lora_rank=4).model_dump())
