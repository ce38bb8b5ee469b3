"""The stored row predictions of every task agree with its report."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import seqeval.metrics
from sklearn.metrics import f1_score

from engine.config.dataset import Mapping
from engine.config.tasks import get_head
from engine.data.datasets.store import Dataset
from engine.results.predictions import read_predictions
from engine.tasks.evaluating import evaluate
from engine.tasks.learner import Learner, PredictionCollector
from engine.tasks.row_predictions import Origin, build_predictions
from engine.training.context import RunContext
from engine.training.setup import set_up
from tests.engine.training import small
from tests.tasks.jobs import HEAD_KINDS, JOBS


class EvaluatedTask:
    """The predictions of a new network for the validation rows of a small job."""

    def __init__(self, kind: str, folder: Path) -> None:
        job = JOBS[kind](folder)
        setup = set_up(RunContext(job, small.new_run(folder / "run", job)))
        assert setup.data.validation is not None
        self.learner: Learner = setup.data.learner
        self.dataset: Dataset = setup.data.dataset
        collector = evaluate(
            setup.network, self.learner, setup.data.tokenizer, setup.data.validation, batch_size=7
        )
        assert isinstance(collector, PredictionCollector)
        self.collector = collector
        rows, cells = self.dataset.rows("validation"), self.dataset.cells("validation")
        origin = Origin("validation", "Data", self.dataset.spec.mapping, "Run", 3, "abc")
        labels, metrics = self.learner.labels, collector.report().metrics()
        self.predictions = build_predictions(
            collector.row_predictions(), rows.lines, cells, origin, kind, labels, metrics
        )

    def details(self) -> list[dict[str, list[str]]]:
        return [json.loads(details) for details in self.predictions.table["details"].to_pylist()]


@pytest.fixture(params=HEAD_KINDS)
def evaluated(request: pytest.FixtureRequest, tmp_path: Path) -> EvaluatedTask:
    return EvaluatedTask(request.param, tmp_path)


@pytest.fixture
def evaluate_task(tmp_path: Path) -> Callable[[str], EvaluatedTask]:
    return lambda kind: EvaluatedTask(kind, tmp_path)


def test_rows_are_stored_with_their_cells_and_details(evaluated, tmp_path):
    predictions, dataset = evaluated.predictions, evaluated.dataset
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
        "sets": None,
        "metrics": evaluated.collector.report().metrics(),
    }
    predictions.write(tmp_path / "some.parquet")
    reread = read_predictions(tmp_path / "some.parquet")
    assert reread.info == predictions.info and reread.table.equals(predictions.table)


def test_stored_metrics_are_those_of_the_learner(evaluated):
    assert {*evaluated.predictions.info.metrics} == {*evaluated.learner.metric_names, "examples"}


def test_row_losses_average_to_the_loss_of_the_report(evaluated):
    losses = evaluated.predictions.numbers("loss").astype(np.float64)
    weights = np.ones(len(losses))
    if get_head(evaluated.learner.task.kind).marks_text:  # one per word
        weights = np.array([len(details["words"]) for details in evaluated.details()])
    if evaluated.learner.task.kind == "question_answering":  # one per window
        weights = np.bincount(evaluated.collector._examples.owners)  # type: ignore[attr-defined]
    mean = np.average(losses, weights=weights)
    assert mean == pytest.approx(evaluated.collector.report().metrics()["loss"], rel=1e-5)


def test_unlabelled_rows_are_stored(evaluated):
    examples = evaluated.collector._examples if hasattr(evaluated.collector, "_examples") else None
    if examples is None:
        evaluated.collector._targets = None  # type: ignore[attr-defined]
    else:
        examples.rows = evaluated.dataset.rows("validation").without_targets()
        examples.targets = examples.tags = None
    unlabelled = evaluated.collector.row_predictions()
    assert (unlabelled.gold, unlabelled.loss, unlabelled.score) == (None, None, None)
    assert list(unlabelled.predicted) == evaluated.predictions.table["predicted"].to_pylist()
    rows = evaluated.dataset.rows("validation").without_targets()
    origin = Origin("file", "some.csv", Mapping(text="text"), "Run")
    predictions = build_predictions(
        unlabelled, rows.lines, {"text": list(rows.texts)}, origin, "any", (), {}
    )
    assert not predictions.is_labelled and np.isnan(predictions.numbers("score")).all()


@pytest.mark.parametrize("kind", ["text_classification", "pair_classification", "multiple_choice"])
def test_classes_have_scores_probabilities_and_losses(kind, evaluate_task):
    evaluated = evaluate_task(kind)
    predictions, table = evaluated.predictions, evaluated.predictions.table
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


def test_label_sets_are_correct_only_if_equal(evaluate_task):
    evaluated = evaluate_task("multi_label")
    predictions, names = evaluated.predictions, evaluated.learner.labels
    sets = evaluated.details()
    chosen = predictions.scores >= [
        predictions.info.settings[f"threshold({name})"] for name in names
    ]
    for row, value in enumerate(sets):
        assert value["predicted"] == [
            name for name, is_chosen in zip(names, chosen[row], strict=True) if is_chosen
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


def test_numbers_have_no_score_and_no_probability(evaluate_task):
    predictions = evaluate_task("regression").predictions
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


def test_tag_scores_match_seqeval(evaluate_task):
    evaluated = evaluate_task("token_classification")
    for row, score, gold in zip(
        evaluated.details(),
        evaluated.predictions.numbers("score"),
        evaluated.predictions.table["gold"].to_pylist(),
        strict=True,
    ):
        assert gold == " ".join(row["gold"])
        assert len(row["words"]) == len(row["predicted"]) == len(row["probabilities"])
        assert score == pytest.approx(
            seqeval.metrics.f1_score([row["gold"]], [row["predicted"]], zero_division=0), abs=1e-6
        )


def test_answer_scores_match_the_report(evaluate_task):
    evaluated = evaluate_task("question_answering")
    predictions = evaluated.predictions
    assert predictions.numbers("score").mean() == pytest.approx(predictions.info.metrics["f1"])
    exact = [details["exact"] for details in evaluated.details()]
    assert np.mean(exact) == pytest.approx(predictions.info.metrics["exact_match"])
    threshold = predictions.info.settings["no_answer_threshold"]
    passages = predictions.cells(predictions.info.mapping.pair or "").to_pylist()
    for row, answer, passage in zip(
        evaluated.details(), predictions.table["predicted"].to_pylist(), passages, strict=True
    ):
        text, start, end, _ = row["best"][0]
        assert passage[int(start) : int(end)] == text
        assert answer == ("" if float(row["null"]) > threshold else text)  # type: ignore[arg-type]
        assert [s for *_, s in row["best"]] == sorted((s for *_, s in row["best"]), reverse=True)
