"""Facts about the data, reported before the first step."""

import csv
from pathlib import Path

import pytest
from sklearn.dummy import DummyClassifier

from engine.config.dataset import FileData, Mapping
from engine.config.job import JobSpec
from engine.messages.events import Prepared
from engine.results.predictions import read_predictions
from engine.results.store import baselines_question, stored_predictions
from engine.runs.folder import RunFolder
from engine.tasks.scoring import fit_baselines
from engine.training.loop import train
from tests.engine.training import small

ROWS = {"train": ["good"] * 6 + ["bad"] * 3 + ["odd"], "validation": ["bad"] * 3 + ["good"]}


@pytest.fixture
def job(tmp_path: Path) -> JobSpec:
    """Different majority labels in training and validation; half of the texts are long."""
    paths = {}
    for part, labels in ROWS.items():
        paths[part] = tmp_path / f"{part}.csv"
        with open(paths[part], "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["text", "label"])
            writer.writerows(
                ["a film " * (20 if n % 2 else 1), label] for n, label in enumerate(labels)
            )
    data = FileData(
        path=paths["train"],
        validation=paths["validation"],
        mapping=Mapping(text="text", label="label"),
    )
    return small.classifying(tmp_path, steps=1, max_length=16).model_copy(update={"data": data})


def prepared_event(job: JobSpec, folder: Path) -> Prepared:
    events: list[object] = []
    train(job, small.new_run(folder, job), events.append)
    return next(event for event in events if isinstance(event, Prepared))


def test_the_majority_matches_scikit_learn_and_the_baselines(job, tmp_path):
    run = RunFolder.create(tmp_path / "run", job)
    events: list[object] = []
    train(job, run, events.append)
    start = next(event for event in events if isinstance(event, Prepared))
    assert (start.majority, start.majority_score, start.absent) == ("good", 0.25, ("odd",))
    assert start.truncated == 0.5
    assert start.longest == small.NETWORK.max_positions
    assert start.layer_weights == 2 * (4 * 16**2 + 2 * 16 * 32)
    texts, validation = ([[0]] * len(ROWS[part]) for part in ROWS)
    dummy = DummyClassifier(strategy="most_frequent").fit(texts, ROWS["train"])
    assert start.majority == dummy.predict(validation)[0]
    assert start.majority_score == dummy.score(validation, ROWS["validation"])
    (stored,) = stored_predictions(run.results)
    result = fit_baselines(baselines_question(run, "validation", stored.info.labels), tmp_path)
    baselines = [read_predictions(file) for file in result.files]
    (majority,) = (item for item in baselines if item.info.model == "Majority")
    assert set(majority.table["predicted"].to_pylist()) == {start.majority}
    assert majority.info.metrics["accuracy"] == start.majority_score


@pytest.mark.parametrize(
    "make, answers",
    [
        (lambda folder: small.learning("choices", folder, steps=1), {"1", "2", "3", "4"}),
        (lambda folder: small.answering(folder, steps=1), {""}),
        (lambda folder: small.pretraining(folder, steps=1), {""}),
    ],
    ids=["choices", "questions", "texts"],
)
def test_label_distribution_is_reported(make, answers, tmp_path):
    start = prepared_event(make(tmp_path), tmp_path / "run")  # type: ignore[operator]
    assert start.majority in answers and (start.majority_score > 0) == bool(start.majority)
