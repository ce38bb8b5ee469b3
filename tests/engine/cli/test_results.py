"""The commands for stored predictions."""

import json
from pathlib import Path

import numpy as np
import pytest

from engine.config.job import JobSpec
from engine.config.training import TrainingSpec
from engine.messages.events import Ended, Saved, measured
from engine.results.predictions import Predictions
from engine.results.slices import worst_slices
from engine.runs.folder import RunFolder
from engine.runs.groups import SUMMARY, expand
from tests.engine.results.rows import class_rows
from tests.engine.results.test_slices import reviews
from tests.engine.training import small


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run whose model is worse with “not” and with the file b."""
    reviews(600, 0, planted=True).write(tmp_path / "run" / "results" / "validation.parquet")
    return tmp_path / "run"


def test_the_worst_slices_are_printed(output, json_output, run):
    slices_found = worst_slices(reviews(600, 0, planted=True))
    lines = output("slices", run).splitlines()
    assert lines[0].startswith(slices_found.slices[0].sentence)
    assert len(lines) == len(slices_found.slices) + 1
    assert lines[-1].startswith(f"{slices_found.tried:,} slices of 600 rows were tested")
    printed = json_output("slices", run / "results" / "validation.parquet")
    assert printed["slices"][0]["conditions"] == [
        part.model_dump(mode="json") for part in slices_found.slices[0].conditions
    ]
    assert printed["slices"][0]["score"]["value"] == pytest.approx(
        slices_found.slices[0].group.score.value
    )
    few = run.parent / "few.parquet"
    reviews(30, 1).write(few)
    assert output("slices", few) == (
        "No significantly worse slice; "
        f"{worst_slices(reviews(30, 1)).tried} slices of 30 rows were tested.\n"
    )


def test_two_results_are_compared(output, json_output, tmp_path):
    rng = np.random.default_rng(0)
    gold = rng.choice(["bad", "good"], 200)
    other = np.where(gold == "good", "bad", "good")
    texts = [f"text {number}" for number in range(200)]
    files = []
    for name, fraction in (("first", 0.6), ("second", 0.9)):
        predicted = np.where(rng.random(200) < fraction, gold, other)
        files.append(tmp_path / f"{name}.parquet")
        class_rows(gold, predicted, text=texts).write(files[-1])
    lines = output("compare-results", *files).splitlines()
    assert lines[0] == "200 rows are in both"
    assert lines[1].startswith("accuracy: 56.5 % and 92.0 %, difference +35.5 %")
    assert lines[2].startswith("f1_macro: ")
    assert lines[-1].startswith("The second result is better: accuracy ")
    comparison = json_output("compare-results", *files)
    assert lines[3] == f"better in the second: {len(comparison['better'])} rows"
    row = comparison["better"][0]
    assert lines[4] == (
        f"  row {row}, true label {gold[row]}: {other[row]} → {gold[row]}: text {row}"
    )
    assert (
        comparison["rows"] == 200
        and comparison["mcnemar_p"] < 0.05
        and comparison["claim"] == lines[-1]
    )
    assert comparison["metrics"]["accuracy"]["difference"]["low"] > 0


def test_results_without_common_rows_are_refused(output, json_output, tmp_path):
    for name in ("a", "b"):
        class_rows(["good"], ["good"], text=[name]).write(tmp_path / name)
    lines = output("compare-results", tmp_path / "a", tmp_path / "b").splitlines()
    assert lines[-1] == "No row is in both results with the same true label: nothing to compare."
    comparison = json_output("compare-results", tmp_path / "a", tmp_path / "b")
    assert (
        comparison["metrics"] == {} and comparison["only_first"] == comparison["only_second"] == 1
    )


def test_a_file_without_results_is_refused(refusal, tmp_path):
    for path in (tmp_path, tmp_path / "none.parquet"):
        assert "is missing" in refusal("slices", path)
    (tmp_path / "text").write_text("no parquet")
    assert "cannot be read" in refusal("compare-results", tmp_path / "text", tmp_path / "text")


def test_unknown_figures_are_null(json_output, tmp_path):
    predictions = class_rows(["good", None], ["good", "bad"], text=["a", "b"])
    Predictions(predictions.info, predictions.table).write(tmp_path / "a")
    comparison = json_output("compare-results", tmp_path / "a", tmp_path / "a")
    assert comparison["rows"] == 1 and comparison["metrics"]["accuracy"]["difference"]["value"] == 0


def write_seeds(folder: Path, job: JobSpec, scores: dict[int, float], unfinished: int) -> Path:
    """The folder of a job with several seeds, one of them unfinished."""
    names = []
    for run_job in expand(job.model_copy(update={"training": with_seeds(job, len(scores) + 1)})):
        seed = run_job.training.seed
        names.append(f"seed-{seed}")
        run = RunFolder.create(folder / names[-1], run_job)
        if seed != unfinished:
            run.append(measured("validation_accuracy", 1, scores[seed]))
            run.append(Saved(step=1, folder="", best=True))
            run.append(Ended(outcome="finished", step=1))
    group = {"name": job.name, "runs": [{"folder": name} for name in names]}
    (folder / SUMMARY).write_text(json.dumps(group))
    return folder


def with_seeds(job: JobSpec, seeds: int) -> TrainingSpec:
    return job.training.model_copy(update={"seed": 1, "seeds": seeds})


def test_jobs_with_several_seeds_are_compared_over_their_runs(output, json_output, tmp_path):
    job = small.classifying(tmp_path, epochs=1)
    first = write_seeds(tmp_path / "first", job, {1: 0.70, 2: 0.72, 3: 0.71}, unfinished=4)
    second = write_seeds(tmp_path / "second", job, {1: 0.74, 2: 0.76, 3: 0.76}, unfinished=4)
    lines = output("compare-results", first, second).splitlines()
    assert lines[0] == "accuracy: 70.0 % (seed 1), 72.0 % (seed 2), 71.0 % (seed 3)"
    assert lines[-1].startswith("The second result is better: accuracy 75.33 % against 71 % ")
    comparison = json_output("compare-results", first, second)
    assert comparison["claim"] == lines[-1] and comparison["second"] == {
        "1": 0.74,
        "2": 0.76,
        "3": 0.76,
    }
    assert comparison["difference"]["p"] < 0.05
