"""Suggestions for the labels of a stored data set."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.config.codebook import Code, Codebook
from engine.config.dataset import Mapping, Split
from engine.data.datasets.importing import import_dataset
from engine.data.datasets.rows import Rows
from engine.data.datasets.store import Dataset, open_dataset
from engine.data.formats.reading import recognise
from engine.errors import StudioError
from engine.files.shipped import minilm
from engine.messages.labelling import SuggestLabels
from engine.models import checkpoint
from engine.tasks.suggesting import (
    compare_with_codes,
    find_label_errors,
    layer_vectors,
    mean_vectors,
    spread_layers,
    suggest_labels,
)

WORDS = {"good": "a fine and lovely film", "bad": "a dull and awful film"}


def import_rows(folder: Path, rows: list[str]) -> Dataset:
    file = folder / "films.csv"
    file.write_text("\n".join(["text,label", *rows]) + "\n", encoding="utf-8")
    into = folder / "films" / "1"
    reading = recognise(file).reading
    mapping = Mapping(text="text", label="label")
    import_dataset("films", {"all": file}, reading, mapping, Split(validation=0.2, test=0.1), into)
    return open_dataset(into)


def ask(order: str = "uncertain", **options: Any) -> SuggestLabels:
    """A question whose data and model are passed apart."""
    return SuggestLabels(data=Path(), checkpoint=Path(), order=order, **options)  # type: ignore[arg-type]


def test_wrong_labels_are_listed_with_the_right_one(tmp_path):
    rows = [f"{WORDS[label]} {n},{label}" for n in range(60) for label in WORDS]
    data = import_rows(tmp_path, rows)
    candidates = np.flatnonzero(data.splits != 2)
    wrong = candidates[[3, 30, 61]]
    for number in wrong:
        text, _, label = rows[number].rpartition(",")
        rows[number] = f"{text},{'bad' if label == 'good' else 'good'}"
    (tmp_path / "again").mkdir()
    data = import_rows(tmp_path / "again", rows)
    messages: list[tuple[str, int, int]] = []
    result = find_label_errors(data, None, lambda *progress: messages.append(progress))
    assert result.rows == int((data.splits != 2).sum()), "test rows are left out"
    assert {s.row for s in result.suggestions[:3]} == {int(number) for number in wrong}
    labels = [data.page(s.row, 1)[0]["label"] for s in result.suggestions[:3]]
    assert all(item.label != label for item, label in zip(result.suggestions, labels, strict=False))
    assert result.likely == 3 and len(result.suggestions) == round(0.1 * result.rows)
    assert messages[-1][1:] == (3, 3)


def test_rows_without_two_labels_are_refused(tmp_path, tuned):
    data = import_rows(tmp_path, ["a film,good"] * 12)
    with pytest.raises(StudioError, match="fewer than two different labels"):
        find_label_errors(data, None, lambda *_: None)
    model = tuned("regression")
    with pytest.raises(StudioError, match="Every row has a label"):
        suggest_labels(data, checkpoint.load(model.checkpoint), ask(), lambda *_: None)
    (tmp_path / "some").mkdir()
    data = import_rows(tmp_path / "some", ["a film,good", "a film more,"] * 12)
    with pytest.raises(StudioError, match="does not classify texts, and there are fewer than two"):
        suggest_labels(data, checkpoint.load(model.checkpoint), ask(), lambda *_: None)


def test_unlabelled_rows_get_suggestions(tmp_path, tuned):
    rows = [f"{WORDS['good']} {n},{'' if n % 2 else 'good'}" for n in range(40)]
    data = import_rows(tmp_path, rows)
    model = tuned("text_classification")
    loaded = checkpoint.load(model.checkpoint)
    for order in ("uncertain", "diverse"):
        result = suggest_labels(data, loaded, ask(order), lambda *_: None)
        assert result.rows == 20
        assert sorted(item.row for item in result.suggestions) == list(range(1, 40, 2))
        assert {s.label for s in result.suggestions} <= set(loaded.labels)
    margins = [s.probability for s in result.suggestions]
    assert all(0 <= margin <= 1 for margin in margins)


def test_a_model_without_classes_learns_from_labelled_rows(tmp_path, tuned):
    kinds = [kind for n in range(30) for kind in WORDS]
    rows = [f"{WORDS[kind]} {n},{'' if n % 3 else kind}" for n, kind in enumerate(kinds)]
    data = import_rows(tmp_path, rows)
    loaded = checkpoint.load(tuned("regression").checkpoint)
    for order in ("uncertain", "diverse"):
        result = suggest_labels(data, loaded, ask(order), lambda *_: None)
        assert sorted(s.row for s in result.suggestions) == [n for n in range(60) if n % 3]
        assert all(s.label == kinds[s.row] for s in result.suggestions)
        assert all(0.5 < s.probability <= 1 for s in result.suggestions)


def test_vectors_are_means_over_tokens_without_padding(tmp_path, tuned):
    loaded = checkpoint.load(tuned("text_classification").checkpoint)

    texts = ["a film", "a much longer film than the other one, and rather dull", "a film"]
    together = mean_vectors(loaded, Rows(texts))
    alone = mean_vectors(loaded, Rows(texts[:1]))
    assert np.allclose(together[0], alone[0], atol=1e-5)
    assert np.allclose(together[0], together[2], atol=1e-5)
    assert not np.allclose(together[0], together[1])
    layers = spread_layers(loaded)
    assert layers == (1, -1) and loaded.spec.layers == 2
    several = layer_vectors(loaded, Rows(texts), layers)
    assert np.allclose(several[:, -1], together, atol=1e-6)
    assert not np.allclose(several[:, 0], together)
    assert np.allclose(several[0], layer_vectors(loaded, Rows(texts[:1]), layers)[0], atol=1e-5)


def test_labels_given_since_the_version_are_learned_and_rows_are_ordered_as_asked(tmp_path, tuned):
    kinds = [kind for n in range(30) for kind in WORDS]
    data = import_rows(tmp_path, [f"{WORDS[kind]} {n}," for n, kind in enumerate(kinds)])
    loaded = checkpoint.load(tuned("regression").checkpoint)
    labels = {row: kinds[row] for row in range(12)} | {13: ""}
    result = suggest_labels(
        data, loaded, ask("likely", label="bad", labels=labels), lambda *_: None
    )
    rows = [item.row for item in result.suggestions]
    assert result.rows == 48 and sorted(rows) == list(range(12, 60)) and not result.from_codebook
    assert {kinds[row] for row in rows[:20]} == {"bad"}
    given = suggest_labels(data, loaded, ask("file", rows=(30, 17), labels=labels), lambda *_: None)
    assert [(s.row, s.label) for s in given.suggestions] == [(30, kinds[30]), (17, kinds[17])]
    with pytest.raises(StudioError, match="does not know the label “fine” yet"):
        suggest_labels(data, loaded, ask("likely", label="fine", labels=labels), lambda *_: None)


def test_before_the_first_label_rows_are_compared_with_the_codebook(tmp_path):
    texts = ["It is far too expensive and I paid too much", "The waiter was rude to us"]
    data = import_rows(tmp_path, [f"{texts[n % 2]} {n}," for n in range(12)])
    price = Code(label="price", definition="what it costs", examples=("far too expensive",))
    old = Code(label="meal", deprecated=True)
    book = Codebook(codes=(price, Code(label="staff", definition="how people served us"), old))
    loaded = checkpoint.load(minilm())
    result = suggest_labels(
        data, loaded, ask("likely", label="price", codebook=book), lambda *_: None
    )
    assert result.from_codebook and [s.row % 2 for s in result.suggestions] == [0] * 6 + [1] * 6
    assert [s.label for s in result.suggestions] == ["price"] * 6 + ["staff"] * 6
    codes = book.active
    vectors = mean_vectors(loaded, Rows(texts))
    p = compare_with_codes(loaded, vectors, codes)
    assert p.shape == (2, 2) and np.allclose(p.sum(axis=1), 1)
