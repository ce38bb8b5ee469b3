"""The parts of a network add up to what its checkpoint holds."""

from pathlib import Path

import pytest

from app.library import describe_model
from app.pages.models.model.parts import Part, parts_of
from app.pages.models.model.state import network
from app.pages.models.model.table import PartsModel
from engine.spec.model import PRESETS
from tests.engine.models.family_folders import published_folder


def total(parts: tuple[Part, ...]) -> int:
    return sum(part.parameters for part in parts)


@pytest.mark.parametrize("size, parameters", [("base", 109_482_240), ("large", 335_141_888)])
def test_published_sizes_have_their_published_count(size: str, parameters: int) -> None:
    assert total(parts_of(PRESETS[size], ("pooler",), 0)) == parameters


@pytest.mark.parametrize("name", ["bert-tiny-splade-en", "ref-bert-tiny-sst2"])
def test_the_parts_are_all_of_a_checkpoint(assets: Path, name: str) -> None:
    folder = assets / "models" / name
    info = describe_model(name, folder, "imported").info
    assert info is not None
    spec = network(folder)
    assert spec is not None
    parts = parts_of(spec, info.task_heads, len(info.labels))
    assert total(parts) == info.parameters


def test_each_head_is_a_part_of_its_own() -> None:
    heads = ("masked words", "next sentence", "pooler", "classes")
    named = {part.name: part for part in parts_of(PRESETS["tiny"], heads, 3)}
    assert named["Classifier"].parameters == 3 * 128 + 3
    assert named["Next-sentence head"].parameters == 2 * 128 + 2
    head = named["Masked-language-model head"]
    assert head.parameters == 128 * 128 + 128 + 256 + 30522, "its decoder is counted once"


def test_layers_are_numbered() -> None:
    parts = parts_of(PRESETS["mini"], (), 0)
    assert [part.number for part in parts if part.name == "Layer"] == [1, 2, 3, 4]


def test_a_network_that_cannot_be_has_no_parts(tmp_path: Path) -> None:
    assert network(tmp_path) is None
    config = tmp_path / "config.json"
    config.write_text('{"model_type": "bert", "hidden_size": 10, "num_attention_heads": 3}')
    assert network(tmp_path) is None
    config.write_text("{")
    assert network(tmp_path) is None


@pytest.mark.parametrize("family", ["distilbert", "roberta", "albert"])
def test_the_parts_of_other_families_are_all_of_a_checkpoint(family: str, tmp_path: Path) -> None:
    heads = {"ForMaskedLM": 0, "ForSequenceClassification": 3, "ForTokenClassification": 3}
    for suffix, labels in {**heads, "ForQuestionAnswering": 2}.items():
        folder, model = published_folder(
            family, suffix, tmp_path / suffix, **({"num_labels": labels} if labels else {})
        )
        info = describe_model(suffix, folder, "imported").info
        assert info is not None
        spec = network(folder)
        assert spec is not None
        parts = parts_of(spec, info.task_heads, len(info.labels))
        assert total(parts) == info.parameters == sum(p.numel() for p in model.parameters())
        assert ("Shared layers" in {part.name for part in parts}) == (family == "albert")


def test_the_tree_of_parts_is_sound(qtmodeltester) -> None:
    heads = ("masked words", "pooler")
    model = PartsModel(parts_of(PRESETS["tiny"], heads, 0))
    qtmodeltester.check(model)
    assert model.rowCount() == 5
    layer = model.index(1, 0)
    assert layer.data() == "Layer 1"
    query = model.index(0, 0, model.index(0, 0, layer))
    assert query.data() == "Query"
    assert query.parent() == model.index(0, 0, layer)
    assert query.siblingAtColumn(1).data() == "128 × 128  +  128"
