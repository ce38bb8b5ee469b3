"""Heads that are switched off, beside transformers with a hook, and with columns really cut."""

import pytest
import torch

from engine.errors import StudioError
from engine.explore.ablation import heads_off
from tests.engine.explore.test_measures import HEADS, LAYERS, parts

CLOSE = 1e-5
TEXT, PAIR = "A quiet film.", "Nobody laughs."
OFF = ((0, 1), (2, 0), (2, 3))
SIZE = 6  # of a head


def logits(known, given) -> torch.Tensor:
    network = known.checkpoint.network
    with torch.inference_mode():
        return network.mlm(network.encode(given.tokens, given.segments).last)[0]


def theirs_without(known, given, off) -> torch.Tensor:
    """The module of ALBERT works at every height: its calls are counted."""
    calls = {}

    def hook(module, taken):
        height = calls.setdefault(module, iter(heights[module])).__next__()
        gathered = taken[0].clone()
        for layer, head in off:
            if layer == height:
                gathered[..., head * SIZE : (head + 1) * SIZE] = 0
        return (gathered,)

    heights = {}
    for layer in range(LAYERS):
        heights.setdefault(parts(known, layer)[3], []).append(layer)
    hooks = [module.register_forward_pre_hook(hook) for module in heights]
    try:
        return known.run(given).logits[0]
    finally:
        for one in hooks:
            one.remove()


def test_a_head_that_is_off_is_that_of_transformers_with_a_hook(known):
    given = known.typed(TEXT, PAIR, 2)
    whole = logits(known, given)
    for off in (OFF, ((1, 2),), tuple((0, head) for head in range(HEADS))):
        with heads_off(known.checkpoint.network, off):
            found = logits(known, given)
            again = logits(known, given)
        theirs = theirs_without(known, given, off)
        assert (found - theirs).abs().max() < CLOSE and torch.equal(found, again)
        assert (found - whole).abs().max() > 100 * CLOSE
    assert torch.equal(logits(known, given), whole), "all heads are on again, bit for bit"
    with heads_off(known.checkpoint.network, ()):
        assert torch.equal(logits(known, given), whole)


def test_columns_that_are_cut_out_of_the_matrix_give_the_same(known):
    """Of a network with a matrix for each layer."""
    if known.family == "albert":
        pytest.skip("one matrix for all layers")
    given, network = known.typed(TEXT, PAIR), known.checkpoint.network
    with heads_off(network, ((1, 2),)):
        found = logits(known, given)
    matrix = network.encoder.layers[1].attention.output.weight
    kept = matrix.detach().clone()
    with torch.no_grad():
        matrix[:, 2 * SIZE : 3 * SIZE] = 0
        cut = logits(known, given)
        matrix.copy_(kept)
    assert (found - cut).abs().max() < CLOSE


def test_a_head_that_is_not_there_is_named(tiny):
    with pytest.raises(StudioError, match="no layer 1, head 9"), heads_off(tiny.network, ((0, 8),)):
        pass
