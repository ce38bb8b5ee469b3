"""Ablated heads, compared with hooks in transformers and with zeroed columns."""

import numpy as np
import pytest
import torch

from engine.errors import StudioError
from engine.explore.ablation import ablate, ablate_heads, average_heads
from engine.messages.explore.fill_mask import FillMask
from engine.messages.explore.text_set import AverageHeads, TextSet, TypedText
from tests.engine.explore.test_measures import HEADS, LAYERS, parts

TOLERANCE = 1e-5
TEXT, PAIR = "A quiet film.", "Nobody laughs."
ABLATED_HEADS = ((0, 1), (2, 0), (2, 3))
HEAD_SIZE = 6


def logits(known, inputs) -> torch.Tensor:
    network = known.checkpoint.network
    with torch.inference_mode():
        return network.mlm(network.encode(inputs.tokens, inputs.segments).last)[0]


def reference_logits(known, inputs, off, means=None, recorded=None) -> torch.Tensor:
    """Logits of transformers, with hooks that zero heads or replace them by `means`.

    ALBERT shares one module between layers, so its calls are counted. `recorded` collects the
    inputs of each output matrix.
    """
    calls = {}

    def hook(module, arguments):
        index = calls.setdefault(module, iter(layers[module])).__next__()
        values = arguments[0].clone()
        if recorded is not None:
            recorded.append(values[0])
        for layer, head in off:
            if layer == index:
                columns = slice(head * HEAD_SIZE, (head + 1) * HEAD_SIZE)
                values[..., columns] = 0 if means is None else means[index, columns]
        return (values,)

    layers = {}
    for layer in range(LAYERS):
        layers.setdefault(parts(known, layer)[3], []).append(layer)
    hooks = [module.register_forward_pre_hook(hook) for module in layers]
    try:
        return known.run(inputs).logits[0]
    finally:
        for handle in hooks:
            handle.remove()


def test_ablated_heads_match_transformers_with_hooks(known):
    inputs = known.encode_text(TEXT, PAIR, 2)
    unablated = logits(known, inputs)
    for off in (ABLATED_HEADS, ((1, 2),), tuple((0, head) for head in range(HEADS))):
        with ablate_heads(known.checkpoint.network, off):
            actual = logits(known, inputs)
            repeated = logits(known, inputs)
        theirs = reference_logits(known, inputs, off)
        assert (actual - theirs).abs().max() < TOLERANCE and torch.equal(actual, repeated)
        assert (actual - unablated).abs().max() > 100 * TOLERANCE
    assert torch.equal(logits(known, inputs), unablated), "all heads are on again, bit for bit"
    with ablate_heads(known.checkpoint.network, ()):
        assert torch.equal(logits(known, inputs), unablated)


def test_heads_are_replaced_by_their_mean_over_texts(known, tmp_path):
    """The mean covers all tokens of all texts, special ones included."""
    texts = (("A quiet film.", None), ("Nobody laughs at it, not once.", "A dog."))
    sums, count = torch.zeros(LAYERS, HEADS * HEAD_SIZE), 0
    for text, pair in texts:
        recorded: list[torch.Tensor] = []
        reference_logits(known, known.encode_text(text, pair), (), recorded=recorded)
        sums += torch.stack([item.sum(0) for item in recorded])
        count += len(recorded[0])
    means = sums / count
    typed = TextSet(typed=tuple(TypedText(text=text, pair=pair) for text, pair in texts))
    question = AverageHeads(checkpoint=known.folder, texts=typed, cache=tmp_path)
    answer = average_heads(known.checkpoint, question, tmp_path, lambda _: None)
    assert answer.is_final and answer.file is not None
    assert np.load(answer.file) == pytest.approx(means.numpy(), abs=TOLERANCE)
    inputs = known.encode_text(TEXT, PAIR, 2)
    network = known.checkpoint.network
    request = FillMask(
        checkpoint=known.folder, text=TEXT, heads_off=ABLATED_HEADS, head_means=answer.file
    )
    with ablate(network, request):
        actual = logits(known, inputs)
    with ablate_heads(network, ABLATED_HEADS):
        zeros = logits(known, inputs)
    assert (actual - reference_logits(known, inputs, ABLATED_HEADS, means)).abs().max() < TOLERANCE
    assert (actual - zeros).abs().max() > 100 * TOLERANCE


def test_missing_or_mismatched_head_means_are_refused(tiny, tiny_folder, tmp_path):
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
        without_ablation = question.model_copy(update={"heads_off": ()})
        with ablate(tiny.network, without_ablation):
            pass


def test_ablating_a_nonexistent_head_is_refused(tiny):
    with (
        pytest.raises(StudioError, match="no layer 1, head 9"),
        ablate_heads(tiny.network, ((0, 8),)),
    ):
        pass
