"""Fast answers are given only if they are faster and agree."""

from dataclasses import replace

import pytest
import torch

from engine.config.tasks import get_head, heads
from engine.explore.attention import weights
from engine.files.shipped import starter_model
from engine.models.checkpoint import load
from engine.serving import serving
from engine.serving.network import pack_network
from engine.serving.quantization_check import (
    BOUND,
    LOG_BOUND,
    TIE_MARGIN,
    agrees,
    logs_are_near,
    predict,
    same_tokens,
)
from engine.serving.quantized_matmul import is_available
from engine.serving.serving import Serving
from tests.engine.models.small import folder

SENTENCES = (
    "The people of the [MASK] elected a new president in November.",
    "She put the letter on the [MASK] and left the room.",
    "The war ended in the [MASK] of the same year.",
    "He was born in a small [MASK] near the border.",
    "Congress passed the [MASK] without a single vote against it.",
    "The river runs through the [MASK] of the city.",
    "Our farmers need better [MASK] for their products.",
    "It was the first [MASK] that the young man had ever written.",
)


@pytest.fixture(scope="module")
def starter():
    return load(starter_model())


def prepare(monkeypatch, checkpoint, times, kinds):
    """A prepared `Serving`, with every kind `times` as fast as float32."""
    result = Serving(checkpoint)
    monkeypatch.setattr(serving, "_seconds", lambda x, _: times if x is result.exact else 1.0)
    for _ in result.prepare(kinds):
        pass
    return result


@pytest.mark.skipif(not is_available("float16"), reason="float16 is unavailable")
def test_a_faster_kind_that_agrees_is_selected(starter, monkeypatch):
    serving = prepare(monkeypatch, starter, 2.0, ("float16", "float32"))
    assert (serving.kind, serving.reason, serving.maps_agree) == ("float16", "", True)
    assert serving.take(exact=False)[1:] == ("float16", "")
    assert serving.take(exact=True)[0] is serving.exact
    assert serving.take(exact=True)[1:] == ("float32", "")


@pytest.mark.skipif(not is_available("float16"), reason="float16 is unavailable")
def test_a_slightly_faster_kind_is_not_selected(starter, monkeypatch):
    serving = prepare(monkeypatch, starter, 1.05, ("float16",))
    assert serving.take(exact=False)[1:] == ("float32", "none")


@pytest.mark.skipif(not is_available("int8"), reason="int8 is unavailable")
def test_a_kind_that_does_not_agree_is_not_selected(starter, monkeypatch):
    serving = prepare(monkeypatch, starter, 9.0, ("int8",))
    assert serving.take(exact=False) == (serving.exact, "float32", "none")


def test_answers_are_exact_before_preparation(starter):
    serving = Serving(starter)
    assert serving.take(exact=False) == (serving.exact, "float32", "preparing")
    next(serving.prepare())
    assert serving.take(exact=False)[1:] == ("float32", "preparing")


@pytest.mark.skipif(not is_available("float16"), reason="float16 is unavailable")
def test_a_differing_map_is_exact_while_answers_are_fast(starter, monkeypatch):
    monkeypatch.setattr(serving, "attention_agrees", lambda *_: False)
    result = prepare(monkeypatch, starter, 2.0, ("float16",))
    assert result.take(exact=False)[1] == "float16"
    assert result.take(exact=False, maps=True)[1:] == ("float32", "none")


@pytest.mark.skipif(not is_available("float16"), reason="float16 is unavailable")
@torch.no_grad()
def test_the_fast_starter_model_predicts_the_same_words(starter):
    """Checked on sentences that did not select the kind."""
    exact = Serving(starter).exact
    fast = replace(exact, network=pack_network(exact.network, "float16"))
    for sentence in SENTENCES:
        encoded = starter.tokenizer.encode(sentence)
        index = torch.tensor([[encoded.ids.index(starter.tokenizer.mask)]])
        ids, segments = torch.tensor([encoded.ids]), torch.tensor([encoded.segments])
        expected, actual = (
            item.mlm(item.encode_at(ids, segments, index)[0, 0]).softmax(-1)
            for item in (starter.network, fast.network)
        )
        assert expected.topk(5).indices.tolist() == actual.topk(5).indices.tolist()
        assert float((expected - actual).abs().max()) <= BOUND


def test_exact_maps_equal_those_of_the_plain_network(starter):
    exact = Serving(starter).exact
    for sentence in SENTENCES[:3]:
        assert abs(weights(exact, sentence)[1] - weights(starter, sentence)[1]).max() < 1e-5


def test_only_near_ties_may_change_their_order():
    exact = torch.tensor([0.3, 0.2, 0.1, 0.05, 0.0401, 0.04, 0.01])
    tied, swapped, far = exact.clone(), exact.clone(), exact.clone()
    tied[4:6] = exact[[5, 4]]
    swapped[2:4] = exact[[3, 2]]
    far[0] += 1.5 * BOUND
    assert exact[4] - exact[5] < TIE_MARGIN
    assert same_tokens(tied, exact)
    assert not same_tokens(swapped, exact)
    assert not same_tokens(far, exact)


@pytest.mark.parametrize("kind", dict(heads()))
@torch.no_grad()
def test_every_head_is_compared(kind, tmp_path):
    from engine.models.heads import Heads

    outputs = get_head(kind).outputs_for(3)
    checkpoint = load(folder(tmp_path / kind, Heads(outputs=outputs, kind=kind)))
    text = ("a b c d e f", None)
    answer = predict(checkpoint, text)
    assert agrees(predict(checkpoint, text), answer)
    other = replace(answer, task=answer.task + 0.02 * max(1, float(answer.task.abs().max())))
    assert not agrees(other, answer)


def test_a_small_probability_may_not_differ_by_a_factor():
    exact = torch.tensor([0.5, 0.2, 0.1, 0.05, 0.04, 1e-5, 1e-9])
    doubled, near = exact.clone(), exact.clone()
    doubled[5] *= 2  # by 0.00001, which is far below BOUND
    near[5:] *= 1 + LOG_BOUND / 2
    assert not same_tokens(doubled, exact) and not logs_are_near(doubled, exact)
    assert same_tokens(near, exact)
    assert logs_are_near(torch.tensor([0.0, 1.0]), torch.tensor([0.0, 1.0]))
