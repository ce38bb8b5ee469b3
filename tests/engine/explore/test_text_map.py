"""The map of texts, compared with scikit-learn and transformers."""

from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE
from sklearn.metrics import silhouette_score
from sklearn.model_selection import LeaveOneOut, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from transformers import AutoModel

from engine.data.datasets.rows import Rows
from engine.errors import StudioError
from engine.explore import over_texts as work
from engine.explore import text_map
from engine.explore.text_map import distances, encode_texts, label_separation, map_texts, pca, tsne
from engine.messages.explore.text_set import PlaceTexts, TextSet, TypedText
from engine.models.checkpoint import load
from engine.models.heads import Heads
from engine.serving.serving import Serving
from tests.engine.models.small import folder

TEXTS = ("a b c", "d e f g", "h i", "a a a k l", "m n", "q p o n", "b c", "e f")
LABELS = ("bad", "good", "bad", "good", "bad", "good", "", "bad")


def query(path: Path, **options) -> PlaceTexts:
    typed = TextSet(
        typed=tuple(TypedText(text=t, label=g) for t, g in zip(TEXTS, LABELS, strict=True))
    )
    return PlaceTexts(checkpoint=path, texts=typed, **options)


def test_vectors_match_transformers(classifier):
    serving = Serving(load(classifier))
    result = encode_texts(serving, Rows(texts=list(TEXTS[:2])))
    theirs = AutoModel.from_pretrained(classifier).eval()
    for number, text in enumerate(TEXTS[:2]):
        ids = serving.exact.tokenizer.encode(text).ids
        with torch.no_grad():
            out = theirs(torch.tensor([ids]), output_hidden_states=True)
        hidden = torch.cat(out.hidden_states).numpy()
        assert result["cls"][number] == pytest.approx(hidden[:, 0], abs=5e-3)  # float16
        assert result["mean"][number] == pytest.approx(hidden[:, 1:-1].mean(1), abs=5e-3)
        assert result["pooled"][number] == pytest.approx(out.pooler_output[0].numpy(), abs=2e-3)


def test_batching_changes_no_vector(classifier, monkeypatch):
    """Texts of several lengths in a padded batch, and each alone."""
    serving, rows = Serving(load(classifier)), Rows(texts=list(TEXTS), labels=list(LABELS))
    result = encode_texts(serving, rows)
    monkeypatch.setattr(text_map, "batches", lambda tokens: [[n] for n in range(len(tokens))])
    alone = encode_texts(serving, rows)
    assert alone["mean"].std() > 0.1
    for name in ("cls", "mean", "pooled"):
        assert result[name].astype(float) == pytest.approx(alone[name].astype(float), abs=5e-3), (
            name
        )
    assert result["prediction"].tolist() == alone["prediction"].tolist()


@pytest.mark.parametrize("shape", [(30, 6), (6, 30)])
def test_pca_matches_scikit_learn_with_a_fixed_sign(shape):
    x = np.random.default_rng(0).normal(size=shape) * np.arange(1, shape[1] + 1)
    points, ratios = pca(x)
    theirs = PCA(2)
    expected = theirs.fit_transform(x)
    assert np.abs(points) == pytest.approx(np.abs(expected), abs=1e-9)
    assert ratios == pytest.approx(theirs.explained_variance_ratio_.tolist())
    axes = np.linalg.lstsq(x - x.mean(0), points, rcond=None)[0].T
    assert (axes[np.arange(2), np.abs(axes).argmax(1)] > 0).all()
    assert np.isfinite(pca(np.ones(shape))[0]).all()


def test_one_varying_feature_gives_a_line():
    line = np.array([[1.0], [2.0], [4.0]])
    points, ratios = pca(line)
    assert points == pytest.approx(np.hstack([line - line.mean(), np.zeros((3, 1))]))
    assert ratios == (1, 0)


def test_label_separation_matches_scikit_learn(monkeypatch):
    rng = np.random.default_rng(3)
    ids = np.array([0] * 12 + [1] * 20 + [2] * 9 + [3])
    x = rng.normal(size=(len(ids), 4)) + 2 * ids[:, None]
    pairwise = distances(x, x)
    np.fill_diagonal(pairwise, 0)
    result = label_separation(pairwise, ids)
    assert result.silhouette == pytest.approx(silhouette_score(x, ids), abs=1e-6)
    monkeypatch.setattr(text_map, "NEIGHBOURS", 5)  # no ties with two labels
    is_last = ids > 1
    theirs = cross_val_score(KNeighborsClassifier(5), x, is_last, cv=LeaveOneOut()).mean()
    assert label_separation(pairwise, is_last.astype(int)).neighbours == pytest.approx(theirs)
    assert 0.5 < result.neighbours <= 1
    shuffled = label_separation(pairwise, rng.permutation(ids))
    assert shuffled.silhouette < result.silhouette and shuffled.neighbours < result.neighbours


def test_another_layer_or_method_reuses_stored_vectors(classifier, tmp_path, monkeypatch):
    serving = Serving(load(classifier))
    question = query(classifier, cache=tmp_path / "kept")
    answers: list = []
    first = map_texts(serving, question, tmp_path, answers.append)
    assert len(work.ArrayStore(question.model_copy(update={"layer": 0})).chunks) > 0
    monkeypatch.setattr(text_map, "encode_texts", None)  # encoding again would fail
    other = map_texts(
        serving,
        question.model_copy(update={"layer": 0, "pooling": "cls"}),
        tmp_path,
        answers.append,
    )
    assert not np.array_equal(np.load(first.file), np.load(other.file))
    assert first.layers == 3 and len(first.silhouettes) == len(first.neighbours_shuffled) == 3
    assert first.labels == LABELS and set(first.predictions) <= {"bad", "good", "so-so"}
    assert 0 < sum(first.explained) <= 1
    second = map_texts(
        serving, question.model_copy(update={"method": "tsne"}), tmp_path, answers.append
    )
    assert second.placed == tuple(range(len(TEXTS))) and second.explained is None


def test_encoding_emits_some_maps_and_otherwise_progress(classifier, tmp_path, monkeypatch):
    """Mapping after each slice would cost as much as encoding."""
    monkeypatch.setattr(work, "REPORT_SECONDS", 0)
    monkeypatch.setattr(work, "MIN_SECONDS", 0)
    monkeypatch.setattr(text_map, "group_size", lambda pairs: 1)
    answers: list = []
    last = map_texts(Serving(load(classifier)), query(classifier), tmp_path, answers.append)
    assert [answer.done for answer in answers] == [3, 4, 5, 6, 7] and last.done == len(TEXTS)
    assert [answer.kind for answer in answers] == [last.kind] * 3 + ["working"] + [last.kind]
    partial = np.load(answers[2].file)
    few = query(classifier)
    few = few.model_copy(update={"texts": few.texts.model_copy(update={"rows": tuple(range(5))})})
    expected = map_texts(Serving(load(classifier)), few, tmp_path, answers.append)
    assert partial == pytest.approx(np.load(expected.file), abs=1e-5)


def test_points_left_out_of_tsne_are_means_of_neighbours(monkeypatch):
    monkeypatch.setattr(text_map, "MAX_TSNE", 12)
    x = np.random.default_rng(5).normal(size=(15, 4))
    points, placed = tsne(x)
    assert len(placed) == 12
    for other in set(range(15)) - set(placed.tolist()):
        near = sorted(placed, key=lambda n: np.linalg.norm(x[n] - x[other]))[:5]
        assert points[other] == pytest.approx(points[near].mean(0), rel=1e-5)


@pytest.mark.parametrize(
    "count,perplexity,method",
    [(20, 19 / 3, "exact"), (95, 30.0, "exact"), (101, 30.0, "barnes_hut")],
)
def test_tsne_matches_scikit_learn(count, perplexity, method, monkeypatch):
    """The perplexity is a third of the texts, at most 30; many texts are approximated."""
    monkeypatch.setattr(text_map, "MAX_EXACT", 100)
    x = np.random.default_rng(6).normal(size=(count, 5))
    options = {"init": "pca", "random_state": text_map.SEED, "method": method}
    theirs = TSNE(perplexity=perplexity, **options).fit_transform(x)
    points, placed = tsne(x)
    assert len(placed) == count and points == pytest.approx(theirs, abs=1e-4)


def test_few_texts_and_a_missing_pooler_are_refused(classifier, tmp_path):
    few = query(classifier)
    few = few.model_copy(update={"texts": few.texts.model_copy(update={"rows": (0, 1)})})
    with pytest.raises(StudioError, match="three texts"):
        map_texts(Serving(load(classifier)), few, tmp_path, lambda _: None)
    bare = folder(tmp_path / "bare", Heads())
    with pytest.raises(StudioError, match="no pooler"):
        map_texts(Serving(load(bare)), query(bare, pooling="pooled"), tmp_path, lambda _: None)


def test_label_indices_become_the_label_names_of_the_model(classifier, tmp_path):
    """Labels of another task are left unchanged."""
    for label, expected in (("0", "bad"), ("purple", "purple")):
        typed = tuple(TypedText(text=text, label=label) for text in TEXTS[:3])
        question = PlaceTexts(checkpoint=classifier, texts=TextSet(typed=typed))
        result = map_texts(Serving(load(classifier)), question, tmp_path, lambda _: None)
        assert result.labels == (expected,) * 3 and result.silhouettes == ()
