"""The tree of what a network is made of."""

from app.pages.models.model.state import network
from app.pages.models.model.table import PartsModel
from engine.checkpoints.outline import outline
from engine.config.families.bert import PRESETS


def test_a_network_that_cannot_be_has_no_blocks(tmp_path) -> None:
    assert network(tmp_path) is None
    config = tmp_path / "config.json"
    config.write_text('{"model_type": "bert", "hidden_size": 10, "num_attention_heads": 3}')
    assert network(tmp_path) is None
    config.write_text("{")
    assert network(tmp_path) is None


def test_the_tree_of_blocks_is_sound(qtmodeltester) -> None:
    model = PartsModel(outline(PRESETS["tiny"], ("mlm", "pooler")))
    qtmodeltester.check(model)
    assert model.rowCount() == 5
    layer = model.index(1, 0)
    assert layer.data() == "Layer 1"
    query = model.index(0, 0, model.index(0, 0, layer))
    assert query.data() == "Query"
    assert query.parent() == model.index(0, 0, layer)
    assert query.siblingAtColumn(1).data() == "128 × 128  +  128"
