"""Norms, mean and rollout compared with NumPy and transformers; query, key and weight."""

from pathlib import Path

import numpy as np
import pytest
import torch
from transformers.models.modernbert.modeling_modernbert import apply_rotary_pos_emb

from engine.errors import StudioError
from engine.explore.attention import weights
from engine.explore.measures import query_key
from engine.messages.explore.attention import ShowQueryKey
from engine.models.checkpoint import load
from tests.engine.models.small import SPEC, folder

CLOSE = 1e-5
TEXT, PAIR = "A quiet film.", "Nobody laughs."
LAYERS, HEADS = 3, 4


def parts(known, layer):
    """The query, key, value and output modules of one layer of transformers."""
    family, model = known.family, known.model
    match family:
        case "distilbert":
            attention = model.distilbert.transformer.layer[layer].attention
            return attention.q_lin, attention.k_lin, attention.v_lin, attention.out_lin
        case "albert":
            attention = model.albert.encoder.albert_layer_groups[0].albert_layers[0].attention
            return attention.query, attention.key, attention.value, attention.dense
        case "deberta-v2":
            attention = model.deberta.encoder.layer[layer].attention
            return (
                attention.self.query_proj,
                attention.self.key_proj,
                attention.self.value_proj,
                attention.output.dense,
            )
        case "modernbert":
            attention = model.model.layers[layer].attn
            result = [torch.nn.Linear(24, 24, bias=False) for _ in range(3)]
            for part, weight in zip(result, attention.Wqkv.weight.chunk(3), strict=True):
                part.weight = torch.nn.Parameter(weight)
            return *result, attention.Wo
        case "nomic_bert" | "gte":
            attention = getattr(model, family).layers[layer].self_attn
            return attention.q_proj, attention.k_proj, attention.v_proj, attention.o_proj
        case "mpnet":
            attention = model.mpnet.encoder.layer[layer].attention.attn
            return attention.q, attention.k, attention.v, attention.o
        case _:
            attention = getattr(model, family).encoder.layer[layer].attention
            return (
                attention.self.query,
                attention.self.key,
                attention.self.value,
                attention.output.dense,
            )


def by_head(x):
    """[T, D] → [H, T, K]"""
    return x.reshape(len(x), HEADS, -1).transpose(1, 0, 2)


def reference_states(known):
    """Hidden vectors [L + 1, T, D] and attention [L, H, T, T] of transformers as float64."""
    out = known.run(
        known.encode_text(TEXT, PAIR), output_hidden_states=True, output_attentions=True
    )
    hidden = torch.cat(out.hidden_states).double().numpy()
    return hidden, torch.cat(out.attentions).double().numpy()


def linear(module, x):
    product = x @ module.weight.detach().double().numpy().T
    return product if module.bias is None else product + module.bias.detach().double().numpy()


def normalised_input(known, layer, hidden):
    """The input of queries, keys and values; pre-norm layers normalise it."""
    if known.family != "modernbert" or layer == 0:
        return hidden[layer]
    norm = known.model.model.layers[layer].attn_norm
    return norm(torch.tensor(hidden[layer]).float()).detach().double().numpy()


def rotate(known, layer, x):
    """Apply rotary embeddings to [H, T, K], if the family has them."""
    if known.checkpoint.spec.parts.positions != "rotary":
        return x
    model, inputs = known.model.base_model, torch.tensor(x).float()[None]
    kind = (model.config.layer_types[layer],) if known.family == "modernbert" else ()
    cos, sin = model.rotary_emb(inputs, torch.arange(x.shape[1])[None], *kind)
    return apply_rotary_pos_emb(inputs, inputs, cos, sin)[0][0].double().numpy()


def test_weights_and_their_mean_match_transformers(known):
    _, theirs = reference_states(known)
    tokens, ours = weights(known.checkpoint, TEXT, PAIR)
    assert ours.shape == (LAYERS, HEADS, len(tokens), len(tokens))
    assert np.abs(ours - theirs).max() < CLOSE
    _, mean = weights(known.checkpoint, TEXT, PAIR, "head_average")
    assert np.abs(mean[:, 0] - theirs.mean(1)).max() < CLOSE


def test_rollout_is_the_product_of_half_attention_and_half_identity(known):
    _, theirs = reference_states(known)
    _, ours = weights(known.checkpoint, TEXT, PAIR, "rollout")
    rolled = np.eye(theirs.shape[-1])
    for layer, mean in enumerate(theirs.mean(1)):
        mixed = 0.5 * mean + 0.5 * np.eye(len(mean))
        rolled = mixed @ rolled
        assert np.abs(ours[layer, 0] - rolled).max() < CLOSE
        assert np.allclose(ours[layer, 0].sum(-1), 1, atol=CLOSE)


def test_norms_match_the_weighted_values(known):
    """Each vector α f(x) is computed in full, without factoring out α."""
    hidden, theirs = reference_states(known)
    _, ours = weights(known.checkpoint, TEXT, PAIR, "norms")
    for layer in range(LAYERS):
        _, _, value, output = parts(known, layer)
        values = by_head(linear(value, normalised_input(known, layer, hidden)))  # [H, T, K]
        matrix = output.weight.detach().double().numpy()  # [D, D]
        for head in range(HEADS):
            columns = matrix[:, head * 6 : (head + 1) * 6]
            weighted = (
                theirs[layer, head][:, :, None] * (values[head] @ columns.T)[None]
            )  # [T, T, D]
            expected = np.sqrt((weighted**2).sum(-1))
            assert np.abs(ours[layer, head] - expected).max() < CLOSE


def position_terms(known, layer, query_part, key_part, x):
    """The position terms that transformers adds to the scores, [H, T, T]."""
    encoder = known.model.deberta.encoder
    part = encoder.layer[layer].attention.self
    q, k = (torch.tensor(by_head(linear(m, x))).float() for m in (query_part, key_part))
    result = {}
    for name, term in (("content to position", "c2p"), ("position to content", "p2c")):
        part.pos_att_type = [term]
        with torch.no_grad():
            result[name] = part.disentangled_attention_bias(
                q, k, encoder.get_rel_pos(torch.tensor(x)[None]), encoder.get_rel_embedding(), 3
            ).numpy()
    part.pos_att_type = ["p2c", "c2p"]
    return result


def test_query_and_key_give_the_weight_of_transformers(known):
    hidden, theirs = reference_states(known)
    layer, head, row, column = 2, 1, 3, 5
    question = ShowQueryKey(
        number=7,
        checkpoint=known.folder,
        text=TEXT,
        pair=PAIR,
        layer=layer,
        head=head,
        query_token=row,
        key_token=column,
    )
    answer = query_key(known.checkpoint, question)
    query_part, key_part, _, _ = parts(known, layer)
    x = normalised_input(known, layer, hidden)
    query = rotate(known, layer, by_head(linear(query_part, x)))[head, row]
    keys = rotate(known, layer, by_head(linear(key_part, x)))[head]
    scale = 1 / np.sqrt(len(query) * (3 if known.family == "deberta-v2" else 1))
    content = scores = keys @ query * scale
    if known.family == "deberta-v2":
        position_scores = position_terms(known, layer, query_part, key_part, hidden[layer])
        assert [part.term for part in answer.parts] == ["content", *position_scores]
        values = {"content": content} | {
            name: bias[head, row] for name, bias in position_scores.items()
        }
        for part in answer.parts:
            assert part.value == pytest.approx(values[part.term][column], abs=CLOSE)
        scores = sum(values.values())
    if known.family == "mpnet":
        model, tokens = known.model.mpnet.encoder, len(hidden[0])
        position_scores = model.compute_position_bias(torch.zeros(1, tokens, 1)).detach().numpy()
        scores = content + position_scores[0, head, row]
        terms = {part.term: part.value for part in answer.parts}
        assert terms["content"] == pytest.approx(content[column], abs=CLOSE)
        assert terms["distance"] == pytest.approx(position_scores[0, head, row, column], abs=CLOSE)
    assert np.allclose(answer.query, query, atol=CLOSE)
    assert np.allclose(answer.key, keys[column], atol=CLOSE)
    assert np.allclose(answer.products, query * keys[column] * scale, atol=CLOSE)
    assert answer.score == pytest.approx(scores[column], abs=CLOSE)
    assert np.allclose(answer.scores, scores, atol=CLOSE)
    softmax = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
    assert answer.weight == pytest.approx(softmax[column], abs=CLOSE)
    assert answer.weight == pytest.approx(theirs[layer, head, row, column], abs=CLOSE)
    assert (answer.to, answer.layer, answer.head) == (7, layer, head)


def test_a_causal_model_has_no_scores_of_later_tokens(tmp_path):
    causal = load(folder(tmp_path / "causal", spec=SPEC.model_copy(update={"causal": True})))
    question = ShowQueryKey(checkpoint=Path("any"), text="a b c d", query_token=2, key_token=1)
    answer = query_key(causal, question)
    assert [score is None for score in answer.scores] == [False] * 3 + [True] * 3
    _, rolled = weights(causal, "a b c d", measure="rollout")
    assert not np.triu(rolled[:, 0], 1).any()


def test_nonexistent_layers_heads_and_tokens_are_refused(tiny):
    question = ShowQueryKey(
        checkpoint=Path("any"), text="a b", layer=2, head=1, query_token=1, key_token=2
    )
    with pytest.raises(StudioError, match="no layer 3, head 2, token 3"):
        query_key(tiny, question)
