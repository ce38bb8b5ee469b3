"""Two models compared on the same texts: divergences, differences, CKA, and their invariants."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.spatial.distance import jensenshannon
from scipy.stats import entropy
from transformers import AutoModelForSequenceClassification

from engine.explore.model_difference import class_kl, compare, hsic, jensen_shannon, linear_cka
from engine.files.shipped import minilm
from engine.messages.explore.head_measures import KEYS, head_figures
from engine.messages.explore.text_set import CompareModels, TextSet, TypedText
from engine.models.checkpoint import load, write
from engine.models.heads import Heads
from engine.serving.serving import Serving
from tests.engine.models.small import folder, network, tokenizer

TEXTS = ("a b c d", "e f g h i", "k l m a", "b d", "q p o n m l")


def query(a: Path, b: Path) -> CompareModels:
    typed = TextSet(typed=tuple(TypedText(text=text) for text in TEXTS))
    return CompareModels(checkpoint=a, other=b, texts=typed)


def compare_folders(a: Path, b: Path, scratch: Path):
    serving = [Serving(load(path)) for path in (a, b)]
    answer = compare(*serving, query(a, b), scratch, lambda _: None)
    with np.load(answer.file) as actual:
        return answer, {name: actual[name] for name in actual.files}


@pytest.fixture(scope="module")
def pair(tmp_path_factory) -> tuple[Path, Path]:
    """A classifier, and a copy with perturbed weights."""
    root = tmp_path_factory.mktemp("models")
    first = folder(root / "a", Heads(outputs=3))
    other = network(Heads(outputs=3))
    torch.manual_seed(3)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.05)
    (root / "b").mkdir()
    write(root / "b", other, tokenizer(root / "b"), ("bad", "good", "so-so"))
    return first, root / "b"


def test_a_model_does_not_differ_from_itself(pair, tmp_path):
    answer, result = compare_folders(pair[0], pair[0], tmp_path)
    assert answer.comparable and not answer.of_words
    assert not result["divergence"].any() and not result["columns"].any() and not result["kl"].any()
    assert result["cka"] == pytest.approx(1.0, abs=1e-9)


def test_a_sentence_encoder_predicts_nothing_for_single_texts(tmp_path):
    answer, result = compare_folders(minilm(), minilm(), tmp_path)
    assert set(answer.predictions) == {("", "")} and not result["divergence"].any()


def test_swapping_the_models_negates_the_differences(pair, tmp_path):
    (answer, arrays), (reverse, other) = (
        compare_folders(*models, tmp_path) for models in (pair, pair[::-1])
    )
    assert np.array_equal(arrays["columns"], -other["columns"]) and arrays["columns"].any()
    assert arrays["divergence"] == pytest.approx(other["divergence"], abs=1e-12)
    assert arrays["cka"] == pytest.approx(other["cka"], abs=1e-9)
    assert [p[::-1] for p in answer.predictions] == list(reverse.predictions)


def test_numbers_match_scipy_on_transformers(pair, tmp_path):
    answer, result = compare_folders(*pair, tmp_path)
    theirs = [
        AutoModelForSequenceClassification.from_pretrained(p, attn_implementation="eager").eval()
        for p in pair
    ]
    loaded_tokenizer = load(pair[0]).tokenizer
    divergence, queries, means, kl = 0.0, 0, [0.0, 0.0], []
    for text in TEXTS:
        encoded = loaded_tokenizer.encode(text)
        with torch.no_grad():
            out = [m(torch.tensor([encoded.ids]), output_attentions=True) for m in theirs]
        weights = [np.stack([a[0].double().numpy() for a in entry.attentions]) for entry in out]
        rows = [n for n, token in enumerate(encoded.tokens) if not token.special]
        p, q = (weight[:, :, rows] for weight in weights)
        divergence = divergence + (jensenshannon(p, q, axis=-1) ** 2).sum(-1)
        queries += len(rows)
        for n, item in enumerate(weights):
            means[n] = means[n] + head_figures(item, encoded.tokens).values * len(rows)
        probabilities = [entry.logits[0].double().softmax(-1).numpy() for entry in out]
        kl.append(entropy(*probabilities))
    assert result["divergence"] == pytest.approx(divergence / queries, abs=1e-6)
    assert (result["divergence"] >= 0).all() and (result["divergence"] <= math.log(2)).all()
    expected = (means[1] - means[0])[..., :-1] / queries
    assert result["columns"][..., :-1] == pytest.approx(expected, abs=1e-5)
    assert result["columns"].shape[-1] == len(KEYS)
    assert result["kl"] == pytest.approx(kl, abs=1e-5)
    assert answer.vectors == queries and len(answer.predictions) == len(TEXTS)


def test_unrelated_models_have_only_a_cka(pair, tmp_path):
    unrelated = network(Heads(outputs=3), seed=99)
    path = tmp_path / "strange"
    path.mkdir()
    write(path, unrelated, tokenizer(path, ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]",
                                          *"abcdefghijklmnopq")), ("x", "y", "z"))  # fmt: skip
    answer, result = compare_folders(pair[0], path, tmp_path)
    assert not answer.comparable and "divergence" not in result
    assert len(result["cka"]) == 3 and np.isnan(result["kl"]).all()
    assert result["layers"].tolist() == [[0, 1, 2]] * 2


def gram_hsic(x: np.ndarray, y: np.ndarray) -> float:
    """Song et al. 2012, equation 5, from the full matrices."""
    n = len(x)
    k, m = x @ x.T, y @ y.T
    np.fill_diagonal(k, 0)
    np.fill_diagonal(m, 0)
    ones = np.ones(n)
    return float(
        np.trace(k @ m)
        + (ones @ k @ ones) * (ones @ m @ ones) / ((n - 1) * (n - 2))
        - 2 / (n - 2) * (ones @ k @ m @ ones)
    ) / (n * (n - 3))


def test_cka_equals_the_full_formula_and_ignores_rotation():
    rng = np.random.default_rng(1)
    x, noise = rng.normal(size=(50, 7)), rng.normal(size=(50, 9))
    y = np.concatenate([x @ rng.normal(size=(7, 4)), noise[:, :5]], 1)
    expected = gram_hsic(x, y)
    assert hsic(x, y) == pytest.approx(expected, rel=1e-9)
    cka = expected / math.sqrt(gram_hsic(x, x) * gram_hsic(y, y))
    assert linear_cka(x + 3, y - 1) == pytest.approx(cka, rel=1e-6)
    rotation = np.linalg.qr(rng.normal(size=(7, 7)))[0]
    assert linear_cka(x, 2 * x @ rotation + 1) == pytest.approx(1.0, abs=1e-9)
    mean = np.mean([linear_cka(x, rng.normal(size=(50, 9))) for _ in range(40)])
    assert abs(mean) < 0.05, "unbiased: 0 on average for independent data"
    assert math.isnan(linear_cka(x[:3], y[:3])) and math.isnan(linear_cka(0 * x, y))


def test_divergences_match_scipy():
    rng = np.random.default_rng(2)
    p, q = rng.dirichlet(np.full(5, 0.2), 20), rng.dirichlet(np.full(5, 0.2), 20)
    p[0], q[0] = np.eye(5)[0], np.eye(5)[1]
    result = jensen_shannon(p, q)
    assert result == pytest.approx(jensenshannon(p, q, axis=1) ** 2, abs=1e-9)
    assert result[0] == pytest.approx(math.log(2))
    assert class_kl(p[1:], q[1:], False) == pytest.approx(entropy(p[1:], q[1:], axis=1))
    total = entropy([0.2, 0.8], [0.5, 0.5]) + entropy([0.9, 0.1], [0.4, 0.6])
    assert class_kl(np.array([[0.2, 0.9]]), np.array([[0.5, 0.4]]), True) == pytest.approx([total])
