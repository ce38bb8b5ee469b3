"""A word in several texts, compared with the hidden states of transformers in NumPy."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch

from engine.errors import StudioError
from engine.explore import over_texts as work
from engine.explore.word_vectors import (
    compare,
    encode_words,
    find_occurrences,
    find_tokens,
    find_words,
    random_cosines,
)
from engine.files.shipped import minilm
from engine.messages.explore.text_set import TextSet, TypedText
from engine.messages.explore.word_vectors import CompareWord, FindTokens, FindWords
from engine.models import checkpoint

CLOSE = 1e-5
TEXTS = ("A quiet film.", "Nobody laughs; the Film, left.", "We left.", "film film")


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def test_cosines_match_hidden_states_of_transformers(known):
    answer = compare(known.checkpoint, CompareWord(checkpoint=Path("any"), word="film",
                                                   texts=TEXTS))  # fmt: skip
    assert [entry.text for entry in answer.places] == [0, 1, 3, 3] and answer.missing == (2,)
    assert [TEXTS[p.text][p.start : p.end].lower() for p in answer.places] == ["film"] * 4
    vectors, static = [], []
    table = known.model.get_input_embeddings().weight.detach().double().numpy()
    for place in answer.places:
        inputs = known.encode_text(TEXTS[place.text])
        out = known.run(inputs, output_hidden_states=True)
        hidden = torch.cat(out.hidden_states).double().numpy()
        inside = [
            n
            for n, token in enumerate(inputs.records)
            if not token.special and token.start < place.end and token.end > place.start
        ]
        vectors.append(hidden[:, inside].mean(1))
        static.append(table[[inputs.records[n].id for n in inside]].mean(0))
    layers = len(vectors[0])
    assert len(answer.layers) == layers
    for layer, actual in enumerate(answer.layers):
        expected = [[cosine(a[layer], b[layer]) for b in vectors] for a in vectors]
        assert np.abs(np.array(actual.cosines) - expected).max() < CLOSE
        lower = [expected[a][b] for a in range(4) for b in range(a)]
        assert actual.mean == pytest.approx(np.mean(lower), abs=CLOSE)
        if len(static[0]) == len(vectors[0][layer]):
            rows = [cosine(v[layer], s) for v, s in zip(vectors, static, strict=True)]
            assert actual.static == pytest.approx(rows, abs=CLOSE)
        else:
            assert actual.static == ()


def test_the_example_of_the_help_page_has_the_cosines_of_minilm():
    page = (Path(__file__).parents[3] / "resources/help/vectors.md").read_text(encoding="utf-8")
    texts = tuple(re.findall(r"^\d\. (.*stick.*)$", page, re.MULTILINE))
    loaded = checkpoint.load(minilm())
    answer = compare(loaded, CompareWord(checkpoint=minilm(), word="stick", texts=texts))
    rows = re.findall(r"^\| (\d) and (\d), .*? \|(.*)\|$", page, re.MULTILINE)
    assert len(rows) == 4 and len(texts) == 4
    for first, second, cells in rows:
        static, *values = map(float, cells.split("|"))
        pair = int(first) - 1, int(second) - 1
        cosines = [answer.layers[n].cosines[pair[0]][pair[1]] for n in (0, 3, 6)]
        assert static == 1 and values == pytest.approx(cosines, abs=0.0051), pair


def test_random_pairs_come_from_different_texts():
    """Tokens of one text are equal, those of different texts orthogonal."""
    texts = [torch.zeros((2, 5, 4)) for _ in range(3)]
    for number, text in enumerate(texts):
        text[..., number] = 1 + number
    assert random_cosines(texts) == [0, 0]
    assert all(np.isnan(random_cosines(texts[:1])))


def test_whole_words_are_found_in_any_case():
    assert find_occurrences("stick", "Sticks stick; STICK!") == [(7, 12), (14, 19)]
    assert find_occurrences("a.b", "a.b axb") == [(0, 3)] and find_occurrences("", "abc") == []


def test_a_word_without_occurrences_is_refused(tiny):
    with pytest.raises(StudioError, match="No text contains the word “zebra”"):
        compare(tiny, CompareWord(checkpoint=Path("any"), word="zebra", texts=("a b",)))


SENTENCES = ("A quiet film.", "Nobody laughs; the film, left.", "We left.", "a film film")
ALL = TextSet(typed=tuple(TypedText(text=text) for text in SENTENCES))
FILM = {"text": "A quiet film.", "start": 8, "end": 12, "layer": 1}


def cosines(vector: np.ndarray, rows: np.ndarray) -> np.ndarray:
    norms = np.maximum(np.linalg.norm(rows, axis=1), 1e-12)  # the norm of [PAD] may be 0
    result: np.ndarray = rows @ vector / norms / np.linalg.norm(vector)
    return result


def film_vector(known) -> np.ndarray:
    """The mean of the tokens of “film”, without others that a tokenizer adds to the word."""
    inputs = known.encode_text(FILM["text"])
    hidden = known.run(inputs, output_hidden_states=True).hidden_states[1][0].double().numpy()
    inside = [n for n, token in enumerate(inputs.records) if token.end > 8 and token.start < 12]
    result: np.ndarray = hidden[inside].mean(0)
    return result


def compute_vectors(known, text: str, layer: int) -> dict[tuple[int, int], np.ndarray]:
    """Mean vectors of words in transformers, by their character range."""
    inputs = known.encode_text(text)
    out = known.run(inputs, output_hidden_states=True)
    hidden = out.hidden_states[layer][0].double().numpy()
    words: dict[int, list[int]] = {}
    for number, token in enumerate(inputs.records):
        if not token.special:
            words.setdefault(token.word, []).append(number)
    return {
        (inputs.records[inside[0]].start, inputs.records[inside[-1]].end): hidden[inside].mean(0)
        for inside in words.values()
    }


def test_nearest_tokens_match_the_embedding_of_transformers(known):
    question = FindTokens(checkpoint=known.folder, **FILM, top=5)
    table = known.model.get_input_embeddings().weight.detach().double().numpy()
    vector = film_vector(known)
    if table.shape[1] != len(vector):
        with pytest.raises(StudioError, match="narrower than its layers"):
            find_tokens(known.checkpoint, question)
        return
    result = find_tokens(known.checkpoint, question)
    expected = cosines(vector, table[: known.checkpoint.tokenizer.size])
    best = np.argsort(-expected)[:5]
    assert [token.cosine for token in result.tokens] == pytest.approx(expected[best], abs=CLOSE)
    assert result.tokens[0].token == known.checkpoint.tokenizer.tokens[best[0]]
    assert result.rows == len(expected)


def test_nearest_words_match_transformers(known):
    result = find_words(
        known.checkpoint, FindWords(checkpoint=known.folder, texts=ALL, **FILM), lambda _: None
    )
    query = film_vector(known)
    expected = {
        (row, *position): float(cosines(query, vector[None])[0])
        for row, text in enumerate(SENTENCES)
        for position, vector in compute_vectors(known, text, 1).items()
    }
    assert result.is_final and result.vectors == len(expected)
    (queried,) = (key for key in expected if key[0] == 0 and key[1] <= 8 < key[2])
    del expected[queried]
    by_word = {(word.row, word.start, word.end): word.cosine for word in result.words}
    assert by_word.keys() == expected.keys(), "all words of these texts but the word itself"
    assert max(abs(by_word[key] - expected[key]) for key in by_word) < 2e-3, "stored in 16 bits"
    assert [word.cosine for word in result.words] == sorted(by_word.values(), reverse=True)
    assert SENTENCES[result.words[0].row] == result.words[0].text


def test_another_word_reuses_stored_vectors(tiny, tiny_folder, tmp_path, monkeypatch):
    question = FindWords(
        checkpoint=tiny_folder, texts=ALL, text="a b c", start=2, end=3, layer=2, cache=tmp_path
    )
    answer = find_words(tiny, question, lambda _: None)
    repeated = find_words(tiny, question, lambda _: None)
    assert repeated == answer
    other = question.model_copy(update={"start": 4, "end": 5})
    lower = question.model_copy(update={"layer": 1})
    assert work.question_key(other) == work.question_key(question) != work.question_key(lower)
    monkeypatch.setattr("engine.explore.word_vectors.encode_words", None)
    assert find_words(tiny, other, lambda _: None).vectors == answer.vectors
    with pytest.raises(TypeError):
        find_words(tiny, lower, lambda _: None)


def test_words_of_text_pairs_are_encoded(tiny):
    arrays = encode_words(tiny, [("a b", "c d e"), ("f", None)], 1)
    assert arrays["counts"].tolist() == [5, 1]
    assert arrays["places"].tolist() == [
        [0, 0, 1], [0, 2, 3], [1, 0, 1], [1, 2, 3], [1, 4, 5], [0, 0, 1],
    ]  # fmt: skip
    assert arrays["vectors"].dtype == np.float16 and np.isfinite(arrays["vectors"]).all()


def test_a_word_beyond_the_text_is_refused(tiny):
    question = FindTokens(checkpoint=Path("any"), text="a b", start=90, end=95, layer=1)
    with pytest.raises(StudioError, match="does not read this word"):
        find_tokens(tiny, question)
