"""Token ids are written once to files that are memory-mapped."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.data.tokenized.dataset import (
    FILES,
    TokenizedDataset,
    cache_key,
    tokenize_examples,
    tokenize_stream,
)
from engine.errors import StudioError
from engine.tokenizers.tokenizer import Tokenizer
from engine.tokenizers.wordpiece import SPECIAL, WordPiece
from tests.often import tries

LETTERS = tuple("abcdefghijklmnopqrstuvwxyz")
TOKENIZER = Tokenizer(WordPiece(tokens=(*SPECIAL, *LETTERS, *(f"##{c}" for c in LETTERS))))
TEXTS = ["a b c", "", "hello world", "x" * 40, "one two three four five six seven"]


def token_rows(tokenized: TokenizedDataset) -> list[list[int]]:
    return [tokenized.ids(number).tolist() for number in range(len(tokenized))]


@pytest.mark.parametrize("pairs", [None, TEXTS[::-1]])
def test_tokenized_examples_equal_their_encoding(tmp_path, pairs):
    tokenized = tokenize_examples(TEXTS, pairs, TOKENIZER, 16, tmp_path / "cache" / "a")
    expected = TOKENIZER.encode_many(TEXTS, pairs, 16)
    assert token_rows(tokenized) == [ids for ids, _ in expected]
    assert [tokenized.segments(n).tolist() for n in range(len(tokenized))] == [
        s for _, s in expected
    ]
    assert tokenized.lengths.tolist() == [len(ids) for ids, _ in expected]
    assert tokenized.ids(0).dtype == np.int64 and tokenized.tokens == tokenized.lengths.sum()


def test_a_separator_in_the_text_does_not_move_the_segments(tmp_path):
    tokenized = tokenize_examples(["a [SEP] b"], ["c"], TOKENIZER, 16, tmp_path / "a")
    assert tokenized.segments(0).tolist() == [0, 0, 0, 0, 0, 1, 1]


def test_no_examples_give_an_empty_data_set(tmp_path):
    assert len(tokenize_examples([], None, TOKENIZER, 16, tmp_path / "a")) == 0


def contents(rows: list[list[int]]) -> list[int]:
    """All tokens except special ones."""
    return [token for row in rows for token in row if token > 4]


@given(st.lists(st.text("ab \n", max_size=60), min_size=1, max_size=30), st.integers(6, 24))
@tries(60)
def test_a_stream_fills_its_rows_without_loss(tmp_path_factory, texts, max_length):
    folder = tmp_path_factory.mktemp("stream") / "a"
    expected = [ids for text in texts for ids in TOKENIZER.contents([text])[0]]
    if not expected:
        with pytest.raises(StudioError, match="no text"):
            tokenize_stream(texts, TOKENIZER, max_length, folder)
        return
    rows = token_rows(tokenize_stream(texts, TOKENIZER, max_length, folder))
    assert contents(rows) == expected
    for row in rows:
        assert row[0] == TOKENIZER.cls and row[-1] == TOKENIZER.sep
        assert row[1] > 4 and row[-2] > 4
        assert len(row) <= max_length
    assert all(len(row) >= max_length - 2 for row in rows[:-1])


def test_documents_in_a_row_are_separated(tmp_path):
    tokenized = tokenize_stream(["a b", "c d e f g h"], TOKENIZER, 8, tmp_path / "a")
    rows = [" ".join(TOKENIZER.token(n) for n in row) for row in token_rows(tokenized)]
    assert rows == ["[CLS] a b [SEP] c d e [SEP]", "[CLS] f g h [SEP]"]
    assert tokenized.segments(0).tolist() == [0] * 8


def unreadable_texts() -> Iterator[str]:
    raise AssertionError("the texts were read again")
    yield ""


def test_files_are_written_once(tmp_path):
    first = tokenize_stream(TEXTS, TOKENIZER, 16, tmp_path / "a")
    second = tokenize_stream(unreadable_texts(), TOKENIZER, 16, tmp_path / "a")
    assert token_rows(second) == token_rows(first)


@pytest.mark.parametrize("name", FILES)
def test_damaged_files_are_detected_and_rebuilt(tmp_path, name):
    first = token_rows(tokenize_stream(TEXTS, TOKENIZER, 16, tmp_path / "a"))
    content = (tmp_path / "a" / name).read_bytes()
    (tmp_path / "a" / name).write_bytes(content[: len(content) // 2])
    with pytest.raises(StudioError, match="damaged"):
        TokenizedDataset.open(tmp_path / "a")
    assert token_rows(tokenize_stream(TEXTS, TOKENIZER, 16, tmp_path / "a")) == first
    changed = bytearray(content)
    changed[-1] ^= 1
    (tmp_path / "a" / name).write_bytes(changed)
    assert token_rows(tokenize_stream(TEXTS, TOKENIZER, 16, tmp_path / "a")) == first


def test_an_interrupted_stream_leaves_no_files(tmp_path):
    def texts() -> Iterator[str]:
        yield "some text"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tokenize_stream(texts(), TOKENIZER, 16, tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


def test_progress_is_reported(tmp_path):
    progress: list[tuple[int, int]] = []
    tokenize_examples(
        ["a"] * 4_500, None, TOKENIZER, 8, tmp_path / "a", lambda d, t: progress.append((d, t))
    )
    assert progress == [(2_000, 4_500), (4_000, 4_500), (4_500, 4_500)]
    progress.clear()
    tokenize_stream(
        ["a"] * 4_500, TOKENIZER, 8, tmp_path / "b", lambda d, t: progress.append((d, t)), 4_500
    )
    assert progress == [(2_000, 4_500), (4_000, 4_500), (4_500, 4_500)]


def test_large_vocabularies_keep_their_ids(tmp_path):
    pieces = (*SPECIAL, *(f"w{n}" for n in range(70_000)))
    tokenizer = Tokenizer(WordPiece(tokens=pieces))
    tokenized = tokenize_examples(["w0 w69999"], None, tokenizer, 8, tmp_path / "a")
    assert tokenized.ids(0).tolist() == [2, 5, 70_004, 3]


def test_the_cache_key_depends_on_all_relevant_settings():
    other = Tokenizer(WordPiece(tokens=TOKENIZER.vocabulary.tokens, lowercase=False))
    keys = {
        cache_key("data", TOKENIZER, 16, "train"),
        cache_key("other", TOKENIZER, 16, "train"),
        cache_key("data", other, 16, "train"),
        cache_key("data", TOKENIZER, 17, "train"),
        cache_key("data", TOKENIZER, 16, "validation"),
    }
    assert len(keys) == 5 and cache_key("data", TOKENIZER, 16, "train") in keys
