"""Sentence pairs: their classes, their lengths, and the documents they are drawn from."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from engine.data.tokenized.sentence_pairs import IS_NEXT, NOT_NEXT, tokenize_pairs
from engine.errors import StudioError
from engine.tokenizers.tokenizer import Tokenizer
from tests.often import tries

WORDS = 400  # “w0” to “w399”, one token each


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    path = tmp_path_factory.mktemp("vocabulary") / "vocab.txt"
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    path.write_text(
        "\n".join([*specials, *(f"w{n}" for n in range(WORDS))]) + "\n", encoding="utf-8"
    )
    return Tokenizer.from_vocabulary(path, lowercase=True)


def document(first: int, lengths: list[int]) -> str:
    """Sentences of these lengths; their words count up from `first`, which shows their order."""
    lines, number = [], first
    for length in lengths:
        lines.append(" ".join(f"w{n}" for n in range(number, number + length)))
        number += length
    return "\n".join(lines)


def spans(tokenizer: Tokenizer, ids: np.ndarray, segments: np.ndarray) -> tuple[list[int], ...]:
    """The word numbers of both spans."""
    words = [[int(tokenizer.token(i)[1:]) for i in ids[segments == s] if i > 4] for s in (0, 1)]
    return words[0], words[1]


@tries(40, suppress_health_check=[HealthCheck.too_slow])
@given(
    lengths=st.lists(
        st.lists(st.integers(1, 9), min_size=1, max_size=7), min_size=2, max_size=6
    ).filter(lambda documents: any(len(lengths) > 1 for lengths in documents)),
    max_length=st.integers(5, 40),
    fraction=st.floats(0.05, 0.95),
    seed=st.integers(0, 9),
)
def test_every_pair_matches_its_class(
    tokenizer, tmp_path_factory, lengths, max_length, fraction, seed
):
    texts = [document(64 * n, length) for n, length in enumerate(lengths)]
    folder = tmp_path_factory.mktemp("pairs") / "tokenized"
    tokenized, classes = tokenize_pairs(texts, tokenizer, max_length, folder, fraction, seed)
    assert len(tokenized) == len(classes) > 0
    for number, kind in enumerate(classes):
        ids, segments = tokenized.ids(number), tokenized.segments(number)
        assert len(ids) <= max_length
        assert ids[0] == tokenizer.cls and ids[-1] == tokenizer.sep
        assert list(np.flatnonzero(ids == tokenizer.sep)) == [
            int(np.flatnonzero(segments == 1)[0]) - 1,
            len(ids) - 1,
        ]
        first, second = spans(tokenizer, ids, segments)
        for span in (first, second):
            assert span == list(range(span[0], span[0] + len(span))), "consecutive words"
        same_document = first[0] // 64 == second[0] // 64
        assert kind == NOT_NEXT or (same_document and second[0] > first[-1])


def test_the_fraction_of_next_sentences_is_as_requested(tokenizer, tmp_path):
    texts = [document(20 * (n % 16), [4, 5, 3, 6]) for n in range(2000)]
    for fraction in (0.2, 0.8):
        tokenized, classes = tokenize_pairs(
            texts, tokenizer, 32, tmp_path / str(fraction), fraction, 1
        )
        assert (tokenized.lengths < 16).mean() > 0.02, "some inputs are short"
        _, cached = tokenize_pairs([], tokenizer, 32, tmp_path / str(fraction), fraction, 1)
        assert (cached == classes).all(), "existing files are used"
        deviation = np.sqrt(fraction * (1 - fraction) / len(classes))
        assert abs((classes == IS_NEXT).mean() - fraction) < 4 * deviation


def test_the_same_seed_gives_the_same_pairs(tokenizer, tmp_path):
    texts = [document(20 * n, [4, 5, 3, 6]) for n in range(10)]
    first, second = (
        tokenize_pairs(texts, tokenizer, 32, tmp_path / name, 0.5, 7)[0] for name in ("a", "b")
    )
    assert [list(first.ids(n)) for n in range(len(first))] == [
        list(second.ids(n)) for n in range(len(second))
    ]


def test_sentences_are_stored_apart_from_the_pairs(tokenizer, tmp_path):
    """So that text is tokenised once for all lengths."""
    texts = [document(20 * n, [4, 5, 3, 6]) for n in range(10)]
    tokenize_pairs(texts, tokenizer, 16, tmp_path / "tokenized", 0.5, 7)
    assert (tmp_path / "sentences" / "documents.npy").is_file()


def test_texts_of_one_sentence_are_refused(tokenizer, tmp_path):
    with pytest.raises(StudioError, match="two sentences") as caught:
        tokenize_pairs(["w1 w2", "w3"], tokenizer, 32, tmp_path / "tokenized", 0.5, 0)
    assert "turn off N" in caught.value.advice
    assert not (tmp_path / "tokenized").exists()
    with pytest.raises(StudioError, match="too short"):
        tokenize_pairs(["w1\nw2"], tokenizer, 4, tmp_path / "tokenized", 0.5, 0)


def test_random_second_spans_come_from_other_documents(tokenizer, tmp_path):
    texts = [document(100 * n, [3] * 30) for n in range(4)]
    tokenized, classes = tokenize_pairs(texts, tokenizer, 12, tmp_path / "tokenized", 0.5, 3)
    for number in np.flatnonzero(classes == NOT_NEXT):
        first, second = spans(tokenizer, tokenized.ids(number), tokenized.segments(number))
        assert first[0] // 100 != second[0] // 100


def test_a_single_document_gives_both_classes(tokenizer, tmp_path):
    tokenized, classes = tokenize_pairs(
        [document(0, [3] * 40)], tokenizer, 16, tmp_path / "tokenized", 0.5, 0
    )
    assert set(classes) == {IS_NEXT, NOT_NEXT}
    assert tokenized.lengths.max() <= 16
