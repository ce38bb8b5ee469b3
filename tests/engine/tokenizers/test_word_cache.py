"""Cached words have the token ids that the library gives to whole texts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.tokenizers import wordpiece
from engine.tokenizers.added import Added
from engine.tokenizers.byte_bpe import ByteLevelBpe
from engine.tokenizers.tokenizer import Tokenizer
from engine.tokenizers.wordpiece import SPECIAL, WordCache, WordPiece, splits_at_spaces
from tests.often import tries

PIECES = (*"abcxyz日本.!İσ", *(f"##{item}" for item in "abcé日"), *("hello", "un", "##able"))
CHARACTERS = st.characters(exclude_categories=["Cs"])  # lone surrogates are replaced before
VOCABULARIES = {
    "uncased": WordPiece((*SPECIAL, *PIECES)),
    "cased": WordPiece((*SPECIAL, *PIECES), lowercase=False),
    "accents kept": WordPiece((*SPECIAL, *PIECES), strip_accents=False, split_chinese=False),
    "with added tokens": WordPiece(
        (*SPECIAL, *PIECES, "<user>", "e.g."),
        added=(Added("<user>", lstrip=True, rstrip=True), Added("e.g.", single_word=True)),
        base_size=len(SPECIAL) + len(PIECES),
    ),
}
PARTS = st.sampled_from(
    [
        *["a", "b", "hello", "unable", "[MASK]", "[SEP]", "[ MASK ]", "<user>", "x<user>x"],
        *["e.g.", "ae.g.", "日本", "é", "É", "e\u0301", "\u0301", "Σ", "ςΣ", "İ", "\u200b", "🙂"],
        *[*" \t\n\x00\x1c\u00a0\u2009\ufffd!.", "  ", "x" * 41, "x" * 120],
    ]
)


@pytest.mark.parametrize("name", VOCABULARIES)
def test_texts_have_the_ids_of_the_library(name):
    tokenizer = Tokenizer(VOCABULARIES[name])
    assert tokenizer._word_cache is not None

    @given(st.lists(st.lists(PARTS | CHARACTERS, max_size=12).map("".join), max_size=6))
    @tries(100)
    def agree(texts: list[str]) -> None:
        texts = texts * 3  # so that words repeat
        expected = tokenizer._encode_batch(texts)
        assert tokenizer._word_cache.encode(texts) == expected
        assert tokenizer.contents(texts) == expected

    agree()


@pytest.mark.parametrize(
    "vocabulary, parts",
    [
        *((item, True) for item in VOCABULARIES.values()),
        (WordPiece((*SPECIAL, "a b"), added=(Added("a b"),), base_size=5), False),
        (WordPiece((*SPECIAL, "a b"), base_size=5), False),
        (WordPiece((*SPECIAL, "<m k>"), special=(*SPECIAL[:4], "<m k>")), False),
        (WordPiece((*SPECIAL, "ab"), added=(Added("ab", normalized=True),), base_size=5), False),
        (WordPiece((*SPECIAL, "C", "Br"), marked=False), False),
        (ByteLevelBpe((*SPECIAL, "a", "Ġa"), special=SPECIAL, merges=()), False),
    ],
)
def test_texts_are_split_only_if_no_token_spans_a_space(vocabulary, parts):
    assert splits_at_spaces(vocabulary) is parts


class CountingEncoder:
    """Encodes a word as its length, and records the requested words."""

    def __init__(self) -> None:
        self.words = list[str]()

    def __call__(self, texts: list[str]) -> list[list[int]]:
        self.words += texts
        return [[len(word) for word in text.split(" ")] for text in texts]


@pytest.fixture
def cache() -> tuple[WordCache, CountingEncoder]:
    encoder = CountingEncoder()
    return WordCache(encoder), encoder


def test_a_word_is_encoded_once(cache):
    words, encoder = cache
    assert words.encode(["a bb a", "bb a a"]) == [[1, 2, 1], [2, 1, 1]]
    assert words.encode(["bb a bb ccc"]) == [[2, 1, 2, 3]]
    assert sorted(encoder.words) == ["a", "bb", "ccc"]
    assert words.encode([]) == [] and words.encode([""]) == [[0]]


def test_texts_of_new_words_are_encoded_whole_and_some_words_cached(cache):
    words, encoder = cache
    texts = [" ".join(f"w{number}" for number in range(64))]
    result = words.encode(texts)
    assert result == encoder(texts) and texts[0] in encoder.words
    assert len(words._cache) == 64 // wordpiece.CACHE_EVERY


def test_long_words_and_too_many_words_are_not_cached(cache, monkeypatch):
    monkeypatch.setattr(wordpiece, "MAX_CACHED_WORDS", 3)
    words, _ = cache
    long = "x" * (wordpiece.MAX_CACHED_LENGTH + 1)
    assert words.encode([f"a a a {long} {long} {long}"]) == [[1, 1, 1, 41, 41, 41]]
    assert list(words._cache) == ["a"]
    assert words.encode(["a bb ccc dddd " * 3 + "a"])[0][:4] == [1, 2, 3, 4]
    assert not words._cache
