"""An unpadded batch has the vectors and gradients of a padded one, in every family."""

import math

import numpy as np
import pytest
import torch

from engine.config.families.bert import BertSpec
from engine.models.fast import encoding
from engine.models.fast.padded_blocks import AttentionShape
from engine.models.fast.unpadded import unpad
from engine.models.fast.unpadded_attention import attend, attend_sdpa
from engine.models.heads import Heads
from engine.models.lora import add_adapters
from engine.models.network import Network
from tests.engine.models.family_folders import EXAMPLES, OWN_NETWORKS

NO_DROPOUT = {"dropout": 0.0, "attention_dropout": 0.0}
SIZES = {
    "vocab_size": 40,
    "hidden_size": 16,
    "layers": 3,
    "heads": 2,
    "intermediate_size": 32,
    "max_positions": 26,
}
FAMILIES = {
    "bert": BertSpec(**SIZES, **NO_DROPOUT),
    "left-to-right": BertSpec(**SIZES, **NO_DROPOUT, causal=True),
    **{name: EXAMPLES[name].spec.model_copy(update=NO_DROPOUT) for name in OWN_NETWORKS},
}
PLACES = {
    "all": None,
    "some": torch.tensor([45, 3, 1, 24, 22, 3]),
    "most": torch.arange(20).repeat(2),
    "none": torch.empty(0, dtype=torch.int64),
}


def made(spec, **more) -> Network:
    torch.manual_seed(3)
    wide = spec.model_copy(update={"initializer_range": 0.3})
    return Network(wide, Heads(outputs=2, **more)).double().train()


def rectangle() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Rows of 20, 17, 9, 1 and 20 tokens, in an order that is not that of lengths."""
    drawn = torch.Generator().manual_seed(5)
    real = torch.arange(20) < torch.tensor([20, 17, 9, 1, 20])[:, None]
    tokens = torch.randint(2, 40, (5, 20), generator=drawn)
    tokens[~real] = 1  # RoBERTa's padding; the others do not look at it
    return tokens, torch.randint(0, 2, (5, 20), generator=drawn), real


def learned(network, batch, places) -> tuple[torch.Tensor, torch.Tensor, list[torch.Tensor]]:
    """Hidden states, pooled vectors, and gradients of a sum that distinguishes them."""
    network.zero_grad()
    tokens, segments, real = batch
    encoded = network.encode(tokens, segments, real, places)
    last = encoded.last
    if places is None and real is not None:
        last = last[real]
    total = torch.zeros(())
    for number, vectors in enumerate((last, encoded.pooled)):
        drawn = torch.Generator().manual_seed(number)
        weights = torch.randn(vectors.shape, generator=drawn, dtype=vectors.dtype)
        total = total + (vectors * weights).sum()
    total.backward()
    zero = [p.new_zeros(p.shape) if p.grad is None else p.grad for p in network.parameters()]
    return last.detach(), encoded.pooled.detach(), [g.clone() for g in zero]


@pytest.fixture
def with_padding(monkeypatch):
    """Makes the next encodings work on all places, as the paper has it."""
    return lambda: monkeypatch.setattr(encoding, "skips_padding", lambda *_: False)


def assert_alike(ours, theirs) -> None:
    for one, other in zip(ours[:2], theirs[:2], strict=True):
        assert torch.allclose(one, other, atol=1e-12)
    for one, other in zip(ours[2], theirs[2], strict=True):
        assert torch.allclose(one, other, atol=1e-11)


@pytest.mark.parametrize("family", FAMILIES)
def test_vectors_and_gradients_are_those_with_padding(family, with_padding):
    network = made(FAMILIES[family])
    tokens, segments, real = rectangle()
    given = [((tokens, segments, real), places) for places in PLACES.values()]
    given.append(((tokens, segments, None), PLACES["all"]))
    fast = [learned(network, *one) for one in given]
    with_padding()
    for one, ours in zip(given, fast, strict=True):
        assert_alike(ours, learned(network, *one))


@pytest.mark.parametrize("family", FAMILIES)
def test_rows_that_make_a_multiple_change_nothing(family):
    network = made(FAMILIES[family])
    for places in (PLACES["all"], PLACES["some"]):
        as_they_are = learned(network, rectangle(), places)
        network.encoder.token_multiple = 32
        lengths = rectangle()[2].sum(1).numpy()
        planned = network.unpad(lengths, 20, places)
        assert len(planned.layers.positions) == 96 and planned.added == 96 - lengths.sum()
        assert places is None or len(planned.last.query_positions) % 32 == 0
        rounded = learned(network, rectangle(), places)
        network.encoder.token_multiple = 1
        assert_alike(as_they_are, rounded)


@pytest.mark.parametrize("how", ["recomputed", "adapted"])
def test_it_goes_with_gradient_checkpointing_and_with_adapters(how, with_padding):
    network = made(FAMILIES["bert"])
    if how == "recomputed":
        network.encoder.activation_checkpointing = True
    else:
        add_adapters(network, 2, 16, 0.0, "all")
        for name, parameter in network.named_parameters():
            if "lora" in name:
                torch.nn.init.normal_(parameter)
        network.double()
    fast = learned(network, rectangle(), PLACES["some"])
    with_padding()
    assert_alike(fast, learned(network, rectangle(), PLACES["some"]))


def test_judging_without_padding_gives_the_same(with_padding):
    network = made(FAMILIES["bert"]).eval()
    batch = rectangle()
    with torch.inference_mode():
        fast = network.logits(*batch)
        assert (network.encode(*batch).last[~batch[2]] == 0).all()
        with_padding()
        assert torch.allclose(fast, network.logits(*batch), atol=1e-6)


@pytest.mark.parametrize("causal", [True, False])
def test_the_library_attends_as_our_own_way(causal):
    lengths = rectangle()[2].sum(1).numpy()
    planned = unpad(lengths, 20, AttentionShape(2, causal), PLACES["some"].numpy())
    for layout in (planned.layers, planned.last):
        where, count = layout.blocks, len(planned.indices)
        asking = count if layout.rows is None else len(layout.rows)
        shapes = ((asking, 16), (count, 16), (count, 16))
        q, k, v = (torch.randn(s, dtype=torch.float64, requires_grad=True) for s in shapes)
        ours, theirs = attend(q, k, v, where, 0.0), attend_sdpa(q, k, v, where, 0.0)
        assert torch.allclose(ours, theirs, atol=1e-12)
        weights = torch.randn_like(ours)
        for one, other in zip(
            torch.autograd.grad((ours * weights).sum(), (q, k, v)),
            torch.autograd.grad((theirs * weights).sum(), (q, k, v)),
            strict=True,
        ):
            assert torch.allclose(one, other, atol=1e-12)


def test_the_way_back_of_attention_drops_what_was_dropped():
    where = unpad(np.array([1, 3]), 3, AttentionShape(2)).layers.blocks
    q, k, v = (torch.randn(4, 4, dtype=torch.float64, requires_grad=True) for _ in range(3))

    def attended(*given):
        torch.manual_seed(8)
        return attend(*given, where, 0.3)

    assert not torch.allclose(attended(q, k, v), attend(q, k, v, where, 0.0))
    assert torch.autograd.gradcheck(attended, (q, k, v))


def test_dropped_weights_keep_the_mean():
    where = unpad(np.full(200, 16), 16, AttentionShape(2)).layers.blocks
    q, k, v = (x.requires_grad_() for x in torch.ones(3, 3200, 4))
    torch.manual_seed(8)
    out = attend(q, k, v, where, 0.25).detach()
    assert out.mean().item() == pytest.approx(1, abs=0.01)
    assert out.std().item() == pytest.approx(math.sqrt(0.25 / 0.75 / 16), rel=0.05)


def test_a_plan_that_is_made_before_is_the_one_that_is_made_then():
    network = made(FAMILIES["left-to-right"])
    tokens, segments, mask = rectangle()
    planned = network.unpad(mask.sum(1).numpy(), 20)
    assert torch.equal(
        network.logits(tokens, segments, mask, planned), network.logits(tokens, segments, mask)
    )
