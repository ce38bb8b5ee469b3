"""The parts that layers are made of, held against ModernBERT with weights drawn at random.

Its layers have every part that BERT's do not: norms of what is read, positions as angles, a gate,
windows, and no biases; here they are put together without the family.
"""

import numpy as np
import pytest
import torch
from torch import nn
from transformers import ModernBertConfig, ModernBertModel

from engine.checkpoints.outline import outline, parameters
from engine.config.model import EncoderSpec, LayerParts
from engine.models.embeddings import TokenPositionEmbeddings
from engine.models.encoder import Encoder, Layer
from engine.models.fast.encoding import encode, encode_at
from engine.models.feed_forward import FEED_FORWARDS
from engine.models.relative import Rotary

WINDOW, EVERY, LAYERS = 3, 2, 4


class ModernSpec(EncoderSpec):
    """A family as the tests need it: what it is made of, and no more."""

    family = "modern"

    @property
    def parts(self) -> LayerParts:
        return LayerParts(
            norm="pre",
            positions="rotary",
            feed_forward="gated",
            biases=False,
            norm_biases=False,
            window=WINDOW,
            all_every=EVERY,
            rotary_base=100.0,
            rotary_base_all=1_000.0,
        )


SPEC = ModernSpec(
    vocab_size=50,
    hidden_size=32,
    layers=LAYERS,
    heads=4,
    intermediate_size=48,
    max_positions=64,
    layer_norm_eps=1e-5,
    dropout=0.0,
    attention_dropout=0.0,
)


def theirs() -> ModernBertModel:
    torch.manual_seed(3)
    config = ModernBertConfig(
        vocab_size=50,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=LAYERS,
        num_attention_heads=4,
        max_position_embeddings=64,
        local_attention=2 * WINDOW,
        global_attn_every_n_layers=EVERY,
        pad_token_id=0,
        attn_implementation="eager",
        initializer_range=0.3,
        rope_parameters={
            "full_attention": {"rope_type": "default", "rope_theta": 1_000.0},
            "sliding_attention": {"rope_type": "default", "rope_theta": 100.0},
        },
    )
    return ModernBertModel(config).eval()


@torch.no_grad()
def ours(model: ModernBertModel) -> Encoder:
    """An encoder of our parts with the weights of that one."""
    layers = [Layer(SPEC, number) for number in range(LAYERS)]
    layers[0].attention.norm = nn.Identity()  # the embeddings are normalised already
    made = Encoder(
        TokenPositionEmbeddings(SPEC, SPEC.hidden_size),
        layers,
        None,
        norm=nn.LayerNorm(SPEC.hidden_size, eps=SPEC.layer_norm_eps, bias=False),
    )
    stored = model.state_dict()
    named = {
        "embeddings.token.weight": stored["embeddings.tok_embeddings.weight"],
        "embeddings.norm.weight": stored["embeddings.norm.weight"],
        "norm.weight": stored["final_norm.weight"],
    }
    for number in range(LAYERS):
        name = f"layers.{number}."
        query, key, value = stored[f"{name}attn.Wqkv.weight"].chunk(3)
        wide, gate = stored[f"{name}mlp.Wi.weight"].chunk(2)
        named |= {
            f"{name}attention.query.weight": query,
            f"{name}attention.key.weight": key,
            f"{name}attention.value.weight": value,
            f"{name}attention.output.weight": stored[f"{name}attn.Wo.weight"],
            f"{name}feed_forward.wide.weight": wide,
            f"{name}feed_forward.gate.weight": gate,
            f"{name}feed_forward.narrow.weight": stored[f"{name}mlp.Wo.weight"],
            f"{name}feed_forward.norm.weight": stored[f"{name}mlp_norm.weight"],
        }
        if number:
            named[f"{name}attention.norm.weight"] = stored[f"{name}attn_norm.weight"]
    made.load_state_dict(named)
    return made.eval()


def batch() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Sequences of 20, 11, 2 and 20 tokens."""
    generator = torch.Generator().manual_seed(5)
    tokens = torch.randint(1, 50, (4, 20), generator=generator)
    mask = torch.arange(20) < torch.tensor([20, 11, 2, 20])[:, None]
    return tokens, torch.zeros_like(tokens), mask


@torch.no_grad()
def test_an_encoder_of_every_other_part_says_what_modernbert_says():
    model = theirs()
    tokens, segments, mask = batch()
    other = model(tokens, mask.long(), output_hidden_states=True, output_attentions=True)
    made = ours(model)
    for keep_weights in (True, False):
        found = made(tokens, segments, mask, keep_weights=keep_weights, keep_hidden=True)
        assert found.last.isfinite().all()
        assert torch.allclose(found.last[mask], other.last_hidden_state[mask], atol=1e-5)
        for one, right in zip(found.hidden[:-1], other.hidden_states[:-1], strict=True):
            assert torch.allclose(one[mask], right[mask], atol=1e-5)
        for one, right in zip(found.weights, other.attentions, strict=keep_weights):
            rows = mask[:, None, :, None]
            assert torch.allclose(one * rows, right * rows, atol=1e-5)
    alone = made(tokens[:1], segments[:1]).last[0]
    assert torch.allclose(alone, other.last_hidden_state[0], atol=1e-5)


@pytest.mark.parametrize("places", [None, torch.tensor([3, 41, 0, 20])], ids=["all", "some"])
def test_every_other_part_works_without_padding(places):
    made = ours(theirs()).double().train()
    tokens, segments, mask = batch()
    gradients = []
    for way in (encode, lambda encoder, t, s, m, p: encoder(t, s, m)):
        made.zero_grad()
        last = way(made, tokens, segments, mask, places).last
        if last.dim() == 3:
            last = last[mask] if places is None else last.flatten(0, 1)[places]
        (last * torch.arange(last.numel()).view(last.shape).cos()).sum().backward()
        gradients.append([last.detach(), *(p.grad.clone() for p in made.parameters())])
    for fast, plain in zip(*gradients, strict=True):
        assert torch.allclose(fast, plain, atol=1e-11)


@torch.no_grad()
def test_every_other_part_works_where_the_last_layer_gives_some_tokens_alone():
    made, (tokens, segments, mask) = ours(theirs()), batch()
    positions = torch.tensor([[4, 0], [0, 10], [1, 0], [19, 2]])
    whole = made(tokens, segments, mask).last[torch.arange(4)[:, None], positions]
    some = encode_at(made, tokens, segments, positions, mask)
    assert torch.allclose(some, whole, atol=1e-5)


def test_what_a_query_and_a_key_say_depends_on_their_distance():
    torch.manual_seed(1)
    rotary, (q, k) = Rotary(2, 100.0), torch.randn(2, 1, 8, dtype=torch.float64)
    near = [rotary(q, torch.tensor([n])) * rotary(k, torch.tensor([n + 3])) for n in (0, 7)]
    assert near[0].sum().item() == pytest.approx(near[1].sum().item())
    assert torch.equal(rotary(q, torch.tensor([0])), q)


def test_every_feed_forward_is_chosen_by_its_name():
    for name, part in FEED_FORWARDS.items():
        made = part(SPEC)(torch.ones(2, 32))
        assert made.shape == (2, 32), name


def test_windows_and_bases_follow_the_pattern_of_layers():
    parts = SPEC.parts
    assert [parts.window_at(n) for n in range(4)] == [None, WINDOW, None, WINDOW]
    assert [parts.rotary_base_at(n) for n in range(2)] == [1_000.0, 100.0]
    assert LayerParts().window_at(0) is None
    assert np.all([LayerParts(window=5, all_every=3).window_at(n) == 5 for n in (1, 2, 4)])


def test_the_outline_counts_every_other_part():
    blocks = outline(SPEC)
    made = ours(theirs())
    assert parameters(blocks) == sum(p.numel() for p in made.parameters()) + SPEC.hidden_size
