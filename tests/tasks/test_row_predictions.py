"""The stored row predictions of every task agree with its report."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import seqeval.metrics
from sklearn.metrics import f1_score

from engine.config.dataset import Mapping
from engine.data.datasets.store import Dataset
from engine.results.predictions import read_predictions
from engine.tasks.evaluating import evaluate
from engine.tasks.learner import Learner, PredictionCollector
from engine.tasks.row_predictions import Origin, build_predictions
from engine.training.context import RunContext
from engine.training.setup import set_up
from tests.engine.training import small
from tests.tasks.test_table import HEADED, JOBS


class Evaluated:
    """The predictions of a new network for the validation rows of a small job."""

    def __init__(self, kind: str, folder: Path) -> None:
        job = JOBS[kind](folder)
        setup = set_up(RunContext(job, small.new_run(folder / "run", job)))
        assert setup.data.validation is not None
        self.learner: Learner = setup.data.learner
        self.dataset: Dataset = setup.data.dataset
        predictions = evaluate(
            setup.network, self.learner, setup.data.tokenizer, setup.data.validation, batch=7
        )
        assert isinstance(predictions, PredictionCollector)
        self.collected = predictions
        rows, cells = self.dataset.rows("validation"), self.dataset.cells("validation")
        origin = Origin("validation", "Data", self.dataset.spec.mapping, "Run", 3, "abc")
        labels, metrics = self.learner.labels, predictions.report().metrics()
        self.found = build_predictions(
            predictions.row_predictions(), rows.lines, cells, origin, kind, labels, metrics
        )

    def details(self) -> list[dict[str, list[str]]]:
        return [json.loads(details) for details in self.found.table["details"].to_pylist()]


@pytest.fixture(params=HEADED)
def evaluated(request: pytest.FixtureRequest, tmp_path: Path) -> Evaluated:
    return Evaluated(request.param, tmp_path)


@pytest.fixture
def evaluate_task(tmp_path: Path) -> Callable[[str], Evaluated]:
    return lambda kind: Evaluated(kind, tmp_path)


def test_rows_are_stored_with_their_cells_and_details(evaluated, tmp_path):
    predictions, dataset = evaluated.found, evaluated.dataset
    assert len(predictions) == dataset.spec.rows["validation"] > 3
    assert predictions.columns == dataset.spec.columns
    assert predictions.table["row"].to_pylist() == list(range(len(predictions)))
    assert predictions.table["line"].to_pylist() == dataset.rows("validation").lines
    assert predictions.info.model_dump(exclude={"made", "settings"}) == {
        "task": evaluated.learner.task.kind,
        "labels": evaluated.learner.labels,
        "part": "validation",
        "source": "Data",
        "fingerprint": "abc",
        "mapping": dataset.spec.mapping.model_dump(),
        "model": "Run",
        "step": 3,
        "precision": "",
        "best_metric": "",
        "metrics": evaluated.collected.report().metrics(),
    }
    predictions.write(tmp_path / "some.parquet")
    reread = read_predictions(tmp_path / "some.parquet")
    assert reread.info == predictions.info and reread.table.equals(predictions.table)


def test_the_metrics_are_those_of_the_learner(evaluated):
    assert {*evaluated.found.info.metrics} == {*evaluated.learner.measured, "examples"}


def test_the_losses_of_the_rows_average_to_that_of_the_report(evaluated):
    losses = evaluated.found.numbers("loss").astype(np.float64)
    weights = np.ones(len(losses))
    if evaluated.learner.task.kind == "token_classification":  # a word each
        weights = np.array([len(details["words"]) for details in evaluated.details()])
    if evaluated.learner.task.kind == "question_answering":  # a window each
        weights = np.bincount(evaluated.collected._examples.owners)  # type: ignore[attr-defined]
    mean = np.average(losses, weights=weights)
    assert mean == pytest.approx(evaluated.collected.report().metrics()["loss"], rel=1e-5)


def test_rows_without_labels_are_stored_too(evaluated):
    examples = evaluated.collected._examples if hasattr(evaluated.collected, "_examples") else None
    if examples is None:
        evaluated.collected._targets = None  # type: ignore[attr-defined]
    else:
        examples.rows = evaluated.dataset.rows("validation").unlabelled()
        examples.targets = examples.tags = None
    bare = evaluated.collected.row_predictions()
    assert (bare.gold, bare.loss, bare.score) == (None, None, None)
    assert list(bare.predicted) == evaluated.found.table["predicted"].to_pylist()
    rows = evaluated.dataset.rows("validation").unlabelled()
    origin = Origin("file", "some.csv", Mapping(text="text"), "Run")
    predictions = build_predictions(
        bare, rows.lines, {"text": list(rows.texts)}, origin, "any", (), {}
    )
    assert not predictions.is_labelled and np.isnan(predictions.numbers("score")).all()


@pytest.mark.parametrize("kind", ["text_classification", "pair_classification", "multiple_choice"])
def test_a_class_is_right_or_wrong_and_as_likely_as_its_score(kind, evaluate_task):
    evaluated = evaluate_task(kind)
    predictions, table = evaluated.found, evaluated.found.table
    gold, predicted = table["gold"].to_pylist(), table["predicted"].to_pylist()
    names = list(evaluated.learner.labels) or ["0", "1"]
    assert predicted == [names[n] for n in predictions.scores.argmax(1)]
    np.testing.assert_array_equal(predictions.numbers("probability"), predictions.scores.max(1))
    right = [a == b for a, b in zip(gold, predicted, strict=True)]
    np.testing.assert_array_equal(predictions.numbers("score"), right)
    assert np.mean(right) == pytest.approx(predictions.info.metrics["accuracy"])
    np.testing.assert_allclose(predictions.scores.sum(1), 1, rtol=1e-6)
    losses = -np.log(
        predictions.scores[np.arange(len(predictions)), [names.index(value) for value in gold]]
    )
    np.testing.assert_allclose(predictions.numbers("loss"), losses, rtol=1e-5)


def test_label_sets_are_correct_only_as_a_whole(evaluate_task):
    evaluated = evaluate_task("multi_label")
    predictions, names = evaluated.found, evaluated.learner.labels
    sets = evaluated.details()
    chosen = predictions.scores >= [
        predictions.info.settings[f"threshold({name})"] for name in names
    ]
    for row, value in enumerate(sets):
        assert value["predicted"] == [
            name for name, yes in zip(names, chosen[row], strict=True) if yes
        ]
    assert predictions.table["gold"].to_pylist() == [", ".join(labels["gold"]) for labels in sets]
    exact = [labels["gold"] == labels["predicted"] for labels in sets]
    np.testing.assert_array_equal(predictions.numbers("score"), exact)
    true = np.array([[name in labels["gold"] for name in names] for labels in sets])
    assert f1_score(true, chosen, average="micro") == pytest.approx(
        predictions.info.metrics["f1_micro"]
    )
    probabilities = np.where(chosen, predictions.scores, 1 - predictions.scores).prod(axis=1)
    np.testing.assert_allclose(predictions.numbers("probability"), probabilities, rtol=1e-6)


def test_a_number_is_neither_right_nor_wrong(evaluate_task):
    predictions = evaluate_task("regression").found
    gold = np.array([float(value) for value in predictions.table["gold"].to_pylist()])
    np.testing.assert_allclose(
        predictions.numbers("loss"), (predictions.scores[:, 0] - gold) ** 2, rtol=1e-4
    )
    predicted = [float(value) for value in predictions.table["predicted"].to_pylist()]
    np.testing.assert_array_equal(np.float32(predicted), predictions.scores[:, 0])
    assert (
        np.isnan(predictions.numbers("score")).all()
        and np.isnan(predictions.numbers("probability")).all()
    )


def test_tags_are_scored_as_seqeval_scores_a_sentence(evaluate_task):
    evaluated = evaluate_task("token_classification")
    for one, score, gold in zip(
        evaluated.details(),
        evaluated.found.numbers("score"),
        evaluated.found.table["gold"].to_pylist(),
        strict=True,
    ):
        assert gold == " ".join(one["gold"])
        assert len(one["words"]) == len(one["predicted"]) == len(one["probabilities"])
        assert score == pytest.approx(
            seqeval.metrics.f1_score([one["gold"]], [one["predicted"]], zero_division=0), abs=1e-6
        )


def test_answers_are_scored_as_the_report_scores_them(evaluate_task):
    evaluated = evaluate_task("question_answering")
    predictions = evaluated.found
    assert predictions.numbers("score").mean() == pytest.approx(predictions.info.metrics["f1"])
    exact = [details["exact"] for details in evaluated.details()]
    assert np.mean(exact) == pytest.approx(predictions.info.metrics["exact_match"])
    threshold = predictions.info.settings["no_answer_threshold"]
    passages = predictions.cells(predictions.info.mapping.pair or "").to_pylist()
    for one, answer, passage in zip(
        evaluated.details(), predictions.table["predicted"].to_pylist(), passages, strict=True
    ):
        text, start, end, _ = one["best"][0]
        assert passage[int(start) : int(end)] == text
        assert answer == ("" if float(one["null"]) > threshold else text)  # type: ignore[arg-type]
        assert [s for *_, s in one["best"]] == sorted((s for *_, s in one["best"]), reverse=True)
