"""Comparisons of jobs over several seeds: the window states what the command prints."""

import shutil
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.results.comparison import ResultFile, find_comparable, find_earlier, find_seed_runs
from app.results.view import ResultsView
from app.studio import Studio
from engine.cli import main
from engine.config.dataset import StoredData
from engine.config.job import JobSpec
from engine.record.follow import record_folder
from engine.results.predictions import Predictions, read_predictions
from engine.results.store import predictions_file
from engine.runs.folder import RunFolder
from tests.app.results.test_view import GOLD, PREDICTED, TEXTS, open_results, results_source
from tests.engine.cli.test_results import write_seeds
from tests.engine.results.rows import class_rows
from tests.engine.training import small

FIRST_SCORES, SECOND_SCORES = {1: 0.70, 2: 0.72, 3: 0.71}, {1: 0.74, 2: 0.76, 3: 0.76}


def slower(job: JobSpec) -> JobSpec:
    training = job.training.model_copy(update={"learning_rate": job.training.learning_rate / 2})
    return job.model_copy(update={"name": "Slower", "training": training})


Runs = dict[tuple[str, int], Path]  # by the name of the job, and the seed


@pytest.fixture
def runs(studio, tmp_path) -> Runs:
    """Two jobs, each with three finished runs and a stopped one, in the record and as the folders
    that `train` writes."""
    job = small.classifying(tmp_path, epochs=1)
    write_seeds(tmp_path / "first", job, FIRST_SCORES, unfinished=4)
    write_seeds(tmp_path / "second", slower(job), SECOND_SCORES, unfinished=4)
    runs: Runs = {}
    with studio.record.session() as session:
        for name in ("first", "second"):
            for seed in (1, 2, 3, 4):
                folder = studio.home.runs / f"{name}-{seed}"
                shutil.copytree(tmp_path / name / f"seed-{seed}", folder)
                record_folder(session, RunFolder(folder), RunFolder(folder).job())
                runs[name, seed] = folder
    for name, predicted in (("first", GOLD), ("second", PREDICTED)):
        predictions = class_rows(GOLD, predicted, text=TEXTS)
        predictions.write(predictions_file(runs[name, 1] / "results", "validation"))
    return runs


def compare(studio: Studio, qtbot: QtBot, shown: Path, other: Path) -> ResultsView:
    view = open_results(studio, qtbot, results_source(shown))
    qtbot.waitUntil(lambda: view.rows.model.rowCount() == 5)
    view.comparison.compare_with(
        ResultFile("First", predictions_file(other / "results", "validation"))
    )
    qtbot.waitUntil(view.comparison.isVisible)
    return view


def test_runs_that_differ_only_in_their_seed_are_found_and_compared(
    studio, runs, qtbot, tmp_path, capsys
):
    for name in ("first", "second"):
        results = runs[name, 2] / "results"
        seed_runs = find_seed_runs(studio.record, results)
        assert set(seed_runs) == {runs[name, seed] for seed in (1, 2, 3)}
        assert find_seed_runs(studio.record, results / "step-00000001") == seed_runs
    assert find_seed_runs(studio.record, tmp_path / "elsewhere") == []
    # a comparison states the claim over seeds
    card = compare(studio, qtbot, runs["second", 1], runs["first", 1]).comparison
    assert main(["compare-results", str(tmp_path / "first"), str(tmp_path / "second")]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[-1].startswith("The second result is better: accuracy 75.33 % against 71 % ")
    assert card.seeds_claim.text() == f"Over seeds: {printed[-1]}"
    assert card.seeds_about.text() == (
        "Validation accuracy of the best checkpoints. "
        "First: 71.0 % ± 1.0 % (3 run(s), seeds 1, 2, 3). "
        "Second: 75.3 % ± 1.2 % (3 run(s), seeds 1, 2, 3)."
    )
    assert [line.strip() for line in printed if "mean" in line] == [
        "mean 71.0 % ± 1.0 %",
        "mean 75.3 % ± 1.2 %",
    ]
    # runs with equal settings are compared by rows only
    predictions = class_rows(GOLD, PREDICTED, text=TEXTS)
    predictions.write(predictions_file(runs["first", 2] / "results", "validation"))
    card = compare(studio, qtbot, runs["first", 2], runs["first", 1]).comparison
    assert card.claim.isVisible()
    assert not card.seeds_claim.isVisible()
    assert not card.seeds_about.isVisible()
    # the mean over seeds is shown below the score
    for seed, accuracy in {1: 0.5, 2: 0.7, 3: 0.6}.items():
        predictions = class_rows(GOLD, PREDICTED, text=TEXTS)
        info = predictions.info.model_copy(update={"metrics": {"accuracy": accuracy}, "step": seed})
        Predictions(info, predictions.table).write(
            predictions_file(runs["first", seed] / "results", "validation")
        )
    view = open_results(studio, qtbot, results_source(runs["first", 2]))
    qtbot.waitUntil(view.headline.seeds.isVisible)
    assert view.headline.seeds.text() == (
        "Mean of 3 runs (seeds 1, 2, 3): 60.0 % · 95 % interval 35.2 % to 84.8 %"
    )
    alone = open_results(studio, qtbot, results_source(runs["second", 1]))
    qtbot.waitUntil(lambda: alone.rows.model.rowCount() == 5)
    assert not alone.headline.seeds.isVisible()


def test_results_over_the_same_part_come_first_and_own_parts_are_excluded(studio, runs):
    """Corrected data have another fingerprint; the same part still comes before other parts."""
    shown = runs["second", 1] / "results"
    info = read_predictions(predictions_file(shown, "validation")).info
    predictions = class_rows(GOLD, GOLD, text=TEXTS)
    for folder, part, fingerprint in (
        (shown, "test", info.fingerprint),
        (runs["first", 1] / "results", "validation", info.fingerprint),
        (runs["first", 1] / "results", "test", "older"),
        (runs["first", 2] / "results", "validation", "older"),
    ):
        fields = {"part": part, "fingerprint": fingerprint, "model": "One"}
        Predictions(predictions.info.model_copy(update=fields), predictions.table).write(
            predictions_file(folder, part)
        )
    offered = [results.file for results in find_comparable(studio.record, shown, info)]
    assert offered[0] == predictions_file(runs["first", 1] / "results", "validation")
    assert offered[1] == predictions_file(runs["first", 2] / "results", "validation")
    assert offered[2] == predictions_file(runs["first", 1] / "results", "test")
    assert predictions_file(shown, "test") not in offered


def test_the_same_training_on_an_earlier_version_is_compared_automatically(studio, qtbot, tmp_path):
    job = small.classifying(tmp_path, epochs=1)
    predictions = class_rows(GOLD, PREDICTED, text=TEXTS)
    version_runs = []
    for version, number in ((1, 1), (2, 2), (3, 3), (2, 4)):
        data = StoredData(folder=tmp_path / "reviews" / str(version))
        own_job = (slower(job) if version == 3 else job).model_copy(update={"data": data})
        run = RunFolder.create(studio.home.runs / f"run-{version}-{number}", own_job)
        predictions.write(predictions_file(run.results, "validation"))
        with studio.record.session() as session:
            record_folder(session, run, run.job())
        version_runs.append(run)
    first, second, slow, _ = version_runs
    earlier = find_earlier(studio.record, second.results, predictions.info)
    assert earlier is not None and earlier.file == predictions_file(first.results, "validation")
    assert find_earlier(studio.record, first.results, predictions.info) is None
    assert find_earlier(studio.record, slow.results, predictions.info) is None, "other settings"
    assert find_earlier(studio.record, tmp_path / "elsewhere", predictions.info) is None

    view = open_results(studio, qtbot, results_source(second.path))
    qtbot.waitUntil(view.comparison.isVisible)
    assert view.comparison.about.text().startswith("First: ")
    view.comparison.stop.click()
    assert not view.comparison.isVisible()
