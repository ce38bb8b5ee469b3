"""The comparison report agrees with the folders of its runs."""

import statistics

import pytest

from engine.documents.comparison import CURVES, MAX_RUNS, comparison_report
from engine.documents.report import Report, Section, html
from engine.errors import StudioError
from engine.results.comparing import compare
from engine.results.predictions import read_predictions
from engine.results.several import ComparedRun
from engine.results.store import predictions_file
from engine.runs.folder import RunFolder
from engine.runs.groups import best_metrics
from engine.training.loop import train
from tests.tasks.jobs import JOBS

CHANGES = {"first": {}, "again": {"seed": 2}, "quick": {"learning_rate": 0.02, "seed": 3}}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[ComparedRun]:
    """Two runs that differ only in the seed, and one with another rate."""
    folder = tmp_path_factory.mktemp("runs")
    job = JOBS["text_classification"](folder, epochs=1)
    result = []
    for name, changes in CHANGES.items():
        training = job.training.model_copy(update=changes)
        run_job = job.model_copy(update={"name": name, "training": training})
        run = RunFolder.create(folder / name, run_job)
        train(run_job, run, run.append)
        result.append(ComparedRun(name, name, run.path))
    return result


@pytest.fixture(scope="module")
def sections(runs: list[ComparedRun]) -> dict[str, Section]:
    report = comparison_report(runs)
    assert report.title == "Comparison of 3 runs"
    return {section.key: section for section in report.sections}


def test_differing_settings_are_listed_for_each_run(sections):
    result = sections["different"]
    table = [result.header, *result.rows]
    by_run = {row[0]: dict(zip(table[0][1:], row[1:], strict=True)) for row in table[1:]}
    assert set(by_run) == set(CHANGES)
    assert by_run["quick"]["Learning rate"] == "0.02"
    assert [by_run[name]["Random seed"] for name in CHANGES] == ["42", "2", "3"]
    same = {row[0]: row[1] for row in sections["same"].rows}
    assert same["Epochs"] == "1" and "Learning rate" not in same
    assert '"learning_rate"' in sections["repeat"].code


def test_runs_that_differ_only_in_the_seed_have_a_mean(sections, runs):
    values = [best_metrics(RunFolder(run.folder))[1]["validation_accuracy"] for run in runs[:2]]
    first = sections["seeds"].rows[0]
    assert first[:2] == ("first, again", "2")
    index = sections["seeds"].header.index("accuracy")
    expected = f"{statistics.fmean(values):.1%} ± {statistics.stdev(values):.1%}"
    assert first[index].replace(" %", "%") == expected
    assert sections["seeds"].rows[1][:2] == ("quick", "1")


def test_scores_have_intervals_and_verdicts(sections, runs):
    predictions = [
        read_predictions(predictions_file(RunFolder(r.folder).results, "validation")) for r in runs
    ]
    compared = compare(predictions[0], predictions[2])
    result = sections["validation"]
    rows = {row[0]: dict(zip(result.header[1:], row[1:], strict=True)) for row in result.rows}
    main = next(metric for metric in compared.metrics if metric.name == "accuracy")
    assert rows["first"]["Difference"] == ""
    assert rows["quick"]["Difference"] == f"{100 * main.difference.value:+.1f} %"
    assert rows["quick"]["Interval of the difference"] == (
        f"{100 * main.difference.low:+.1f} % to {100 * main.difference.high:+.1f} %"
    )
    assert int(rows["quick"]["Worse"]) == int(compared.worse.sum())
    assert f"quick: {compared.sentence}" in result.sentences


def test_environment_weights_and_curves_have_sections(sections):
    assert dict(sections["environment"].rows)["torch"]
    assert [row[0] for row in sections["weights"].rows] == list(CHANGES)
    assert len({row[2] for row in sections["weights"].rows}) == 3
    assert sections[CURVES].rows == ()
    page = html(Report("Comparison", "", tuple(sections.values())))
    assert page.count("<section") == len(sections)


@pytest.mark.parametrize("count", [0, 1, MAX_RUNS + 1])
def test_only_several_runs_are_compared(count, tmp_path):
    with pytest.raises(StudioError, match="2 to 50 runs"):
        comparison_report([ComparedRun(str(n), str(n), tmp_path) for n in range(count)])
