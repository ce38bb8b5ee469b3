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
    chosen = steps(tokenizer, "The  FILMS, ungood")
    assert chosen.normalised == "the  films, ungood"
    assert chosen.words == ("the", "films", ",", "ungood")
    pieces = [token.text for token in chosen.tokens]
    assert pieces == ["[CLS]", "the", "film", "##s", "[UNK]", "un", "##good", "[SEP]"]
    assert not chosen.truncated


def test_a_mask_in_the_text_is_neither_changed_nor_split(tokenizer):
    chosen = steps(tokenizer, "The [MASK] Good")
    assert chosen.normalised == "the [MASK] good"
    assert chosen.words == ("the", "[MASK]", "good")


def test_accents_are_stripped_if_the_vocabulary_ignores_them(tokenizer):
    assert steps(tokenizer, "Fílm").normalised == "film"
    cased = Tokenizer(WordPiece(PIECES, lowercase=False))
    assert steps(cased, "Fílm").normalised == "Fílm"


def test_a_very_long_text_is_truncated_and_marked(tokenizer):
    chosen = steps(tokenizer, "the film " * 20_000)
    assert chosen.truncated
    assert len(chosen.tokens) < 2_100


@pytest.mark.parametrize("text", ["", "   ", "\ud800", "\x00\u202e", "日本語"])
def test_odd_texts_are_taken(tokenizer, text):
    chosen = steps(tokenizer, text)
    assert [token.text for token in chosen.tokens][:1] == ["[CLS]"]


def test_the_steps_agree_with_published_vocabularies(assets):
    for name in ("bert-tiny-splade-en", "rxnfp-bert-pretrained"):
        tokenizer = Tokenizer.from_folder(assets / "models" / name)
        chosen = steps(tokenizer, "Unbelievably good CCO words.")
        assert tuple(token.id for token in chosen.tokens) == tuple(
            tokenizer.encode("Unbelievably good CCO words.").ids
        )
