"""Removing pruned heads changes no output."""

import pytest
import torch

from engine.explore.head_pruning import cut, units
from engine.models.attention import Attention
from engine.models.checkpoint import load
from engine.models.narrower import count_pruned_heads, needed_heads, remove_pruned_heads
from tests.engine.models.family_folders import OWN_NETWORKS, published_folder
from tests.engine.models.small import SPEC, batch, network


@pytest.mark.parametrize("family", ["bert", *OWN_NETWORKS])
def test_every_family_has_equal_outputs_without_pruned_heads(family, tmp_path):
    folder, _ = published_folder(family, "ForTokenClassification", tmp_path / "model", num_labels=3)
    pruned = load(folder).network.eval()
    groups = units(pruned)
    heads = tuple(head for unit in groups[1 : len(groups) // 2] for head in unit)
    cut(pruned, heads)
    narrow = remove_pruned_heads(pruned)
    assert count_pruned_heads(pruned) == len(groups[1 : len(groups) // 2]) > 0
    assert sum(p.numel() for p in narrow.parameters()) < sum(p.numel() for p in pruned.parameters())
    for attention in (module for module in narrow.modules() if isinstance(module, Attention)):
        width = attention.heads * attention.head_size
        assert attention.query.weight.size(0) == attention.output.weight.size(1) == width
    ids, segments, real = batch(SPEC, 3, 12)
    with torch.no_grad():
        output = narrow.encoder(ids, segments, real).last
        expected = pruned.encoder(ids, segments, real).last
    assert torch.allclose(output[real], expected[real], atol=1e-5)


def test_a_layer_whose_heads_are_all_pruned_keeps_one():
    pruned = network()
    cut(pruned, ((0, 0), (0, 1)))
    narrow = remove_pruned_heads(pruned)
    assert count_pruned_heads(pruned) == 1
    assert narrow.encoder.layers[0].attention.heads == 1
    ids, segments, real = batch()
    with torch.no_grad():
        output = narrow.encoder(ids, segments, real).last
        expected = pruned.encoder(ids, segments, real).last
    assert torch.allclose(output[real], expected[real], atol=1e-5)


def test_a_network_without_pruned_heads_is_unchanged():
    model = network()
    assert remove_pruned_heads(model) is model and count_pruned_heads(model) == 0
    assert needed_heads(model.encoder.layers[0].attention) == [0, 1]
