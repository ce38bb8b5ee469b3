"""Rows to label next: suggestions, orders, and the cache of vectors."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import entropy

from engine.checkpoints.prediction_settings import save_settings
from engine.config.codebook import Code, Codebook
from engine.config.dataset import Mapping, Split
from engine.config.prediction import PredictionSettings
from engine.data.columns.label_sets import parse_label_sets
from engine.data.columns.text_spans import read_spans
from engine.data.datasets.importing import import_dataset
from engine.data.datasets.rows import Rows
from engine.data.datasets.store import Dataset, open_dataset
from engine.data.formats.reading import recognise
from engine.errors import StudioError
from engine.files.home import Home
from engine.files.shipped import minilm
from engine.messages.labelling import LabelsSuggested, SuggestLabels
from engine.models import checkpoint
from engine.tasks import checkpoint_learner, vector_cache
from engine.tasks.evaluating import collect_predictions
from engine.tasks.next_rows import suggest_labels
from engine.tasks.predicting import Predictor
from engine.tasks.row_orders import margins, mean_binary_entropy, most_diverse
from engine.tasks.similarity import sentence_vectors
from engine.tasks.vector_cache import text_vectors
from engine.tasks.whole_text import WholeTextLearner
from engine.tasks.zero_shot import compare_with_codes
from tests.engine.tasks.test_suggesting import WORDS, import_rows


def ask(data: Dataset, model: Path, order: str = "uncertain", **options: Any) -> LabelsSuggested:
    question = SuggestLabels(data=Path(), checkpoint=model, order=order, **options)  # type: ignore[arg-type]
    return suggest_labels(data, checkpoint.load(model), question, lambda *_: None)


def test_unlabelled_rows_get_suggestions(tmp_path, tuned):
    rows = [f"{WORDS['good']} {n},{'' if n % 2 else 'good'}" for n in range(40)]
    data = import_rows(tmp_path, rows)
    model = tuned("text_classification").checkpoint
    labels = checkpoint.load(model).labels
    for order in ("uncertain", "diverse"):
        result = ask(data, model, order)
        assert result.rows == 20
        assert sorted(item.row for item in result.suggestions) == list(range(1, 40, 2))
        assert {s.label for s in result.suggestions} <= set(labels)
    margins = [s.probability for s in result.suggestions]
    assert all(0 <= margin <= 1 for margin in margins)


def test_suggestions_are_the_predictions_of_the_model(tmp_path, tuned):
    texts = [f"{WORDS['good']} {n} " + "and so on " * (40 * (n % 2)) for n in range(20)]
    cells = [f"{text},{'' if n > 3 else 'good'}" for n, text in enumerate(texts)]
    data = import_rows(tmp_path, cells)
    settings = {
        "text_classification": PredictionSettings(threshold=0.999),
        "ordinal_classification": PredictionSettings(),
    }
    for kind, chosen in settings.items():
        model = Path(shutil.copytree(tuned(kind).checkpoint, tmp_path / kind))
        save_settings(model, chosen)
        rows = ask(data, model, "file").suggestions
        records = Predictor(model).predict(Rows([texts[item.row] for item in rows]))
        said = [next(iter(record.values())) for record in records]
        assert [item.label for item in rows] == said and len(rows) == 16, kind
        learner = checkpoint_learner(checkpoint.load(model))
        assert isinstance(learner, WholeTextLearner)
        assert [item.probability for item in rows] == pytest.approx(
            [record["probability"] for record in records], abs=1e-6
        )
        p = np.array([[0.4, 0.15, 0.45], [0.1, 0.8, 0.1]])[:, : len(learner.labels)]
        for row in np.log(p).astype(np.float32):
            described = learner.describe_output(torch.from_numpy(row))
            assert described["label"] == learner.labels[learner.choose(row[None])[0]]  # type: ignore[attr-defined]


def test_a_model_without_classes_learns_from_labelled_rows(tmp_path, tuned):
    kinds = [kind for n in range(30) for kind in WORDS]
    rows = [f"{WORDS[kind]} {n},{'' if n % 3 else kind}" for n, kind in enumerate(kinds)]
    data = import_rows(tmp_path, rows)
    model = tuned("regression").checkpoint
    for order in ("uncertain", "diverse"):
        result = ask(data, model, order)
        assert sorted(s.row for s in result.suggestions) == [n for n in range(60) if n % 3]
        assert all(s.label == kinds[s.row] for s in result.suggestions)
        assert all(0.5 < s.probability <= 1 for s in result.suggestions)


def test_a_labelled_row_is_not_suggested_its_own_label(tmp_path, tuned):
    rows = [f"{WORDS[kind]} {n},{kind}" for n in range(2) for kind in WORDS]
    data = import_rows(tmp_path, [*rows, "zebras gallop over mountains,odd"])
    (given,) = ask(data, tuned("regression").checkpoint, "file", rows=(len(rows),)).suggestions
    assert given.row == len(rows) and given.label in WORDS


def test_labels_given_since_the_version_are_learned_and_rows_are_ordered_as_asked(tmp_path, tuned):
    kinds = [kind for n in range(30) for kind in WORDS]
    data = import_rows(tmp_path, [f"{WORDS[kind]} {n}," for n, kind in enumerate(kinds)])
    model = tuned("regression").checkpoint
    labels = {row: kinds[row] for row in range(12)} | {13: ""}
    result = ask(data, model, "likely", label="bad", labels=labels)
    rows = [item.row for item in result.suggestions]
    assert result.rows == 48 and sorted(rows) == list(range(12, 60)) and not result.from_codebook
    assert {kinds[row] for row in rows[:20]} == {"bad"}
    given = ask(data, model, "file", rows=(30, 17), labels=labels)
    assert [(s.row, s.label) for s in given.suggestions] == [(30, kinds[30]), (17, kinds[17])]
    with pytest.raises(StudioError, match="does not know the label “fine” yet"):
        ask(data, model, "likely", label="fine", labels=labels)


def test_before_the_first_label_rows_are_compared_with_the_codebook(tmp_path):
    texts = ["It is far too expensive and I paid too much", "The waiter was rude to us"]
    data = import_rows(tmp_path, [f"{texts[n % 2]} {n}," for n in range(12)])
    price = Code(label="price", definition="what it costs", examples=("far too expensive",))
    old = Code(label="meal", deprecated=True)
    book = Codebook(codes=(price, Code(label="staff", definition="how people served us"), old))
    model = minilm()
    result = ask(data, model, "likely", label="price", codebook=book)
    assert result.from_codebook and [s.row % 2 for s in result.suggestions] == [0] * 6 + [1] * 6
    assert [s.label for s in result.suggestions] == ["price"] * 6 + ["staff"] * 6
    codes = book.active
    p = compare_with_codes(checkpoint.load(model), model, texts, codes)
    assert p.shape == (2, 2) and np.allclose(p.sum(axis=1), 1)


def test_a_model_that_cannot_predict_such_labels_is_refused(tmp_path, tuned):
    model = tuned("regression").checkpoint
    data = import_rows(tmp_path, ["a film,good"] * 12)
    with pytest.raises(StudioError, match="Every row has a label"):
        ask(data, model)
    (tmp_path / "some").mkdir()
    data = import_rows(tmp_path / "some", ["a film,good", "a film more,"] * 12)
    with pytest.raises(StudioError, match="does not predict such labels, and there are fewer"):
        ask(data, model)
    data = import_table(tmp_path, ["words,tags", *["a film,O O", "a film,"] * 12], tags="tags")
    with pytest.raises(StudioError, match="does not predict tags"):
        ask(data, model)


def import_table(folder: Path, lines: list[str], **roles: Any) -> Dataset:
    name = f"table{len([*folder.iterdir()])}"
    file = folder / f"{name}.csv"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    mapping = Mapping(text=lines[0].split(",")[0], **roles)
    into = folder / name / "1"
    import_dataset(name, {"all": file}, recognise(file).reading, mapping, Split(), into)
    return open_dataset(into)


def test_sets_come_up_by_their_mean_binary_entropy(tmp_path, tuned):
    kinds = ["good|long", "bad", "good", "bad|long"] * 15
    texts = [
        f"{WORDS[kind.split('|')[0]]} {'of three hours ' * ('long' in kind)}{n}"
        for n, kind in enumerate(kinds)
    ]
    cells = [kind if n % 4 != 3 and n < 48 else "" for n, kind in enumerate(kinds)]
    data = import_table(
        tmp_path, ["text,label", *map(",".join, zip(texts, cells, strict=True))], label="label"
    )
    encoder = tuned("regression").checkpoint
    result = ask(data, encoder, labels={51: '["bad", "long"]', 55: "[]", 0: ""})
    rows = [item.row for item in result.suggestions]
    assert result.learns and 0 in rows and not {51, 55} & {*rows} and result.rows == len(rows)
    found = parse_label_sets(item.label for item in result.suggestions)
    right = sum({*sets} == {*kinds[row].split("|")} for row, sets in zip(rows, found, strict=True))
    assert right > 0.8 * len(rows)

    flags = [f"{'good' in kind:d},{'long' in kind:d}" for kind in kinds[:40]] + [","] * 20
    lines = ["text,good,long", *map(",".join, zip(texts, flags, strict=True))]
    data = import_table(tmp_path, lines, flags=("good", "long"))
    result = ask(data, encoder, labels={40: '["good"]'})
    assert sorted(item.row for item in result.suggestions) == [*range(41, 60)]
    assert all(item.label.startswith("[") for item in result.suggestions)

    model = tuned("multi_label").checkpoint
    result = ask(data, model)
    assert not result.learns, "a fine-tuned model stays as it is"
    loaded = checkpoint.load(model)
    learner = checkpoint_learner(loaded)
    assert learner is not None
    p = collect_predictions(loaded, learner, Rows(texts[40:]), 128).row_predictions().scores
    assert p is not None
    order = np.argsort(-mean_binary_entropy(p.astype(np.float64)), kind="stable") + 40
    assert [item.row for item in result.suggestions] == order.tolist()


def test_pairs_are_learned_from_both_texts(tmp_path):
    texts = ["rain in spain", "a dull film", "my old house", "the price of tea", "two red cars"]
    rows = [(a, b) for a in texts for b in texts] + [(a, a) for a in texts for _ in range(3)]
    lines = [f"{a} {n},{b} today,{'same' if a == b else 'other'}" for n, (a, b) in enumerate(rows)]
    hidden = [n for n in range(len(lines)) if n % 5 == 2]
    shown = [line.rpartition(",")[0] + "," if n in hidden else line for n, line in enumerate(lines)]
    data = import_table(tmp_path, ["a,b,label", *shown], pair="b", label="label")
    result = ask(data, minilm())
    assert sorted(item.row for item in result.suggestions) == hidden
    right = [item.label == lines[item.row].rpartition(",")[2] for item in result.suggestions]
    assert sum(right) >= 0.8 * len(right)
    assert len(ask(data, minilm(), "diverse").suggestions) == len(hidden)


def test_tagged_rows_come_up_by_their_least_confident_word(tmp_path, tuned):
    texts = [f"Ada met Bob in Rome {n}" + " and left" * (n % 3) for n in range(12)]
    tags = ["" if n % 2 else " ".join("O" * len(text.split())) for n, text in enumerate(texts)]
    lines = map(",".join, zip(texts, tags, strict=True))
    data = import_table(tmp_path, ["text,tags", *lines], tags="tags")
    model = tuned("token_classification").checkpoint
    result = ask(data, model)
    loaded = checkpoint.load(model)
    learner = checkpoint_learner(loaded)
    assert learner is not None and not result.learns
    hidden = [n for n in range(12) if n % 2]
    rows = Rows([texts[n] for n in hidden])
    records = collect_predictions(loaded, learner, rows, 128).predictions()
    least = {n: min(r["probabilities"]) for n, r in zip(hidden, records, strict=True)}
    assert [s.row for s in result.suggestions] == sorted(hidden, key=least.__getitem__)
    by_row = dict(zip(hidden, records, strict=True))
    for item in result.suggestions:
        assert item.label.split() == by_row[item.row]["tags"]
        assert item.probability == pytest.approx(least[item.row], abs=1e-6)
    cells = [f'"{text}",{"" if n % 2 else "[]"}' for n, text in enumerate(texts)]
    marked = import_table(tmp_path, ["text,marks", *cells], tags="marks")
    assert marked.spec.has_text_spans
    for item in ask(marked, model).suggestions:
        expected = [(s["text"], s["type"]) for s in by_row[item.row]["spans"]]
        found = [(texts[item.row][s.start : s.end], s.label) for s in read_spans(item.label) or ()]
        assert found == expected
    used = {tag[2:] for r in records for tag in r["tags"]} - {""}
    for label in used:
        assert sorted(s.row for s in ask(data, model, "likely", label=label).suggestions) == hidden


def test_orders_of_probabilities_and_vectors():
    p = np.array([[0.9, 0.1, 0.0], [0.4, 0.35, 0.25], [0.5, 0.3, 0.2]])
    assert np.argsort(margins(p)).tolist() == [1, 2, 0]
    p = np.array([[0.5, 0.5], [0.0, 1.0], [0.1, 0.3]])
    peer = entropy(np.stack([p, 1 - p]), axis=0).mean(axis=1)
    assert mean_binary_entropy(p) == pytest.approx(peer, abs=1e-9)
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(4), 25)
    vectors = (np.eye(4)[groups] + rng.normal(0, 0.02, (100, 4))).astype(np.float32)
    assert set(groups[most_diverse(vectors, 4)]) == {0, 1, 2, 3}
    assert len(set(most_diverse(vectors, 500).tolist())) == 100
    known = vectors[groups == 2]
    assert set(groups[most_diverse(vectors, 3, known)]) == {0, 1, 3}, "far from what is labelled"


def test_each_text_is_read_once_by_a_model(monkeypatch, home):
    loaded, read = checkpoint.load(minilm()), list[str]()

    def counted(loaded: Any, texts: Any, **options: Any) -> Any:
        read.extend(texts)
        return sentence_vectors(loaded, texts, **options)

    monkeypatch.setattr(vector_cache, "sentence_vectors", counted)
    monkeypatch.setattr(vector_cache, "CHUNK", 2)
    texts = ["one film", "a second one", "one film", "", "the last film"]
    first = text_vectors(loaded, minilm(), texts)
    assert np.allclose(first, sentence_vectors(loaded, texts), atol=1e-5) and len(read) == 4
    read.clear()
    assert np.array_equal(text_vectors(loaded, minilm(), ["new", *texts[::-1]])[1:], first[::-1])
    assert read == ["new"]
    (folder,) = (Home().cache / "vectors").iterdir()
    files = sorted(folder.iterdir())
    assert len(files) == 3
    files[0].write_bytes(b"not an archive")
    assert np.allclose(text_vectors(loaded, minilm(), texts), first, atol=1e-5)
    assert 2 <= len(read) <= 3, "those of the damaged file"
    other = folder.parent / "other"
    other.mkdir()
    (other / "vectors.npz").write_bytes(b"1" * 100)
    monkeypatch.setattr(vector_cache, "MAX_BYTES", 1)
    text_vectors(loaded, minilm(), ["newest"])
    assert not other.exists() and folder.exists()
