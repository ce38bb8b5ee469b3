"""Words round-trip through cells, and their tokens equal those of transformers."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.data.columns.words import join_words, split_words, word_spans
from engine.data.tokenized.words import CUT, NOWHERE, tokenize_words
from engine.files.shipped import starter_model
from engine.tokenizers.tokenizer import Tokenizer
from engine.tokenizers.wordpiece import WordPiece
from tests.engine.tokenizers.published_tokenizers import byte_level, sentence_pieces
from tests.often import tries

any_word = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
odd_word = st.one_of(
    any_word,
    st.sampled_from(["\u00ad", "\ufe0f", "\u200b", "[MASK]", "x[SEP]y", "日本語", "a" * 120]),
    st.sampled_from(["don't", "U.S.A.", "naïve"]),
)
sentence = st.lists(odd_word, max_size=9)


@given(st.lists(any_word, max_size=8))
@tries(300)
def test_words_round_trip_through_a_cell(words):
    assert split_words(join_words(words)) == words


@pytest.mark.parametrize(
    "cell, words",
    [
        ("", []),
        ("  a  b\tc ", ["a", "b", "c"]),
        ("a\u00a0b c", ["a\u00a0b", "c"]),
        ('["a b", "c"]', ["a b", "c"]),
        ("[0, 3, 10]", ["0", "3", "10"]),
        ("[]", []),
        ("[ a ]", ["[", "a", "]"]),
        ("[1.5]", ["1.5"]),
        ("['a b' \"c'd\"]", ["a b", "c'd"]),
        ("[true]", ["[true]"]),
        ("[[1]]", ["[[1]]"]),
        ("[" * 10_000 + "]" * 10_000, ["[" * 10_000 + "]" * 10_000]),
    ],
)
def test_a_cell_is_a_list_or_split_at_spaces(cell, words):
    assert split_words(cell) == words


def test_words_are_joined_as_a_list_only_if_needed():
    assert join_words(["[", "1", "]"]) == '["[", "1", "]"]'
    assert join_words(["a", "b"]) == "a b"
    assert join_words(["New York"]) == '["New York"]'


@pytest.mark.parametrize(
    "text, words",
    [
        ("Angela Merkel (67) visits Paris.", "Angela|Merkel|(|67|)|visits|Paris|."),
        ("“Don't!”, said @ann…", "“|Don't|!|”|,|said|@ann|…"),
        (" U.S.A in\tthe\n80's ", "U.S.A|in|the|80's"),
        ("...", ".|.|."),
        ("", ""),
    ],
)
def test_a_typed_text_is_split_into_words(text, words):
    assert "|".join(text[a:b] for a, b in word_spans(text)) == words


@given(st.text(max_size=60))
@tries(200)
def test_word_spans_cover_every_character_once(text):
    result = word_spans(text)
    assert "".join(text[a:b] for a, b in result) == "".join(text.split())
    assert all(a < b for a, b in result)
    assert all(b <= c for (_, b), (c, _) in pairwise(result))


@pytest.fixture(scope="module")
def tokenizers(tmp_path_factory) -> dict[str, tuple[Tokenizer, Any]]:
    """Tokenizers of every kind, ours and those of transformers."""
    from transformers import AutoTokenizer

    base = tmp_path_factory.mktemp("words")
    texts = ["the Quick brown fox, don't! naïve 日本語 U.S.A. " + "abcdefghijklmnopqrstuvwxyz"] * 5
    uncased = Tokenizer.from_folder(starter_model())
    cased = Tokenizer.train(texts, 200, lowercase=False)
    folders: dict[str, Path] = {}
    for name, tokenizer in (("uncased", uncased), ("cased", cased)):
        folders[name] = base / name
        folders[name].mkdir()
        tokenizer.save(folders[name])
    folders["byte-level"] = byte_level(base / "roberta", texts, spaced=False)
    folders["SentencePiece"] = sentence_pieces(base / "albert", texts, size=120)
    theirs = {
        name: AutoTokenizer.from_pretrained(
            str(folder),
            local_files_only=True,
            **({"add_prefix_space": True} if name == "byte-level" else {}),
        )
        for name, folder in folders.items()
    }
    return {name: (Tokenizer.from_folder(folders[name]), theirs[name]) for name in folders}


KINDS = ["uncased", "cased", "byte-level", "SentencePiece"]


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@tries(25)
def test_tokens_of_words_equal_those_of_transformers(tokenizers, kind, data):
    sentences = data.draw(st.lists(sentence, min_size=1, max_size=3))
    ours, theirs = tokenizers[kind]
    result = ours.encode_words(sentences)
    for words, (ids, owners) in zip(sentences, result, strict=True):
        expected = theirs(words, is_split_into_words=True, add_special_tokens=False)
        assert ids == expected["input_ids"]
        assert owners == expected.word_ids()


@pytest.fixture(scope="module")
def unmarked(tokenizers) -> Tokenizer:
    """A tokenizer whose tokens do not mark the beginning of a word."""
    return Tokenizer(WordPiece(tokenizers["uncased"][0].vocabulary.tokens, marked=False))


@given(
    sentences=st.lists(sentence, min_size=1, max_size=4),
    max_length=st.integers(2, 40),
    marked=st.booleans(),
)
@tries(30)
def test_first_tokens_of_words_are_in_order(
    tmp_path_factory, tokenizers, unmarked, sentences, max_length, marked
):
    tokenizer = tokenizers["uncased"][0] if marked else unmarked
    folder = tmp_path_factory.mktemp("tokenized")
    tokenized, firsts, starts, *_ = tokenize_words(
        iter(sentences), len(sentences), tokenizer, max_length, folder / "words"
    )
    assert starts.tolist() == [0, *np.cumsum([len(words) for words in sentences])]
    assert len(tokenized) == len(sentences) and len(firsts) == sum(map(len, sentences))
    offset = 0
    for number, words in enumerate(sentences):
        ids, positions = tokenized.ids(number), firsts[offset : offset + len(words)]
        offset += len(words)
        assert len(ids) <= max(max_length, 2)
        assert (ids[0], ids[-1]) == (tokenizer.cls, tokenizer.sep)
        present = positions[positions >= 0]
        assert (np.diff(present) > 0).all() and ((present > 0) & (present < len(ids) - 1)).all()
        ((all_ids, owners),) = tokenizer.encode_words([words])
        for word, index in enumerate(positions):
            if index < 0:
                assert word not in owners[: max(max_length - 2, 0)]
                assert index == (CUT if word in owners else NOWHERE)
            else:
                assert owners[index - 1] == word and (index == 1 or owners[index - 2] != word)
                assert ids[index] == all_ids[index - 1]
        if len(all_ids) <= max_length - 2:
            assert len(present) == len(set(owners))
    cached, cached_firsts, *_ = tokenize_words(iter(()), 0, tokenizer, max_length, folder / "words")
    assert cached.tokens == tokenized.tokens and (cached_firsts == firsts).all()
