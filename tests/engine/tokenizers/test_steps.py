"""The three steps of a tokenizer."""

import pytest

from engine.tokenizers.steps import steps
from engine.tokenizers.tokenizer import Tokenizer
from engine.tokenizers.wordpiece import SPECIAL, WordPiece

PIECES = (*SPECIAL, "the", "film", "##s", "good", "un", "##good", "[unused1]", "é", "12")


@pytest.fixture
def tokenizer() -> Tokenizer:
    return Tokenizer(WordPiece(PIECES))


def test_the_three_steps_of_a_sentence(tokenizer):
    result = steps(tokenizer, "The  FILMS, ungood")
    assert result.normalised == "the  films, ungood"
    assert result.words == ("the", "films", ",", "ungood")
    pieces = [token.text for token in result.tokens]
    assert pieces == ["[CLS]", "the", "film", "##s", "[UNK]", "un", "##good", "[SEP]"]
    assert not result.truncated


def test_a_mask_in_the_text_is_neither_changed_nor_split(tokenizer):
    result = steps(tokenizer, "The [MASK] Good")
    assert result.normalised == "the [MASK] good"
    assert result.words == ("the", "[MASK]", "good")


def test_accents_are_stripped_if_the_vocabulary_ignores_them(tokenizer):
    assert steps(tokenizer, "Fílm").normalised == "film"
    cased = Tokenizer(WordPiece(PIECES, lowercase=False))
    assert steps(cased, "Fílm").normalised == "Fílm"


def test_a_very_long_text_is_truncated_and_marked(tokenizer):
    result = steps(tokenizer, "the film " * 20_000)
    assert result.truncated
    assert len(result.tokens) < 2_100


@pytest.mark.parametrize("text", ["", "   ", "\ud800", "\x00\u202e", "日本語"])
def test_odd_texts_are_accepted(tokenizer, text):
    result = steps(tokenizer, text)
    assert [token.text for token in result.tokens][:1] == ["[CLS]"]


def test_the_steps_agree_with_published_vocabularies(assets):
    for name in ("bert-tiny-splade-en", "rxnfp-bert-pretrained"):
        tokenizer = Tokenizer.from_folder(assets / "models" / name)
        result = steps(tokenizer, "Unbelievably good CCO words.")
        assert tuple(token.id for token in result.tokens) == tuple(
            tokenizer.encode("Unbelievably good CCO words.").ids
        )
