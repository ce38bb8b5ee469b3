"""Words in a file, in embedding rows and in layers, and a word in many texts."""

from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from engine.data.word_vectors.store import convert
from engine.errors import StudioError
from engine.explore.word_occurrences import find_vectors, save, save_occurrences
from engine.explore.word_relations import EmbeddingRows, relate
from engine.messages.explore.text_set import TextSet, TypedText
from engine.messages.explore.word_relations import RelateWords
from engine.messages.explore.word_vectors import SaveWordVectors
from engine.progress import no_progress
from engine.tasks.inputs import encode_text

CLOSE = 1e-5
FILE = Path(__file__).parents[1] / "data" / "word_vectors" / "small.txt"
TEXTS = ("A quiet film.", "Nobody laughs; the film, left.", "We left.", "film film")


def word_vectors(known, word: str) -> list[np.ndarray]:
    """Of each occurrence in TEXTS, the mean of its tokens in transformers, [L + 1, D]."""
    vectors = []
    for text in TEXTS:
        inputs = known.encode_text(text)
        out = known.run(inputs, output_hidden_states=True)
        hidden = [layer[0].double().numpy() for layer in out.hidden_states]
        start = text.find(word)
        while start >= 0:
            inside = [
                n
                for n, token in enumerate(inputs.records)
                if not token.special and token.start < start + len(word) and token.end > start
            ]
            vectors.append(np.stack([layer[inside].mean(0) for layer in hidden]))
            start = text.find(word, start + 1)
    return vectors


def unit(vector: np.ndarray) -> np.ndarray:
    return vector / np.linalg.norm(vector)


def test_words_are_related_in_every_space_as_by_transformers(known, tmp_path):
    convert(FILE, tmp_path / "small")
    question = RelateWords(
        checkpoint=known.folder, words=("film", "left", "stick"), signs=(1, -1, 1),
        vectors=tmp_path / "small", texts=TEXTS, layer=1,
    )  # fmt: skip
    file, rows, *layers = relate(known.checkpoint, question).spaces
    assert file.name == "file" and file.missing == ("film", "left") and not file.nearest
    assert (rows.name, [space.layer for space in layers]) == (
        "rows",
        list(range(1 + known.checkpoint.spec.layers)),
    )
    assert all(space.missing == ("stick",) and not space.nearest for space in layers)
    pair = RelateWords(
        checkpoint=known.folder, words=("film", "left"), signs=(1, -1), texts=TEXTS, layer=1, top=4
    )
    rows, *layers = relate(known.checkpoint, pair).spaces
    means = [np.mean(word_vectors(known, word), axis=0) for word in pair.words]
    for space in layers:
        first, second = (unit(mean[space.layer]) for mean in means)
        assert space.cosines == pytest.approx((first @ second,), abs=CLOSE)
    table = known.model.get_input_embeddings().weight.detach().double().numpy()
    table = table[: known.checkpoint.tokenizer.size]
    ids = [EmbeddingRows(known.checkpoint).ids(word) for word in pair.words]
    static = [unit(table[own].mean(0)) for own in ids]
    assert rows.cosines == pytest.approx((static[0] @ static[1],), abs=CLOSE)
    checks = [(rows, static)]
    if table.shape[1] == means[0].shape[1]:
        checks.append((layers[1], [unit(mean[1]) for mean in means]))
    else:
        assert not any(space.nearest for space in layers)
    for space, units in checks:
        with np.errstate(invalid="ignore"):  # the row of [PAD] may be 0
            cosines = table @ unit(units[0] - units[1]) / np.linalg.norm(table, axis=1)
        cosines[np.isnan(cosines)] = 0
        cosines[[own[0] for own in ids if len(own) == 1]] = -2
        assert [near.cosine for near in space.nearest] == pytest.approx(
            np.sort(cosines)[::-1][:4], abs=CLOSE
        )


def test_a_single_word_has_neighbours_at_each_occurrence(known, tmp_path):
    convert(FILE, tmp_path / "small")
    fields = {"checkpoint": known.folder, "signs": (1,), "texts": TEXTS, "layer": 99}
    rows, *places = relate(known.checkpoint, RelateWords(words=("film",), **fields)).spaces
    assert [space.place.text for space in places] == [0, 1, 3, 3]
    assert {space.layer for space in places} == {known.checkpoint.spec.layers} and rows.searched
    own = EmbeddingRows(known.checkpoint).ids("film")
    name = known.checkpoint.tokenizer.tokens[own[0]]
    for space in (rows, *places):
        if space.searched and len(own) == 1:
            assert name not in [near.token for near in space.nearest]
    file, rows = relate(
        known.checkpoint,
        RelateWords(words=("STICK",), vectors=tmp_path / "small", **fields),
    ).spaces
    assert file.read_as == ("stick",) and len(file.nearest) == 10, "no text has the word"


def test_a_word_within_a_text_has_the_tokens_of_the_text(known):
    """Byte-level vocabularies have other tokens for a word at the beginning of a text."""
    inputs = encode_text(known.checkpoint, "A quiet film.", None)
    inside = [token.id for token in inputs.records if token.start < 12 and token.end > 8]
    assert EmbeddingRows(known.checkpoint).ids("film") == [n for n in inside if n > 0]


def test_vectors_of_a_word_are_written_with_their_texts(known, tmp_path):
    expected = np.stack(word_vectors(known, "film"))
    pairs = [("x", None), *((text, None) for text in TEXTS[:-1]), ("a", TEXTS[-1])]
    for layer in (1, None):
        for suffix in (".parquet", ".npy"):
            found = find_vectors(known.checkpoint, "Film", pairs, layer, no_progress)
            save(tmp_path / f"v{suffix}", found, {"id": list("abcde"), "word": list("vwxyz")})
        table = pq.read_table(tmp_path / "v.parquet")
        vectors = np.stack(table["vector"].to_pylist())
        own = expected[:2, 1 if layer == 1 else -1]
        np.testing.assert_allclose(vectors[:2], own, atol=CLOSE)  # the pair is another input
        np.testing.assert_array_equal(np.load(tmp_path / "v.npy"), vectors.astype(np.float32))
        assert table["row"].to_pylist() == [2, 3, 5, 5] and found.unread == 0
        assert table["word"].to_pylist() == ["film"] * 4 and table["id"].to_pylist() == list("bcee")
        assert table["text"].to_pylist() == [TEXTS[0], TEXTS[1], TEXTS[3], TEXTS[3]]
        assert table["start"].to_pylist() == [8, 19, 0, 5]
    lines = (tmp_path / "v.texts.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "row,word,start,end,text,id" and len(lines) == 5
    with pytest.raises(StudioError, match=r"The model has no layer 9\. Choose .* to 3"):
        find_vectors(known.checkpoint, "film", pairs, 9, no_progress)
    with pytest.raises(StudioError, match="“zebra” in none of the 5 texts"):
        find_vectors(known.checkpoint, "zebra", pairs, None, no_progress)
    long = f"{'a ' * 600}film film"
    with pytest.raises(StudioError, match="in none of the 1 texts"):
        find_vectors(known.checkpoint, "film", [(long, None)], 0, no_progress)


def test_a_question_about_many_texts_reports_and_writes(known, tmp_path):
    typed = tuple(TypedText(text=text) for text in (*TEXTS, *("a film",) * 60))
    question = SaveWordVectors(
        checkpoint=known.folder, texts=TextSet(typed=typed), word="film", file=tmp_path / "v.npy"
    )
    parts = []
    answer = save_occurrences(known.checkpoint, question, parts.append)
    assert [part.done for part in parts] == [0, 50] and not any(part.is_final for part in parts)
    assert answer.is_final and (answer.vectors, answer.unread) == (64, 0)
    assert np.load(tmp_path / "v.npy").shape == (64, known.checkpoint.spec.hidden_size)
