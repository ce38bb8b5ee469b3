"""A word in several texts, compared with the hidden states of transformers in NumPy."""

from pathlib import Path

import numpy as np
import pytest
import torch

from engine.errors import StudioError
from engine.explore.word_vectors import compare, find_occurrences, random_cosines
from engine.messages.explore.word_vectors import CompareWord

CLOSE = 1e-5
TEXTS = ("A quiet film.", "Nobody laughs; the Film, left.", "We left.", "film film")


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def test_cosines_are_those_of_the_hidden_states_of_transformers(known) -> None:
    answer = compare(known.checkpoint, CompareWord(checkpoint=Path("any"), word="film",
                                                   texts=TEXTS))  # fmt: skip
    assert [place.text for place in answer.places] == [0, 1, 3, 3] and answer.missing == (2,)
    assert [TEXTS[p.text][p.start : p.end].lower() for p in answer.places] == ["film"] * 4
    vectors, static = [], []
    table = known.model.get_input_embeddings().weight.detach().double().numpy()
    for place in answer.places:
        given = known.encode_text(TEXTS[place.text])
        out = known.run(given, output_hidden_states=True)
        hidden = torch.cat(out.hidden_states).double().numpy()
        inside = [
            n
            for n, token in enumerate(given.described)
            if not token.special and token.start < place.end and token.end > place.start
        ]
        vectors.append(hidden[:, inside].mean(1))
        static.append(table[[given.described[n].id for n in inside]].mean(0))
    layers = len(vectors[0])
    assert len(answer.layers) == layers
    for layer, shown in enumerate(answer.layers):
        expected = [[cosine(a[layer], b[layer]) for b in vectors] for a in vectors]
        assert np.abs(np.array(shown.cosines) - expected).max() < CLOSE
        lower = [expected[a][b] for a in range(4) for b in range(a)]
        assert shown.mean == pytest.approx(np.mean(lower), abs=CLOSE)
        if len(static[0]) == len(vectors[0][layer]):
            rows = [cosine(v[layer], s) for v, s in zip(vectors, static, strict=True)]
            assert shown.static == pytest.approx(rows, abs=CLOSE)
        else:
            assert shown.static == ()


def test_random_pairs_are_of_different_texts() -> None:
    """Tokens of one text are alike, those of different texts orthogonal."""
    texts = [torch.zeros((2, 5, 4)) for _ in range(3)]
    for number, text in enumerate(texts):
        text[..., number] = 1 + number
    assert random_cosines(texts) == [0, 0]
    assert all(np.isnan(random_cosines(texts[:1])))


def test_a_word_is_found_as_a_whole_and_in_any_case() -> None:
    assert find_occurrences("stick", "Sticks stick; STICK!") == [(7, 12), (14, 19)]
    assert find_occurrences("a.b", "a.b axb") == [(0, 3)] and find_occurrences("", "abc") == []


def test_a_word_that_is_nowhere_is_named(tiny) -> None:
    with pytest.raises(StudioError, match="No text contains the word “zebra”"):
        compare(tiny, CompareWord(checkpoint=Path("any"), word="zebra", texts=("a b",)))
