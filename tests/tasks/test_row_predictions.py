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


class Said:
    """The predictions of a new network for the validation rows of a small job."""

    def __init__(self, kind: str, folder: Path) -> None:
        job = JOBS[kind](folder)
        made = set_up(RunContext(job, small.new_run(folder / "run", job)))
        assert made.data.validation is not None
        self.learner: Learner = made.data.learner
        self.dataset: Dataset = made.data.dataset
        found = evaluate(
            made.network, self.learner, made.data.tokenizer, made.data.validation, batch=7
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
def said(request: pytest.FixtureRequest, tmp_path: Path) -> Said:
    return Said(request.param, tmp_path)


@pytest.fixture
def of(tmp_path: Path) -> Callable[[str], Said]:
    return lambda kind: Said(kind, tmp_path)


def test_the_rows_are_kept_with_their_cells_and_facts(said, tmp_path):
    found, dataset = said.found, said.dataset
    assert len(found) == dataset.spec.rows["validation"] > 3
    assert found.columns == dataset.spec.columns
    assert found.table["row"].to_pylist() == list(range(len(found)))
    assert found.table["line"].to_pylist() == dataset.rows("validation").lines
    assert found.info.model_dump(exclude={"made", "settings"}) == {
        "task": said.learner.task.kind,
        "labels": said.learner.labels,
        "part": "validation",
        "source": "Data",
        "fingerprint": "abc",
        "mapping": dataset.spec.mapping.model_dump(),
        "model": "Run",
        "step": 3,
        "precision": "",
        "best_metric": "",
        "metrics": said.collected.report().metrics(),
    }
    found.write(tmp_path / "some.parquet")
    again = read_predictions(tmp_path / "some.parquet")
    assert again.info == found.info and again.table.equals(found.table)


def test_it_measures_what_its_learner_says(said):
    assert {*said.found.info.metrics} == {*said.learner.measured, "examples"}


def test_the_losses_of_the_rows_average_to_that_of_the_report(said):
    losses = said.found.numbers("loss").astype(np.float64)
    weights = np.ones(len(losses))
    if said.learner.task.kind == "token_classification":  # a word each
        weights = np.array([len(one["words"]) for one in said.details()])
    if said.learner.task.kind == "question_answering":  # a window each
        weights = np.bincount(said.collected._examples.owners)  # type: ignore[attr-defined]
    mean = np.average(losses, weights=weights)
    assert mean == pytest.approx(said.collected.report().metrics()["loss"], rel=1e-5)


def test_rows_without_labels_are_kept_as_well(said):
    examples = said.collected._examples if hasattr(said.collected, "_examples") else None
    if examples is None:
        said.collected._targets = None  # type: ignore[attr-defined]
    else:
        examples.rows = said.dataset.rows("validation").unlabelled()
        examples.targets = examples.tags = None
    bare = said.collected.row_predictions()
    assert (bare.gold, bare.loss, bare.score) == (None, None, None)
    assert list(bare.predicted) == said.found.table["predicted"].to_pylist()
    rows = said.dataset.rows("validation").unlabelled()
    origin = Origin("file", "some.csv", Mapping(text="text"), "Run")
    found = build_predictions(bare, rows.lines, {"text": list(rows.texts)}, origin, "any", (), {})
    assert not found.is_labelled and np.isnan(found.numbers("score")).all()


@pytest.mark.parametrize("kind", ["text_classification", "pair_classification", "multiple_choice"])
def test_a_class_is_right_or_wrong_and_as_likely_as_its_score(kind, of):
    said = of(kind)
    found, table = said.found, said.found.table
    gold, predicted = table["gold"].to_pylist(), table["predicted"].to_pylist()
    names = list(said.learner.labels) or ["0", "1"]
    assert predicted == [names[n] for n in found.scores.argmax(1)]
    np.testing.assert_array_equal(found.numbers("probability"), found.scores.max(1))
    right = [a == b for a, b in zip(gold, predicted, strict=True)]
    np.testing.assert_array_equal(found.numbers("score"), right)
    assert np.mean(right) == pytest.approx(found.info.metrics["accuracy"])
    np.testing.assert_allclose(found.scores.sum(1), 1, rtol=1e-6)
    losses = -np.log(found.scores[np.arange(len(found)), [names.index(one) for one in gold]])
    np.testing.assert_allclose(found.numbers("loss"), losses, rtol=1e-5)


def test_sets_of_labels_are_right_as_a_whole(of):
    said = of("multi_label")
    found, names = said.found, said.learner.labels
    sets = said.details()
    given = found.scores >= [found.info.settings[f"threshold({name})"] for name in names]
    for row, one in enumerate(sets):
        assert one["predicted"] == [
            name for name, yes in zip(names, given[row], strict=True) if yes
        ]
    assert found.table["gold"].to_pylist() == [", ".join(one["gold"]) for one in sets]
    exact = [one["gold"] == one["predicted"] for one in sets]
    np.testing.assert_array_equal(found.numbers("score"), exact)
    true = np.array([[name in one["gold"] for name in names] for one in sets])
    assert f1_score(true, given, average="micro") == pytest.approx(found.info.metrics["f1_micro"])
    sure = np.where(given, found.scores, 1 - found.scores).prod(axis=1)
    np.testing.assert_allclose(found.numbers("probability"), sure, rtol=1e-6)


def test_a_number_is_neither_right_nor_wrong(of):
    found = of("regression").found
    gold = np.array([float(one) for one in found.table["gold"].to_pylist()])
    np.testing.assert_allclose(found.numbers("loss"), (found.scores[:, 0] - gold) ** 2, rtol=1e-4)
    predicted = [float(one) for one in found.table["predicted"].to_pylist()]
    np.testing.assert_array_equal(np.float32(predicted), found.scores[:, 0])
    assert np.isnan(found.numbers("score")).all() and np.isnan(found.numbers("probability")).all()


def test_tags_are_scored_as_seqeval_scores_a_sentence(of):
    said = of("token_classification")
    for one, score, gold in zip(
        said.details(),
        said.found.numbers("score"),
        said.found.table["gold"].to_pylist(),
        strict=True,
    ):
        assert gold == " ".join(one["gold"])
        assert len(one["words"]) == len(one["predicted"]) == len(one["probabilities"])
        assert score == pytest.approx(
            seqeval.metrics.f1_score([one["gold"]], [one["predicted"]], zero_division=0), abs=1e-6
        )


def test_answers_are_scored_as_the_report_scores_them(of):
    said = of("question_answering")
    found = said.found
    assert found.numbers("score").mean() == pytest.approx(found.info.metrics["f1"])
    exact = [one["exact"] for one in said.details()]
    assert np.mean(exact) == pytest.approx(found.info.metrics["exact_match"])
    threshold = found.info.settings["no_answer_threshold"]
    passages = found.cells(found.info.mapping.pair or "").to_pylist()
    for one, told, passage in zip(
        said.details(), found.table["predicted"].to_pylist(), passages, strict=True
    ):
        text, start, end, _ = one["best"][0]
        assert passage[int(start) : int(end)] == text
        assert told == ("" if float(one["null"]) > threshold else text)  # type: ignore[arg-type]
        assert [s for *_, s in one["best"]] == sorted((s for *_, s in one["best"]), reverse=True)
