"""Network sizes, attention paths, and initialisation."""

from typing import get_args

import numpy as np
import pytest
import torch
from torch import nn

from engine.config.families.bert import PRESETS
from engine.config.model import Activation, LayerParts
from engine.models.attention import Attention, fused_is_slow
from engine.models.bert import Bert
from engine.models.feed_forward import FEED_FORWARDS
from engine.models.heads import Heads
from engine.models.network import Network, meta_network
from engine.models.relative import Rotary
from tests.engine.models.family_folders import EXAMPLES, OWN_NETWORKS
from tests.engine.models.small import ALL, SPEC, batch, network
from tests.engine.models.test_families import random_batch

CLOSE = 1e-6
ENCODER = {"base": 109_482_240, "large": 335_141_888}  # as published, with the pooler
PRETRAINING = {"base": 110_106_428, "large": 336_226_108}  # and both heads of pre-training


def parameters(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


@pytest.mark.parametrize("size", ENCODER)
def test_sizes_equal_those_of_the_published_networks(size):
    assert parameters(meta_network(PRESETS[size], Heads(pooler=True))) == ENCODER[size]
    assert parameters(meta_network(PRESETS[size], ALL)) == PRETRAINING[size]


def test_a_meta_network_has_all_shapes_and_draws_no_numbers():
    before = torch.get_rng_state()
    empty = meta_network(SPEC, ALL)
    assert torch.equal(torch.get_rng_state(), before)
    real = {name: p.shape for name, p in Network(SPEC, ALL).named_parameters()}
    assert {name: p.shape for name, p in empty.named_parameters()} == real
    assert all(p.is_meta for p in empty.parameters())


def test_fresh_weights_have_the_distribution_of_the_paper():
    torch.manual_seed(3)
    model = Network(PRESETS["tiny"], Heads(mlm=True, outputs=2))
    for name, parameter in model.named_parameters():
        if name.endswith("norm.weight"):
            assert (parameter == 1).all(), name
        elif parameter.dim() == 1:
            assert (parameter == 0).all(), name
        elif parameter.numel() > 10_000:
            assert parameter.std().item() == pytest.approx(0.02, rel=0.05), name
            assert abs(parameter.mean().item()) < 1e-3, name


def test_the_decoder_is_the_token_embedding():
    model = network()
    assert model.mlm.decoder is model.encoder.embeddings.token.weight
    assert "mlm.decoder" not in dict(model.named_parameters())


@pytest.mark.parametrize("padded", [True, False])
def test_fused_and_explicit_attention_have_equal_gradients(padded):
    model = network()
    ids, segments, real = batch()
    inputs = (ids, segments, real if padded else None)
    vectors, gradients = [], []
    for keep in (False, True):
        model.zero_grad()
        encoded = model.encoder(*inputs, keep_weights=keep)
        assert len(encoded.weights) == keep * SPEC.layers
        vectors.append(encoded.last[real])
        vectors[-1].square().sum().backward()
        gradients.append([p.grad.clone() for p in model.encoder.layers.parameters()])
    assert torch.allclose(*vectors, atol=1e-6)
    for a, other in zip(*gradients, strict=True):
        assert torch.allclose(a, other, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("padded", [True, False])
@pytest.mark.parametrize("family", ["bert", "left-to-right", *OWN_NETWORKS])
def test_the_last_layer_can_compute_only_selected_tokens(family, padded):
    if family in OWN_NETWORKS:
        spec = EXAMPLES[family].spec
        ids, segments, real = random_batch(family)
    else:
        spec = SPEC.model_copy(update={"causal": family == "left-to-right"})
        ids, segments, real = batch(spec)
    model = network(Heads(outputs=3), spec)
    real = real if padded else None
    positions = torch.tensor([[4, 0], [0, 1], [2, 2]])
    with torch.no_grad():
        full = model.encoder(ids, segments, real)
        selected = model.encode_at(ids, segments, positions, real)
        pooled = model.encode_pooled(ids, segments, real)
    assert torch.allclose(selected, full.last[torch.arange(3)[:, None], positions], atol=CLOSE)
    assert torch.allclose(pooled, full.pooled, atol=CLOSE)


@pytest.mark.parametrize("dropout", [0.0, 0.1])
def test_a_network_trains_under_autocast_with_float32_weights(dropout):
    spec = SPEC.model_copy(update={"dropout": dropout, "attention_dropout": dropout})
    model = network(Heads(mlm=True, outputs=2), spec).train()
    ids, segments, real = batch()
    with torch.autocast("cpu", torch.bfloat16):
        encoded = model.encoder(ids, segments, real)
        loss = model.mlm(encoded.last[real]).float().logsumexp(-1).mean()
        loss = loss + model.task(encoded.pooled).float().square().mean()
    loss.backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.dtype == torch.float32, name
        assert parameter.grad.isfinite().all(), name


def test_training_with_dropout_uses_explicit_attention_on_a_cpu():
    attention = Attention(SPEC).train()
    q = torch.zeros(1, 2, 3, 8)
    assert fused_is_slow(attention, q)
    assert not fused_is_slow(attention.eval(), q)
    assert not fused_is_slow(attention.train(), q.to("meta"))


@pytest.mark.parametrize("activation", get_args(Activation))
def test_every_activation_of_the_spec_is_implemented(activation):
    spec = SPEC.model_copy(update={"activation": activation})
    ids, segments, real = batch()
    assert Bert(spec)(ids, segments, real).last.isfinite().all()


def test_heads_that_read_the_pooled_vector_add_the_pooler():
    assert Heads(outputs=2).pooler
    assert Heads(nsp=True).pooler
    assert not Heads(mlm=True).pooler
    model = network(Heads(mlm=True, outputs=3))
    assert model.heads == Heads(mlm=True, outputs=3)


def test_the_product_of_a_query_and_a_key_depends_on_their_distance():
    torch.manual_seed(1)
    rotary, (q, k) = Rotary(2, 100.0), torch.randn(2, 1, 8, dtype=torch.float64)
    products = [rotary(q, torch.tensor([n])) * rotary(k, torch.tensor([n + 3])) for n in (0, 7)]
    assert products[0].sum().item() == pytest.approx(products[1].sum().item())
    assert torch.equal(rotary(q, torch.tensor([0])), q)


def test_every_feed_forward_keeps_the_shape():
    for name, part in FEED_FORWARDS.items():
        assert part(SPEC)(torch.ones(2, 16)).shape == (2, 16), name


def test_windows_and_bases_follow_the_pattern_of_layers():
    parts = LayerParts(window=3, global_every=2, rotary_base=100.0, global_rotary_base=1_000.0)
    assert [parts.window_at(n) for n in range(4)] == [None, 3, None, 3]
    assert [parts.rotary_base_at(n) for n in range(2)] == [1_000.0, 100.0]
    assert LayerParts().window_at(0) is None
    assert np.all([LayerParts(window=5, global_every=3).window_at(n) == 5 for n in (1, 2, 4)])
