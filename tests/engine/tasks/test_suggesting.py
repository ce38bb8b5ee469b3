"""Suggestions for the labels of a stored data set."""

from pathlib import Path

import numpy as np
import pytest

from engine.config.dataset import Mapping, Split
from engine.data.datasets.importing import import_dataset
from engine.data.datasets.rows import Rows
from engine.data.datasets.store import Dataset, open_dataset
from engine.data.formats.reading import recognise
from engine.errors import StudioError
from engine.models import checkpoint
from engine.tasks.suggesting import find_label_errors, layer_vectors, spread_layers

WORDS = {"good": "a fine and lovely film", "bad": "a dull and awful film"}


def import_rows(folder: Path, rows: list[str]) -> Dataset:
    file = folder / "films.csv"
    file.write_text("\n".join(["text,label", *rows]) + "\n", encoding="utf-8")
    into = folder / "films" / "1"
    reading = recognise(file).reading
    mapping = Mapping(text="text", label="label")
    import_dataset("films", {"all": file}, reading, mapping, Split(validation=0.2, test=0.1), into)
    return open_dataset(into)


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


def test_rows_without_two_labels_are_refused(tmp_path):
    data = import_rows(tmp_path, ["a film,good"] * 12)
    with pytest.raises(StudioError, match="fewer than two different labels"):
        find_label_errors(data, None, lambda *_: None)


def test_vectors_are_means_over_tokens_without_padding(tmp_path, tuned):
    loaded = checkpoint.load(tuned("text_classification").checkpoint)

    texts = ["a film", "a much longer film than the other one, and rather dull", "a film"]
    together = layer_vectors(loaded, Rows(texts), (-1,))[:, 0]
    alone = layer_vectors(loaded, Rows(texts[:1]), (-1,))[:, 0]
    assert np.allclose(together[0], alone[0], atol=1e-5)
    assert np.allclose(together[0], together[2], atol=1e-5)
    assert not np.allclose(together[0], together[1])
    layers = spread_layers(loaded)
    assert layers == (1, -1) and loaded.spec.layers == 2
    several = layer_vectors(loaded, Rows(texts), layers)
    assert np.allclose(several[:, -1], together, atol=1e-6)
    assert not np.allclose(several[:, 0], together)
    assert np.allclose(several[0], layer_vectors(loaded, Rows(texts[:1]), layers)[0], atol=1e-5)
