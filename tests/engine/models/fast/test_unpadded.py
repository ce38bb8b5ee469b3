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
POSITIONS = {
    "all": None,
    "some": torch.tensor([45, 3, 1, 24, 22, 3]),
    "most": torch.arange(20).repeat(2),
    "none": torch.empty(0, dtype=torch.int64),
}


def build_network(spec, **heads) -> Network:
    torch.manual_seed(3)
    wide = spec.model_copy(update={"initializer_range": 0.3})
    return Network(wide, Heads(outputs=2, **heads)).double().train()


def padded_batch() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Rows of 20, 17, 9, 1 and 20 tokens, not sorted by length."""
    generator = torch.Generator().manual_seed(5)
    real = torch.arange(20) < torch.tensor([20, 17, 9, 1, 20])[:, None]
    tokens = torch.randint(2, 40, (5, 20), generator=generator)
    tokens[~real] = 1  # RoBERTa's padding; the others ignore it
    return tokens, torch.randint(0, 2, (5, 20), generator=generator), real


def vectors_and_gradients(network, batch, positions):
    """Hidden states, pooled vectors, and gradients of a sum that distinguishes them."""
    network.zero_grad()
    tokens, segments, real = batch
    encoded = network.encode(tokens, segments, real, positions)
    last = encoded.last
    if positions is None and real is not None:
        last = last[real]
    total = torch.zeros(())
    for number, vectors in enumerate((last, encoded.pooled)):
        generator = torch.Generator().manual_seed(number)
        weights = torch.randn(vectors.shape, generator=generator, dtype=vectors.dtype)
        total = total + (vectors * weights).sum()
    total.backward()
    gradients = [p.new_zeros(p.shape) if p.grad is None else p.grad for p in network.parameters()]
    return last.detach(), encoded.pooled.detach(), [g.clone() for g in gradients]


@pytest.fixture
def with_padding(monkeypatch):
    """`with_padding()` makes later encodings compute padding too, as in the paper."""
    return lambda: monkeypatch.setattr(encoding, "skips_padding", lambda *_: False)


def assert_close(ours, theirs) -> None:
    for a, other in zip(ours[:2], theirs[:2], strict=True):
        assert torch.allclose(a, other, atol=1e-12)
    for a, other in zip(ours[2], theirs[2], strict=True):
        assert torch.allclose(a, other, atol=1e-11)


@pytest.mark.parametrize("family", FAMILIES)
def test_vectors_and_gradients_equal_those_with_padding(family, with_padding):
    network = build_network(FAMILIES[family])
    tokens, segments, real = padded_batch()
    inputs = [((tokens, segments, real), positions) for positions in POSITIONS.values()]
    inputs.append(((tokens, segments, None), POSITIONS["all"]))
    fast = [vectors_and_gradients(network, *entry) for entry in inputs]
    with_padding()
    for item, ours in zip(inputs, fast, strict=True):
        assert_close(ours, vectors_and_gradients(network, *item))


@pytest.mark.parametrize("family", FAMILIES)
def test_rounding_up_the_number_of_tokens_changes_nothing(family):
    network = build_network(FAMILIES[family])
    for positions in (POSITIONS["all"], POSITIONS["some"]):
        unrounded = vectors_and_gradients(network, padded_batch(), positions)
        network.encoder.token_multiple = 32
        lengths = padded_batch()[2].sum(1).numpy()
        plan = network.unpad(lengths, 20, positions)
        assert len(plan.layout.positions) == 96 and plan.added_rows == 96 - lengths.sum()
        assert positions is None or len(plan.last_layout.query_positions) % 32 == 0
        rounded = vectors_and_gradients(network, padded_batch(), positions)
        network.encoder.token_multiple = 1
        assert_close(unrounded, rounded)


@pytest.mark.parametrize("variant", ["recomputed", "adapted"])
def test_checkpointing_and_adapters_give_the_same_gradients(variant, with_padding):
    network = build_network(FAMILIES["bert"])
    if variant == "recomputed":
        network.encoder.activation_checkpointing = True
    else:
        add_adapters(network, 2, 16, 0.0, "all")
        for name, parameter in network.named_parameters():
            if "lora" in name:
                torch.nn.init.normal_(parameter)
        network.double()
    fast = vectors_and_gradients(network, padded_batch(), POSITIONS["some"])
    with_padding()
    assert_close(fast, vectors_and_gradients(network, padded_batch(), POSITIONS["some"]))


def test_inference_without_padding_gives_the_same_logits(with_padding):
    network = build_network(FAMILIES["bert"]).eval()
    batch = padded_batch()
    with torch.inference_mode():
        fast = network.logits(*batch)
        assert (network.encode(*batch).last[~batch[2]] == 0).all()
        with_padding()
        assert torch.allclose(fast, network.logits(*batch), atol=1e-6)


@pytest.mark.parametrize("fixed_widths", [True, False])
@pytest.mark.parametrize("causal", [True, False])
def test_sdpa_equals_our_attention(causal, fixed_widths):
    lengths = padded_batch()[2].sum(1).numpy()
    shape = AttentionShape(2, causal, fixed_widths=fixed_widths)
    plan = unpad(lengths, 20, shape, POSITIONS["some"].numpy())
    for layout in (plan.layout, plan.last_layout):
        blocks, count = layout.blocks, len(plan.indices)
        query_count = count if layout.rows is None else len(layout.rows)
        shapes = ((query_count, 16), (count, 16), (count, 16))
        q, k, v = (torch.randn(s, dtype=torch.float64, requires_grad=True) for s in shapes)
        ours, theirs = attend(q, k, v, blocks, 0.0), attend_sdpa(q, k, v, blocks, 0.0)
        assert torch.allclose(ours, theirs, atol=1e-12)
        weights = torch.randn_like(ours)
        for a, other in zip(
            torch.autograd.grad((ours * weights).sum(), (q, k, v)),
            torch.autograd.grad((theirs * weights).sum(), (q, k, v)),
            strict=True,
        ):
            assert torch.allclose(a, other, atol=1e-12)


def test_the_backward_pass_uses_the_dropout_mask_of_the_forward_pass():
    blocks = unpad(np.array([1, 3]), 3, AttentionShape(2)).layout.blocks
    q, k, v = (torch.randn(4, 4, dtype=torch.float64, requires_grad=True) for _ in range(3))

    def attend_seeded(*inputs):
        torch.manual_seed(8)
        return attend(*inputs, blocks, 0.3)

    assert not torch.allclose(attend_seeded(q, k, v), attend(q, k, v, blocks, 0.0))
    assert torch.autograd.gradcheck(attend_seeded, (q, k, v))


def test_dropped_weights_keep_the_mean():
    blocks = unpad(np.full(200, 16), 16, AttentionShape(2)).layout.blocks
    q, k, v = (x.requires_grad_() for x in torch.ones(3, 3200, 4))
    torch.manual_seed(8)
    out = attend(q, k, v, blocks, 0.25).detach()
    assert out.mean().item() == pytest.approx(1, abs=0.01)
    assert out.std().item() == pytest.approx(math.sqrt(0.25 / 0.75 / 16), rel=0.05)


def test_a_precomputed_plan_gives_the_same_logits():
    network = build_network(FAMILIES["left-to-right"])
    tokens, segments, mask = padded_batch()
    plan = network.unpad(mask.sum(1).numpy(), 20)
    assert torch.equal(
        network.logits(tokens, segments, mask, plan), network.logits(tokens, segments, mask)
    )
