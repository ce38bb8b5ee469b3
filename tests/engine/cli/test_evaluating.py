"""`evaluate` over a file, stored data and the data of a run, and baselines."""

import csv
import json
import shutil
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from engine.checkpoints.prediction_settings import save_settings
from engine.cli import main
from engine.cli.results import find_slices, slice_lines
from engine.config.dataset import FileData, Split
from engine.config.prediction import PredictionSettings
from engine.data.datasets.store import open_dataset
from engine.documents.card import model_card
from engine.documents.report import run_report
from engine.results import store
from engine.results.predictions import read_predictions
from engine.runs.folder import RunFolder
from engine.training.loop import train
from tests.engine.training import small


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    folder = tmp_path_factory.mktemp("evaluating")
    job = small.classifying(folder, epochs=6)
    assert isinstance(job.data, FileData)
    data = job.data.model_copy(update={"split": Split(validation=0.2, test=0.2)})
    job = job.model_copy(update={"data": data})
    run_folder = small.new_run(folder / "run", job)
    train(job, run_folder, run_folder.append)
    return run_folder


@pytest.fixture
def evaluate(output: Any) -> Any:
    return partial(output, "evaluate")


def test_a_run_is_scored_with_intervals_and_baselines(run, evaluate):
    store.predictions_file(run.results, "validation").unlink()
    printed = evaluate("--run", run.path, "--baseline")
    predictions = read_predictions(store.predictions_file(run.results, "validation"))
    accuracy = predictions.info.metrics["accuracy"]
    assert f"accuracy {100 * accuracy:.1f} % (95 % interval " in printed
    assert "Majority: accuracy 4" in printed and "TF-IDF + logistic regression: accuracy" in printed
    assert "the model minus the baseline: " in printed and "The test rows" not in printed
    report = json.loads(evaluate("--run", run.path, "--baseline", "--json"))
    value, low, high = report["intervals"]["accuracy"]
    assert value == pytest.approx(accuracy) and low <= value <= high
    majority, tfidf = report["baselines"]
    assert (majority["name"], majority["metric"]) == ("Majority", "accuracy")
    assert majority["verdict"] == "the model is better" and majority["difference"][1] > 0
    assert tfidf["score"][0] <= 1 and report["test_looks"] == 0
    assert report["examples"] == len(predictions)
    assert [stored.info.part for stored in store.stored_predictions(run.results)] == ["validation"]


def test_neglected_classes_are_printed_with_a_setting_that_may_help(run, evaluate, tmp_path):
    copied = RunFolder(shutil.copytree(run.path, tmp_path / "run"))
    save_settings(store.best_checkpoint(copied), PredictionSettings(threshold=1 - 1e-9))
    printed = evaluate("--run", copied.path)
    label = copied.job().task.labels or ("bad", "good")
    assert (
        f"Never predicted: “{label[-1]}”. Class weights may help: --set task.balanced=true."
        in printed.splitlines()
    )
    assert json.loads(evaluate("--run", copied.path, "--json"))["never_predicted"] == [label[-1]]
    assert "f1_macro " in printed


def test_evaluation_report_and_card_have_the_mean_over_seeds(run, evaluate, tmp_path):
    def copy_run(name: str, **training: object) -> RunFolder:
        copied = RunFolder(shutil.copytree(run.path, tmp_path / name))
        job = copied.job()
        settings = job.training.model_copy(update=training)
        changed = job.model_copy(update={"training": settings})
        copied.spec_file.write_text(changed.model_dump_json())
        return copied

    first, second = copy_run("first"), copy_run("second", seed=7)
    copy_run("another", seed=8, learning_rate=1e-5)
    lower = read_predictions(store.predictions_file(second.results, "validation"))
    accuracy = lower.info.metrics["accuracy"]
    metrics = lower.info.metrics | {"accuracy": accuracy - 0.2}
    info = lower.info.model_copy(update={"metrics": metrics})
    replace(lower, info=info).write(store.predictions_file(second.results, "validation"))
    seed = run.job().training.seed
    score = f"accuracy {100 * (accuracy - 0.1):.1f} %"
    mean = f"Mean of 2 runs (seeds {min(seed, 7)}, {max(seed, 7)}): {score}"
    assert mean in evaluate("--run", first.path)
    scores = {str(seed): accuracy, "7": pytest.approx(accuracy - 0.2)}
    assert json.loads(evaluate("--run", first.path, "--json"))["seeds"] == scores
    report, _ = run_report(first)
    assert any(mean in sentence for section in report.sections for sentence in section.sentences)
    assert mean in model_card(store.best_checkpoint(first), "hf")
    assert "Mean of" not in evaluate("--run", run.path)


def test_the_worst_slices_are_part_of_an_evaluation(run, evaluate):
    printed = evaluate("--run", run.path, "--slices").splitlines()
    worst = find_slices(read_predictions(store.predictions_file(run.results, "validation")))
    assert printed[-len(slice_lines(worst)) :] == slice_lines(worst)
    assert json.loads(evaluate("--run", run.path, "--slices", "--json"))["slices"] == worst
    assert "slices" not in json.loads(evaluate("--run", run.path, "--json"))


def test_evaluations_on_test_rows_are_counted_and_their_rows_written(run, evaluate, tmp_path):
    before = len(store.logged_evaluations(run.results))
    out = tmp_path / "rows.csv"
    printed = evaluate("--run", run.path, "--part", "test", "--predictions", out)
    assert f"The test rows were scored {before + 1} time" in printed
    report = json.loads(evaluate("--run", run.path, "--part", "test", "--json"))
    assert report["test_looks"] == before + 2
    with open(out, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    dataset = open_dataset(run.dataset)
    assert [row["text"] for row in rows] == list(dataset.rows("test").texts)
    assert {"gold", "predicted", "probability", "loss", "label"} <= set(rows[0])


def test_a_stored_part_is_scored_by_a_model(run, evaluate, home, tmp_path, capsys):
    best = run.best_step()
    assert best is not None
    before = store.predictions_file(run.results, "validation").stat().st_mtime_ns
    arguments = ("--data", run.dataset, "--model", run.checkpoint(best), "--max-length", "32")
    report = json.loads(evaluate(*arguments, "--baseline", "--json"))
    predictions = read_predictions(store.predictions_file(run.results, "validation"))
    assert report["accuracy"] == pytest.approx(predictions.info.metrics["accuracy"])
    assert [baseline["name"] for baseline in report["baselines"]] == [
        "Majority", "TF-IDF + logistic regression",
    ]  # fmt: skip
    assert store.predictions_file(run.results, "validation").stat().st_mtime_ns == before
    assert main(["evaluate", *map(str, arguments[:-1]), "8"]) == 0
    assert "with 8 tokens or more, truncated to 8 tokens." in capsys.readouterr().err
    moved = tmp_path / "elsewhere"
    run.checkpoint(best).rename(moved)
    try:
        arguments = ("--data", run.dataset, "--model", moved, "--part", "test")
        assert json.loads(evaluate(*arguments, "--json"))["test_looks"] == 1
        assert len(store.logged_evaluations(home.results / "elsewhere")) == 1
    finally:
        moved.rename(run.checkpoint(best))


def test_other_texts_than_those_of_training_are_noted(run, tmp_path, capsys):
    def notes(model):
        assert main(["evaluate", "--data", str(run.dataset), "--model", str(model)]) == 0
        return capsys.readouterr().err

    best = run.checkpoint(run.best_step())
    assert "the model was trained on" not in notes(best)
    copied = shutil.copytree(best, tmp_path / "model")
    (copied / "manifest.json").unlink()
    config = json.loads((copied / "config.json").read_text(encoding="utf-8"))
    config["bert_studio_texts"] = {"text": "subject [SEP] text"}
    (copied / "config.json").write_text(json.dumps(config), encoding="utf-8")
    assert "The text is “text”; the model was trained on “subject [SEP] text”." in notes(copied)


def test_a_file_is_scored_and_its_rows_are_written(run, evaluate, tmp_path):
    file = small.sentences(tmp_path / "new.csv", rows=12)
    best = run.best_step()
    assert best is not None
    out = tmp_path / "rows.parquet"
    report = json.loads(
        evaluate(file, "--model", run.checkpoint(best), "--predictions", out, "--json")
    )
    assert report["examples"] == 12 and out.stat().st_size > 0
    assert report["accuracy"] == pytest.approx(report["correct"] / 12)
    assert report["intervals"]["f1_macro"][0] == pytest.approx(report["f1_macro"])


def test_a_run_is_read_as_its_best_checkpoint(run, output, tmp_path):
    file, best = small.sentences(tmp_path / "new.csv", rows=12), store.best_checkpoint(run)
    by_run, by_checkpoint = (
        output("evaluate", file, "--model", model) for model in (run.path, best)
    )
    assert by_run == by_checkpoint
    job = json.loads(output("job", "--data", file, "--base-model", run.path))
    assert job["base_model"]["path"] == str(best)


def test_rows_without_a_label_are_not_evaluated(refusal, run, tmp_path, capsys):
    file = small.sentences(tmp_path / "new.csv", rows=12)
    file.write_text(file.read_text(encoding="utf-8") + "a text that nobody has labelled,\nc,-\n")
    best = run.best_step()
    assert best is not None
    arguments = ("evaluate", str(file), "--model", str(run.checkpoint(best)))
    assert main([*arguments]) == 0
    captured = capsys.readouterr()
    assert "2 rows without a label left out" in captured.err and "of 12)" in captured.out
    assert "no column “labels”" in refusal(*arguments, "--skip-empty", "labels")
    assert main([*arguments, "--skip-empty", "label"]) == 0
    captured = capsys.readouterr()
    assert "1 row with an empty cell skipped" in captured.err and "of 12)" in captured.out
    file.write_text("text,label\na film,\n", encoding="utf-8")
    assert "None of these rows has a label" in refusal(*arguments)


@pytest.mark.parametrize(
    "arguments, problem",
    [
        ([], "not clear which rows"),
        (["some.csv", "--run", "RUN"], "not clear which rows"),
        (["some.csv"], "not clear which model"),
        (["--data", "RUN/dataset"], "not clear which model"),
        (["--run", "RUN", "--model", "RUN"], "its own checkpoints"),
        (["some.csv", "--model", "RUN", "--baseline"], "a file has none"),
        (["--run", "RUN", "--predictions", "rows.doc"], "ends with none of"),
        (["--run", "RUN", "--skip-empty", "label"], "when it was imported"),
        (["--data", "RUN/dataset", "--model", "RUN", "--text", "a"], "when it was imported"),
        (["--run", "RUN", "--encoding", "latin-1"], "when it was imported"),
    ],
)
def test_contradictory_options_are_refused(refusal, run, arguments, problem):
    count = len(store.logged_evaluations(run.results))
    assert problem in refusal("evaluate", *(a.replace("RUN", str(run.path)) for a in arguments))
    assert len(store.logged_evaluations(run.results)) == count


def test_a_file_with_a_new_class_is_scored_and_the_class_is_listed(run, capsys, tmp_path):
    file = tmp_path / "new.csv"
    rows = [f"{small.GOOD[n % 3]},{'neutral' if n == 0 else 'good'}" for n in range(6)]
    rows += [f"{small.BAD[n % 3]},bad" for n in range(6)]
    file.write_text("\n".join(["text,label", *rows]) + "\n", encoding="utf-8")
    assert main(["evaluate", str(file), "--model", str(run.path), "--json"]) == 0
    printed = capsys.readouterr()
    assert "1 label unknown to the model, counted as misclassified: “neutral”." in printed.err
    report = json.loads(printed.out)
    assert report["correct"] <= 11 and report["examples"] == 12
    assert report["unknown_classes"] == ["neutral"]
    assert [item["label"] for item in report["classes"]] == ["bad", "good", "neutral"]
    file.write_text("text,label\na,other\nb,another\n", encoding="utf-8")
    assert main(["evaluate", str(file), "--model", str(run.path)]) == 1
    assert "knows only" in capsys.readouterr().err
