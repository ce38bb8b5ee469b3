"""Words in cells come back as they were, and their pieces are those of transformers."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.data.columns.words import join_words, split_words, word_spans
from engine.data.tokenized.words import NOWHERE, tokenize_words
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
def test_a_cell_gives_its_words_again(words):
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
        ("[1.5]", ["[1.5]"]),
        ("[true]", ["[true]"]),
        ("[[1]]", ["[[1]]"]),
        ("[" * 10_000 + "]" * 10_000, ["[" * 10_000 + "]" * 10_000]),
    ],
)
def test_lists_and_spaces_part_words(cell, words):
    assert split_words(cell) == words


def test_words_that_look_like_a_list_stay_words():
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
def test_a_typed_text_is_cut_into_words(text, words):
    assert "|".join(text[a:b] for a, b in word_spans(text)) == words


@given(st.text(max_size=60))
@tries(200)
def test_typed_words_hold_every_character_once(text):
    result = word_spans(text)
    assert "".join(text[a:b] for a, b in result) == "".join(text.split())
    assert all(a < b for a, b in result)
    assert all(b <= c for (_, b), (c, _) in pairwise(result))


@pytest.fixture(scope="module")
def both(tmp_path_factory) -> dict[str, tuple[Tokenizer, Any]]:
    """Tokenizers of every kind, ours and those of transformers."""
    from transformers import AutoTokenizer

    base = tmp_path_factory.mktemp("words")
    texts = ["the Quick brown fox, don't! naïve 日本語 U.S.A. " + "abcdefghijklmnopqrstuvwxyz"] * 5
    uncased = Tokenizer.from_folder(starter_model())
    cased = Tokenizer.train(texts, 200, lowercase=False)
    result: dict[str, Path] = {}
    for name, tokenizer in (("uncased", uncased), ("cased", cased)):
        result[name] = base / name
        result[name].mkdir()
        tokenizer.save(result[name])
    result["byte-level"] = byte_level(base / "roberta", texts, spaced=False)
    result["SentencePiece"] = sentence_pieces(base / "albert", texts, size=120)
    theirs = {
        name: AutoTokenizer.from_pretrained(
            str(folder),
            local_files_only=True,
            **({"add_prefix_space": True} if name == "byte-level" else {}),
        )
        for name, folder in result.items()
    }
    return {name: (Tokenizer.from_folder(result[name]), theirs[name]) for name in result}


KINDS = ["uncased", "cased", "byte-level", "SentencePiece"]


@pytest.mark.parametrize("kind", KINDS)
@given(data=st.data())
@tries(25)
def test_pieces_of_words_are_those_of_transformers(both, kind, data):
    sentences = data.draw(st.lists(sentence, min_size=1, max_size=3))
    ours, theirs = both[kind]
    result = ours.words(sentences)
    for words, (ids, owners) in zip(sentences, result, strict=True):
        expected = theirs(words, is_split_into_words=True, add_special_tokens=False)
        assert ids == expected["input_ids"]
        assert owners == expected.word_ids()


@pytest.fixture(scope="module")
def unmarked(both) -> Tokenizer:
    """One whose pieces do not say whether they begin a word."""
    return Tokenizer(WordPiece(both["uncased"][0].vocabulary.tokens, marked=False))


@given(
    sentences=st.lists(sentence, min_size=1, max_size=4),
    longest=st.integers(2, 40),
    marked=st.booleans(),
)
@tries(30)
def test_every_word_has_its_first_piece_in_order(
    tmp_path_factory, both, unmarked, sentences, longest, marked
):
    tokenizer = both["uncased"][0] if marked else unmarked
    folder = tmp_path_factory.mktemp("tokenized")
    tokenized, firsts, starts = tokenize_words(
        iter(sentences), len(sentences), tokenizer, longest, folder / "made"
    )
    assert starts.tolist() == [0, *np.cumsum([len(words) for words in sentences])]
    assert len(tokenized) == len(sentences) and len(firsts) == sum(map(len, sentences))
    begin = 0
    for number, words in enumerate(sentences):
        ids, positions = tokenized.ids(number), firsts[begin : begin + len(words)]
        begin += len(words)
        assert len(ids) <= max(longest, 2)
        assert (ids[0], ids[-1]) == (tokenizer.cls, tokenizer.sep)
        seen = positions[positions != NOWHERE]
        assert (np.diff(seen) > 0).all() and ((seen > 0) & (seen < len(ids) - 1)).all()
        ((all_ids, owners),) = tokenizer.words([words])
        for word, index in enumerate(positions):
            if index == NOWHERE:
                assert word not in owners[: max(longest - 2, 0)]
            else:
                assert owners[index - 1] == word and (index == 1 or owners[index - 2] != word)
                assert ids[index] == all_ids[index - 1]
        if len(all_ids) <= longest - 2:
            assert len(seen) == len(set(owners))
    again, same, _ = tokenize_words(iter(()), 0, tokenizer, longest, folder / "made")
    assert again.tokens == tokenized.tokens and (same == firsts).all()
