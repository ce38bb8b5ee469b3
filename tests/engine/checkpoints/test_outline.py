"""The outline of a network matches the tensors of its checkpoint, in every family."""

import json
from pathlib import Path

import pytest

from engine.checkpoints.config import parse_spec
from engine.checkpoints.info import checkpoint_info
from engine.checkpoints.outline import outline, parameters
from engine.config.families import FAMILIES
from engine.config.families.bert import PRESETS
from engine.models.heads import Heads
from engine.models.network import meta_network
from tests.engine.models.family_folders import EXAMPLES, OWN_NETWORKS, published_folder
from tests.engine.models.small import SPEC

SPECS = {"bert": SPEC} | {name: example.spec for name, example in EXAMPLES.items()}


@pytest.mark.parametrize("size, count", [("base", 109_482_240), ("large", 335_141_888)])
def test_published_sizes_have_their_published_count(size: str, count: int) -> None:
    assert parameters(outline(PRESETS[size], ("pooler",))) == count


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_has_the_parameters_of_its_network(family: str) -> None:
    network = meta_network(SPECS[family], Heads(pooler=True))
    blocks = outline(SPECS[family], ("pooler",))
    assert parameters(blocks) == sum(p.numel() for p in network.parameters())


@pytest.mark.parametrize("family", OWN_NETWORKS)
def test_every_head_of_other_families_is_counted(family: str, tmp_path: Path) -> None:
    heads = {"ForMaskedLM": 0, "ForSequenceClassification": 3, "ForTokenClassification": 3}
    for suffix, labels in {**heads, "ForQuestionAnswering": 2}.items():
        folder, model = published_folder(
            family, suffix, tmp_path / suffix, **({"num_labels": labels} if labels else {})
        )
        info = checkpoint_info(folder)
        spec = parse_spec(json.loads((folder / "config.json").read_text()))
        blocks = outline(spec, info.task_heads, len(info.labels))
        expected = sum(p.numel() for p in model.parameters())
        assert parameters(blocks) == info.parameters == expected
        assert ("Shared layers" in {block.name for block in blocks}) == (family == "albert")


def test_each_head_is_a_block_of_its_own() -> None:
    heads = ("mlm", "nsp", "pooler", "text_classification")
    named = {block.name: block for block in outline(PRESETS["tiny"], heads, 3)}
    assert named["Task head"].parameters == 3 * 128 + 3
    assert named["Next-sentence head"].parameters == 2 * 128 + 2
    head = named["Masked-language-model head"]
    assert head.parameters == 128 * 128 + 128 + 256 + 30522, "its decoder is counted once"


def test_layers_are_numbered() -> None:
    blocks = outline(PRESETS["mini"])
    assert [block.number for block in blocks if block.name == "Layer"] == [1, 2, 3, 4]
