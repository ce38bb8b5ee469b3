"""Ablated heads, compared with hooks in transformers and with zeroed columns."""

import numpy as np
import pytest
import torch

from engine.errors import StudioError
from engine.explore.ablation import ablate, average_heads, heads_off
from engine.messages.explore.fill_mask import FillMask
from engine.messages.explore.text_set import AverageHeads, TextSet, TypedText
from tests.engine.explore.test_measures import HEADS, LAYERS, parts

CLOSE = 1e-5
TEXT, PAIR = "A quiet film.", "Nobody laughs."
OFF = ((0, 1), (2, 0), (2, 3))
SIZE = 6  # of a head


def logits(known, given) -> torch.Tensor:
    network = known.checkpoint.network
    with torch.inference_mode():
        return network.mlm(network.encode(given.tokens, given.segments).last)[0]


def theirs_without(known, given, off, means=None, seen=None) -> torch.Tensor:
    """The module of ALBERT serves every layer: its calls are counted. `seen` gets the inputs of the
    output matrix in each layer."""
    calls = {}

    def hook(module, inputs):
        index = calls.setdefault(module, iter(layers[module])).__next__()
        gathered = inputs[0].clone()
        if seen is not None:
            seen.append(gathered[0])
        for layer, head in off:
            if layer == index:
                position = slice(head * SIZE, (head + 1) * SIZE)
                gathered[..., position] = 0 if means is None else means[index, position]
        return (gathered,)

    layers = {}
    for layer in range(LAYERS):
        layers.setdefault(parts(known, layer)[3], []).append(layer)
    hooks = [module.register_forward_pre_hook(hook) for module in layers]
    try:
        return known.run(given).logits[0]
    finally:
        for handle in hooks:
            handle.remove()


def test_a_head_that_is_off_is_that_of_transformers_with_a_hook(known):
    inputs = known.encode_text(TEXT, PAIR, 2)
    whole = logits(known, inputs)
    for off in (OFF, ((1, 2),), tuple((0, head) for head in range(HEADS))):
        with heads_off(known.checkpoint.network, off):
            actual = logits(known, inputs)
            again = logits(known, inputs)
        theirs = theirs_without(known, inputs, off)
        assert (actual - theirs).abs().max() < CLOSE and torch.equal(actual, again)
        assert (actual - whole).abs().max() > 100 * CLOSE
    assert torch.equal(logits(known, inputs), whole), "all heads are on again, bit for bit"
    with heads_off(known.checkpoint.network, ()):
        assert torch.equal(logits(known, inputs), whole)


def test_a_head_is_replaced_by_its_mean_over_texts(known, tmp_path):
    """Over all tokens of all texts, special ones included; as a file named by a question."""
    texts = (("A quiet film.", None), ("Nobody laughs at it, not once.", "A dog."))
    sums, count = torch.zeros(LAYERS, HEADS * SIZE), 0
    for text, pair in texts:
        seen: list[torch.Tensor] = []
        theirs_without(known, known.encode_text(text, pair), (), seen=seen)
        sums += torch.stack([item.sum(0) for item in seen])
        count += len(seen[0])
    means = sums / count
    typed = TextSet(typed=tuple(TypedText(text=text, pair=pair) for text, pair in texts))
    question = AverageHeads(checkpoint=known.folder, texts=typed, cache=tmp_path)
    answer = average_heads(known.checkpoint, question, tmp_path, lambda _: None)
    assert answer.is_final and answer.file is not None
    assert np.load(answer.file) == pytest.approx(means.numpy(), abs=CLOSE)
    inputs = known.encode_text(TEXT, PAIR, 2)
    network = known.checkpoint.network
    request = FillMask(checkpoint=known.folder, text=TEXT, heads_off=OFF, head_means=answer.file)
    with ablate(network, request):
        actual = logits(known, inputs)
    with heads_off(network, OFF):
        zeros = logits(known, inputs)
    assert (actual - theirs_without(known, inputs, OFF, means)).abs().max() < CLOSE
    assert (actual - zeros).abs().max() > 100 * CLOSE


def test_missing_or_foreign_head_means_are_refused(tiny, tiny_folder, tmp_path):
    np.save(tmp_path / "other.npy", np.zeros((9, 9), np.float32))
    for name in ("gone.npy", "other.npy"):
        question = FillMask(
            checkpoint=tiny_folder, text="a", heads_off=((0, 0),), head_means=tmp_path / name
        )
        with (
            pytest.raises(StudioError, match="no longer available"),
            ablate(tiny.network, question),
        ):
            pass
        none_off = question.model_copy(update={"heads_off": ()})
        with ablate(tiny.network, none_off):
            pass


def test_a_missing_head_is_named(tiny):
    with pytest.raises(StudioError, match="no layer 1, head 9"), heads_off(tiny.network, ((0, 8),)):
        pass
