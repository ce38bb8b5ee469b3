"""Search in a vocabulary."""

from app.pages.models.model.table import VocabularyModel, find_tokens
from engine.tokenizers.wordpiece import SPECIAL, WordPiece

TOKENS = (*SPECIAL, "the", "film", "##s", "good", "un", "##good", "[unused1]", "é", "12")


def test_pieces_that_begin_with_it_come_first() -> None:
    vocabulary = WordPiece(TOKENS)
    found = [TOKENS[number] for number in find_tokens(vocabulary, "Good")]
    assert found == ["good", "##good"]
    assert find_tokens(vocabulary, "12")[0] == 12, "the token with this id"
    assert TOKENS.index("12") in find_tokens(vocabulary, "12")
    assert find_tokens(vocabulary, "nothing like it") == []


def test_the_vocabulary_is_sound_and_tells_kinds(qtmodeltester) -> None:
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
