"""The outline of a network matches the tensors of its checkpoint, in every family."""

import pytest

from engine.checkpoints.outline import outline, parameters
from engine.config.families import FAMILIES
from engine.config.families.bert import PRESETS
from engine.models.heads import Heads
from engine.models.network import meta_network
from tests.engine.models.family_folders import EXAMPLES
from tests.engine.models.small import SPEC

SPECS = {"bert": SPEC} | {name: example.spec for name, example in EXAMPLES.items()}


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_has_the_parameters_of_its_network(family):
    network = meta_network(SPECS[family], Heads(pooler=True))
    blocks = outline(SPECS[family], ("pooler",))
    assert parameters(blocks) == sum(p.numel() for p in network.parameters())


def test_each_head_is_a_separate_block():
    heads = ("mlm", "nsp", "pooler", "text_classification")
    by_name = {block.name: block for block in outline(PRESETS["tiny"], heads, 3)}
    assert by_name["Task head"].parameters == 3 * 128 + 3
    assert by_name["Next-sentence head"].parameters == 2 * 128 + 2
    head = by_name["Masked-language-model head"]
    assert head.parameters == 128 * 128 + 128 + 256 + 30522, "its decoder is counted once"


def test_layers_are_numbered():
    blocks = outline(PRESETS["mini"])
    assert [block.number for block in blocks if block.name == "Layer"] == [1, 2, 3, 4]
