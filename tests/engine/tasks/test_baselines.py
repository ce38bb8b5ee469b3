"""Baselines match scikit-learn and are evaluated like models."""

import json
import math
from typing import Any

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, log_loss

from engine.config.tasks import TASKS, parse_task
from engine.data.columns.answers import Answer, format_answers
from engine.data.datasets.rows import Rows
from engine.results.predictions import read_predictions
from engine.results.store import baselines_in, baselines_question
from engine.tasks import learner_for
from engine.tasks.row_predictions import RowPredictions
from engine.tasks.scoring import fit_baselines
from engine.training.context import RunContext
from engine.training.setup import set_up
from tests.engine.training import small
from tests.tasks.jobs import HEAD_KINDS, JOBS

TEXTS = [f"{text} {n % 7}" for n, text in enumerate((*small.GOOD, *small.BAD) * 6)]
LABELS = ["good" if text[:-2] in small.GOOD else "bad" for text in TEXTS]
TRAIN, TEST = slice(0, 30), slice(30, None)


def split(**columns: Any) -> tuple[Rows, Rows]:
    train, test = ({name: cells[part] for name, cells in columns.items()} for part in (TRAIN, TEST))
    return Rows(**train), Rows(**test)


def evaluate(
    kind: str, key: str, train: Rows, rows: Rows
) -> tuple[RowPredictions, dict[str, float]]:
    learner = learner_for(parse_task(kind))
    learner.fit_labels(train)
    baseline = next(item for item in learner.baselines() if item.key == key)
    collected = baseline.predict(learner, train, rows)
    return collected.row_predictions(), collected.report().metrics()


def tfidf(train: list[str]) -> TfidfVectorizer:
    model = TfidfVectorizer(sublinear_tf=True, ngram_range=(1, 2), token_pattern=r"(?u)\b\w+\b")
    return model.fit([*train, "a"])


def test_classes_match_scikit_learn():
    train, rows = split(texts=TEXTS, labels=LABELS)
    result, metrics = evaluate("text_classification", "tfidf", train, rows)
    vectors = tfidf(TEXTS[TRAIN])
    model = LogisticRegression(max_iter=1000).fit(vectors.transform(TEXTS[TRAIN]), LABELS[TRAIN])
    expected = model.predict_proba(vectors.transform(TEXTS[TEST]))
    assert result.scores == pytest.approx(expected, abs=1e-5)
    assert list(result.predicted) == list(model.predict(vectors.transform(TEXTS[TEST])))
    assert metrics["accuracy"] == accuracy_score(LABELS[TEST], result.predicted)
    assert metrics["loss"] == pytest.approx(log_loss(LABELS[TEST], expected), abs=1e-5)


def test_the_majority_predicts_the_most_frequent_class_with_its_share():
    train, rows = split(texts=TEXTS, labels=["good"] * 20 + ["bad"] * 16)
    result, metrics = evaluate("text_classification", "majority", train, rows)
    assert {*result.predicted} == {"good"} and metrics["accuracy"] == 0
    np.testing.assert_allclose(result.scores, [[1 / 3, 2 / 3]] * 6, rtol=1e-6)


def test_pair_features_match_their_definition():
    seconds = TEXTS[1:] + TEXTS[:1]
    train, rows = split(texts=TEXTS, pairs=seconds, labels=LABELS)
    result, _ = evaluate("pair_classification", "tfidf", train, rows)
    vectors = tfidf(TEXTS[TRAIN] + seconds[TRAIN])

    def features(part: slice) -> np.ndarray:
        a, b = (vectors.transform(texts[part]).toarray() for texts in (TEXTS, seconds))
        return np.hstack([a, b, abs(a - b), (a * b).sum(axis=1, keepdims=True)])

    model = LogisticRegression(max_iter=1000).fit(features(TRAIN), LABELS[TRAIN])
    assert result.scores == pytest.approx(model.predict_proba(features(TEST)), abs=1e-3)


def test_regression_matches_ridge_regression():
    numbers = [len(text) / 10 for text in TEXTS]
    train, rows = split(texts=TEXTS, labels=[str(number) for number in numbers])
    result, _ = evaluate("regression", "tfidf", train, rows)
    vectors = tfidf(TEXTS[TRAIN])
    model = Ridge().fit(vectors.transform(TEXTS[TRAIN]), numbers[TRAIN])
    expected = model.predict(vectors.transform(TEXTS[TEST]))
    assert result.scores[:, 0] == pytest.approx(expected, abs=1e-4)  # type: ignore[index]
    mean, _ = evaluate("regression", "majority", train, rows)
    assert mean.scores[:, 0] == pytest.approx(np.mean(numbers[TRAIN]))  # type: ignore[index]


def test_each_label_has_its_own_logistic_regression():
    sets = ["|".join(w for w in ("film", "acting", "fine") if w in text) for text in TEXTS]
    train, rows = split(texts=TEXTS, labels=sets)
    result, metrics = evaluate("multi_label", "tfidf", train, rows)
    vectors = tfidf(TEXTS[TRAIN])
    for index, label in enumerate(("acting", "film", "fine")):
        truth = [label in item for item in sets]
        model = LogisticRegression(max_iter=1000).fit(vectors.transform(TEXTS[TRAIN]), truth[TRAIN])
        expected = model.predict_proba(vectors.transform(TEXTS[TEST]))[:, 1]
        assert result.scores[:, index] == pytest.approx(expected, abs=1e-4)  # type: ignore[index]
    assert metrics["f1_micro"] > 0.8


def test_labels_of_all_or_no_training_rows_are_constant():
    sets = ["film|always"] * 30 + ["film|rare"] * 6
    train, rows = split(texts=TEXTS, labels=sets)
    train = Rows(train.texts, labels=["film|always" if n else "always" for n in range(30)])
    task = parse_task({"kind": "multi_label", "labels": ["film", "always", "rare"]})
    learner = learner_for(task)
    learner.fit_labels(train)
    result = learner.baselines()[1].predict(learner, train, rows).row_predictions()
    assert result.scores is not None
    assert (result.scores[:, 1] > 0.99).all() and (result.scores[:, 2] < 0.01).all()


def test_the_choice_with_the_highest_cosine_is_predicted():
    endings = [(text, "nothing of it") if n % 3 else ("else", text) for n, text in enumerate(TEXTS)]
    right = [str(int(n % 3 == 0)) for n in range(len(TEXTS))]
    train, rows = split(texts=TEXTS, endings=endings, labels=right)
    result, metrics = evaluate("multiple_choice", "tfidf", train, rows)
    assert list(result.predicted) == right[TEST] and metrics["accuracy"] == 1
    majority, metrics = evaluate("multiple_choice", "majority", train, rows)
    assert {*majority.predicted} == {"0"} and metrics["accuracy"] == pytest.approx(4 / 6)


def test_a_word_gets_its_most_frequent_tag():
    texts = ['["Rome", "is", "big"]', '["rome", "and", "Ann"]', '["Rome", "saw", "Ann"]']
    tags = ['["B-place", "O", "O"]', '["O", "O", "B-person"]', '["B-place", "O", "B-person"]']
    rows = Rows(['["Rome", "ANN", "Bob", "ROME"]'], tags=['["B-place", "B-person", "O", "O"]'])
    result, metrics = evaluate("token_classification", "word-tags", Rows(texts, tags=tags), rows)
    assert list(result.predicted) == ["B-place B-person O B-place"]
    assert metrics["f1"] == pytest.approx(0.8)
    ratios = [1, 1, 5 / 9, 2 / 3]  # Bob counts all words; ROME counts rome and Rome together
    assert result.probability == pytest.approx(np.mean(ratios))


PASSAGE = "Ada Lovelace was born in London. The engine was built by Charles Babbage of Walworth."
FILLER = [
    f"The {n}th {text}"
    for n in range(8)
    for text in ("duke was born in the house.", "ship was built by the crew.", "one of the sea.")
]
BUILT = ("Who built the Walworth engine?", "Charles Babbage")


def question_rows(*questions: tuple[str, str]) -> Rows:
    cells = [
        format_answers([Answer(text, PASSAGE.index(text))] if text else []) for _, text in questions
    ]
    return Rows([question for question, _ in questions], [PASSAGE] * len(questions), answers=cells)


def training_rows(answerable: bool) -> Rows:
    """Many passages with common words, and some unanswerable questions."""
    known = question_rows(BUILT, ("In which city was Ada?", "London"))
    other = Rows(["Why?"] * 24, FILLER, answers=[""] * 24)
    if answerable:
        other = Rows(["Who was born?"] * 24, FILLER, answers=[text.split()[2] for text in FILLER])
    assert known.pairs is not None and known.answers is not None and other.answers is not None
    cells = [*known.answers, *other.answers]
    return Rows([*known.texts, *other.texts], [*known.pairs, *FILLER], answers=cells)


def test_an_answer_is_the_words_nearest_to_the_question_words():
    rows = question_rows(BUILT, ("Lovelace, born where?", "London"))
    result, metrics = evaluate("question_answering", "nearest-words", training_rows(True), rows)
    assert list(result.predicted) == ["Charles Babbage", "Ada"]  # both names are next to Lovelace
    assert metrics["exact_match"] == 0.5 and metrics["f1"] == 0.5
    assert result.loss is None and np.isnan(metrics["loss"])
    details = json.loads((result.details or [])[0])
    assert details["null"] is None and details["best"][0][0] == "Charles Babbage"
    distances = {"built": 2, "engine": 4, "walworth": 2, "the": 5}  # in words, from the name
    passages = {"built": 9, "engine": 1, "walworth": 1, "the": 25, "who": 0}  # of 25
    idf = {word: math.log(26 / (1 + n)) for word, n in passages.items()}
    fraction = sum(idf[word] / (1 + n) for word, n in distances.items()) / sum(idf.values())
    assert details["best"][0][3] == pytest.approx(math.log(fraction), abs=1e-6)


def test_a_question_that_shares_no_word_with_its_passage_has_no_answer():
    rows = question_rows(BUILT, ("Why?", ""))
    result, metrics = evaluate("question_answering", "nearest-words", training_rows(False), rows)
    assert list(result.predicted) == ["Charles Babbage", ""] and metrics["f1"] == 1
    null_scores = [json.loads(item)["null"] for item in result.details or ()]
    assert null_scores[0] <= 0 < null_scores[1] and result.settings["no_answer_threshold"] == 0


def test_a_passage_without_words_has_no_answer():
    rows = Rows(["Who?", ""], ["", "…"], answers=["", ""])
    result, metrics = evaluate("question_answering", "nearest-words", training_rows(True), rows)
    assert list(result.predicted) == ["", ""] and metrics["exact_match"] == 1


@pytest.mark.parametrize("kind", TASKS)
def test_baselines_of_every_task_are_stored_as_predictions(kind, tmp_path):
    job = JOBS[kind](tmp_path)
    if kind == "pretraining":
        assert learner_for(job.task).baselines() == ()
        return
    assert kind in HEAD_KINDS
    run = small.new_run(tmp_path / "run", job)
    setup = set_up(RunContext(job, run))
    labels = setup.data.learner.labels[::-1]
    stages: list[str] = []
    results = fit_baselines(
        baselines_question(run, "validation", labels), tmp_path, lambda x: stages.append(x.stage)
    )
    actual = [read_predictions(file) for file in results.files]
    assert [entry.info.model for entry in actual] == [
        entry.name for entry in learner_for(job.task).baselines()
    ]
    fingerprint = setup.data.dataset.spec.fingerprint
    stored = baselines_in(run.results, "validation", fingerprint)
    assert {entry.file for entry in stored} == {*results.files}
    assert not baselines_in(run.results, "validation", "other")
    assert "Fitting the baselines" in stages
    for item in actual:
        assert item.info.labels == labels and item.info.part == "validation"
        metrics = {*setup.data.learner.metric_names, "examples"}
        assert {*item.info.metrics} == metrics - (
            {"loss"} if kind == "question_answering" else set()
        )
        assert (
            item.table["gold"].null_count == 0 and item.columns == setup.data.dataset.spec.columns
        )
