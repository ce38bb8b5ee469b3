"""The tree of the parts of a network, and search in a vocabulary."""

from app.pages.models.model.state import read_spec
from app.pages.models.model.table import PartsModel, VocabularyModel, find_tokens
from engine.checkpoints.outline import outline
from engine.config.families.bert import PRESETS
from engine.tokenizers.wordpiece import SPECIAL, WordPiece


def test_the_tree_of_modules_is_valid(qtmodeltester, tmp_path):
    model = PartsModel(outline(PRESETS["tiny"], ("mlm", "pooler")))
    qtmodeltester.check(model)
    assert model.rowCount() == 5
    layer = model.index(1, 0)
    assert layer.data() == "Layer 1"
    query = model.index(0, 0, model.index(0, 0, layer))
    assert query.data() == "Query"
    assert query.parent() == model.index(0, 0, layer)
    assert query.siblingAtColumn(1).data() == "128 × 128  +  128"
    assert read_spec(tmp_path) is None
    config = tmp_path / "config.json"
    config.write_text('{"model_type": "bert", "hidden_size": 10, "num_attention_heads": 3}')
    assert read_spec(tmp_path) is None
    config.write_text("{")
    assert read_spec(tmp_path) is None


TOKENS = (*SPECIAL, "the", "film", "##s", "good", "un", "##good", "[unused1]", "é", "12")


def test_the_vocabulary_is_valid_and_searchable(qtmodeltester):
    model = VocabularyModel(WordPiece(TOKENS))
    qtmodeltester.check(model)
    kinds = {model.index(row, 1).data(): model.index(row, 2).data() for row in range(14)}
    assert kinds["[CLS]"] == "special"
    assert kinds["[unused1]"] == "unused"
    assert kinds["##s"] == "continues a word"
    assert kinds["the"] == "begins a word"
    model.show_only([5, 8])
    assert [model.index(row, 1).data() for row in range(model.rowCount())] == ["the", "good"]
    qtmodeltester.check(model)
    vocabulary = WordPiece(TOKENS)
    tokens = [TOKENS[number] for number in find_tokens(vocabulary, "Good")]
    assert tokens == ["good", "##good"]
    assert find_tokens(vocabulary, "12")[0] == 12, "the token with this id"
    assert TOKENS.index("12") in find_tokens(vocabulary, "12")
    assert find_tokens(vocabulary, "nothing like it") == []
