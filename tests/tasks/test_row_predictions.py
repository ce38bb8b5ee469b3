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
        found = evaluate(
            setup.network, self.learner, setup.data.tokenizer, setup.data.validation, batch=7
        )
        assert isinstance(found, PredictionCollector)
        self.collected = found
        rows, cells = self.dataset.rows("validation"), self.dataset.cells("validation")
        origin = Origin("validation", "Data", self.dataset.spec.mapping, "Run", 3, "abc")
        labels, metrics = self.learner.labels, found.report().metrics()
        self.found = build_predictions(
            found.row_predictions(), rows.lines, cells, origin, kind, labels, metrics
        )

    def details(self) -> list[dict[str, list[str]]]:
        return [json.loads(one) for one in self.found.table["details"].to_pylist()]


@pytest.fixture(params=HEADED)
def evaluated(request: pytest.FixtureRequest, tmp_path: Path) -> Evaluated:
    return Evaluated(request.param, tmp_path)


@pytest.fixture
def evaluate_task(tmp_path: Path) -> Callable[[str], Evaluated]:
    return lambda kind: Evaluated(kind, tmp_path)


def test_the_rows_are_kept_with_their_cells_and_facts(evaluated, tmp_path):
    found, dataset = evaluated.found, evaluated.dataset
    assert len(found) == dataset.spec.rows["validation"] > 3
    assert found.columns == dataset.spec.columns
    assert found.table["row"].to_pylist() == list(range(len(found)))
    assert found.table["line"].to_pylist() == dataset.rows("validation").lines
    assert found.info.model_dump(exclude={"made", "settings"}) == {
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
    found.write(tmp_path / "some.parquet")
    reread = read_predictions(tmp_path / "some.parquet")
    assert reread.info == found.info and reread.table.equals(found.table)


def test_the_metrics_are_those_of_the_learner(evaluated):
    assert {*evaluated.found.info.metrics} == {*evaluated.learner.measured, "examples"}


def test_the_losses_of_the_rows_average_to_that_of_the_report(evaluated):
    losses = evaluated.found.numbers("loss").astype(np.float64)
    weights = np.ones(len(losses))
    if evaluated.learner.task.kind == "token_classification":  # a word each
        weights = np.array([len(one["words"]) for one in evaluated.details()])
    if evaluated.learner.task.kind == "question_answering":  # a window each
        weights = np.bincount(evaluated.collected._examples.owners)  # type: ignore[attr-defined]
    mean = np.average(losses, weights=weights)
    assert mean == pytest.approx(evaluated.collected.report().metrics()["loss"], rel=1e-5)


def test_rows_without_labels_are_kept_as_well(evaluated):
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
    found = build_predictions(bare, rows.lines, {"text": list(rows.texts)}, origin, "any", (), {})
    assert not found.is_labelled and np.isnan(found.numbers("score")).all()


@pytest.mark.parametrize("kind", ["text_classification", "pair_classification", "multiple_choice"])
def test_a_class_is_right_or_wrong_and_as_likely_as_its_score(kind, evaluate_task):
    evaluated = evaluate_task(kind)
    found, table = evaluated.found, evaluated.found.table
    gold, predicted = table["gold"].to_pylist(), table["predicted"].to_pylist()
    names = list(evaluated.learner.labels) or ["0", "1"]
    assert predicted == [names[n] for n in found.scores.argmax(1)]
    np.testing.assert_array_equal(found.numbers("probability"), found.scores.max(1))
    right = [a == b for a, b in zip(gold, predicted, strict=True)]
    np.testing.assert_array_equal(found.numbers("score"), right)
    assert np.mean(right) == pytest.approx(found.info.metrics["accuracy"])
    np.testing.assert_allclose(found.scores.sum(1), 1, rtol=1e-6)
    losses = -np.log(found.scores[np.arange(len(found)), [names.index(one) for one in gold]])
    np.testing.assert_allclose(found.numbers("loss"), losses, rtol=1e-5)


def test_sets_of_labels_are_right_as_a_whole(evaluate_task):
    evaluated = evaluate_task("multi_label")
    found, names = evaluated.found, evaluated.learner.labels
    sets = evaluated.details()
    chosen = found.scores >= [found.info.settings[f"threshold({name})"] for name in names]
    for row, one in enumerate(sets):
        assert one["predicted"] == [
            name for name, yes in zip(names, chosen[row], strict=True) if yes
        ]
    assert found.table["gold"].to_pylist() == [", ".join(one["gold"]) for one in sets]
    exact = [one["gold"] == one["predicted"] for one in sets]
    np.testing.assert_array_equal(found.numbers("score"), exact)
    true = np.array([[name in one["gold"] for name in names] for one in sets])
    assert f1_score(true, chosen, average="micro") == pytest.approx(found.info.metrics["f1_micro"])
    probabilities = np.where(chosen, found.scores, 1 - found.scores).prod(axis=1)
    np.testing.assert_allclose(found.numbers("probability"), probabilities, rtol=1e-6)


def test_a_number_is_neither_right_nor_wrong(evaluate_task):
    found = evaluate_task("regression").found
    gold = np.array([float(one) for one in found.table["gold"].to_pylist()])
    np.testing.assert_allclose(found.numbers("loss"), (found.scores[:, 0] - gold) ** 2, rtol=1e-4)
    predicted = [float(one) for one in found.table["predicted"].to_pylist()]
    np.testing.assert_array_equal(np.float32(predicted), found.scores[:, 0])
    assert np.isnan(found.numbers("score")).all() and np.isnan(found.numbers("probability")).all()


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
    found = evaluated.found
    assert found.numbers("score").mean() == pytest.approx(found.info.metrics["f1"])
    exact = [one["exact"] for one in evaluated.details()]
    assert np.mean(exact) == pytest.approx(found.info.metrics["exact_match"])
    threshold = found.info.settings["no_answer_threshold"]
    passages = found.cells(found.info.mapping.pair or "").to_pylist()
    for one, answer, passage in zip(
        evaluated.details(), found.table["predicted"].to_pylist(), passages, strict=True
    ):
        text, start, end, _ = one["best"][0]
        assert passage[int(start) : int(end)] == text
        assert answer == ("" if float(one["null"]) > threshold else text)  # type: ignore[arg-type]
        assert [s for *_, s in one["best"]] == sorted((s for *_, s in one["best"]), reverse=True)
