"""Thresholds and temperatures are stored with a model, applied to predictions and fitted."""

import csv
import json
import math
import shutil

import numpy as np
import pytest
from sklearn.metrics import f1_score

from engine.applying.apply import certainty
from engine.checkpoints.info import checkpoint_info
from engine.checkpoints.prediction_settings import (
    FILE,
    PREDICTION,
    prediction_settings,
    save_settings,
)
from engine.cli import main
from engine.config.prediction import PredictionSettings
from engine.config.tasks import TASKS
from engine.data.datasets.rows import Rows
from engine.documents.card import model_card
from engine.documents.report import run_report
from engine.errors import BadCheckpoint, StudioError
from engine.evaluation.prediction_sets import calibrate, members
from engine.explore.prediction import predict
from engine.messages.explore.prediction import Predict
from engine.models.checkpoint import import_checkpoint, load
from engine.results.fitting import thresholded_labels, with_best_f1, with_temperature
from engine.results.intervals import wilson
from engine.results.prediction_sets import set_figures, with_sets
from engine.results.predictions import Predictions, read_predictions
from engine.results.store import best_checkpoint, evaluation_question, predictions_file
from engine.tasks.predicting import Predictor
from engine.tasks.scoring import score
from tests.engine.export.conftest import in_process
from tests.engine.fine_tuned import FineTuned, copy_model
from tests.engine.results.rows import class_rows

__all__ = ["in_process"]

TEXT, PAIR = "a lovely warm film", "a dull cold film"


@pytest.fixture(scope="module")
def trained_models(tuned, tmp_path_factory):
    kinds = ("text_classification", "multi_label", "question_answering")
    result = [copy_model(tuned(kind), tmp_path_factory.mktemp(kind)) for kind in kinds]
    return {item.kind: item._replace(checkpoint=best_checkpoint(item.run)) for item in result}


@pytest.fixture
def tuned_models(trained_models: dict[str, FineTuned]):
    """The models; their settings are reset afterwards."""
    yield trained_models
    for item in trained_models.values():
        (item.checkpoint / FILE).unlink(missing_ok=True)


def score_rows(model: FineTuned) -> Predictions:
    return score(evaluation_question(model.run, "validation")).predictions


def predict_text(model: FineTuned) -> dict[str, object]:
    return Predictor(model.checkpoint).predict(Rows([TEXT]))[0]


def answer_for(model: FineTuned):
    question = Predict(checkpoint=model.checkpoint, text=TEXT)
    return predict(load(model.checkpoint), question)


def test_default_settings_change_nothing(tuned_models):
    model = tuned_models["text_classification"]
    before = score_rows(model)
    save_settings(model.checkpoint, PredictionSettings())
    after = score_rows(model)
    assert after.table.equals(before.table) and after.info.metrics == before.info.metrics


def test_a_threshold_decides_between_two_classes(tuned_models):
    model = tuned_models["text_classification"]
    first, second = checkpoint_info(model.checkpoint).labels
    chance = predict_text(model)[f"p({second})"]
    for threshold, label in ((chance / 2, second), ((1 + chance) / 2, first)):
        save_settings(model.checkpoint, PredictionSettings(threshold=threshold))
        record, answer = predict_text(model), answer_for(model)
        assert record["label"] == label and record["probability"] == record[f"p({label})"]
        assert answer.predicted == (label,) and answer.predictions[0].ranked[0].label == label
        rows = score_rows(model)
        reached = rows.scores[:, 1] >= threshold
        assert rows.table["predicted"].to_pylist() == [(first, second)[int(r)] for r in reached]
        assert rows.info.settings["threshold"] == threshold
        accuracy = np.mean(rows.table["predicted"].to_numpy() == rows.table["gold"].to_numpy())
        assert rows.info.metrics["accuracy"] == pytest.approx(accuracy)


def test_each_label_of_several_has_its_threshold(tuned_models):
    model = tuned_models["multi_label"]
    names = checkpoint_info(model.checkpoint).labels
    p = {name: predict_text(model)[f"p({name})"] for name in names}
    expected = names[:1]  # the others are unreachable
    cuts = {name: p[name] / 2 if name in expected else (1 + p[name]) / 2 for name in names}
    save_settings(model.checkpoint, PredictionSettings(thresholds=cuts))
    assert predict_text(model)["labels"] == expected[0] and answer_for(model).predicted == expected
    rows = score_rows(model)
    reached = rows.scores >= np.array([cuts[name] for name in names])
    predicted = [json.loads(item)["predicted"] for item in rows.table["details"].to_pylist()]
    assert predicted == [[n for n, yes in zip(names, row, strict=True) if yes] for row in reached]


def test_a_temperature_divides_the_logits(tuned_models):
    model = tuned_models["text_classification"]
    before = score_rows(model)
    save_settings(model.checkpoint, PredictionSettings(temperature=2.5))
    after = score_rows(model)
    logits = np.log(before.scores.astype(np.float64)) / 2.5
    probabilities = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    np.testing.assert_allclose(after.scores, probabilities, atol=1e-6)
    assert after.table["predicted"].equals(before.table["predicted"])
    ranked = {item.label: item.probability for item in answer_for(model).predictions[0].ranked}
    record = predict_text(model)
    assert ranked == pytest.approx({name: record[f"p({name})"] for name in ranked}, abs=1e-6)


def test_the_no_answer_threshold_withholds_answers(tuned_models):
    model = tuned_models["question_answering"]
    for threshold, withheld in ((-1e6, True), (1e6, False)):
        save_settings(model.checkpoint, PredictionSettings(no_answer_threshold=threshold))
        rows = score_rows(model)
        assert all(not text for text in rows.table["predicted"].to_pylist()) == withheld
        assert rows.info.settings["no_answer_threshold"] == threshold


def test_thresholds_are_scaled_with_the_temperature():
    settings = PredictionSettings(threshold=0.8, thresholds={"a": 0.3, "b": 0.5})
    scaled = settings.at_temperature(2.0)
    logit = math.log(0.8 / 0.2)
    assert scaled.threshold == pytest.approx(1 / (1 + math.exp(-logit / 2)))
    assert scaled.thresholds["b"] == 0.5 and scaled.thresholds["a"] > 0.3
    back = scaled.at_temperature(1.0)
    assert back.threshold == pytest.approx(0.8) and back.thresholds["a"] == pytest.approx(0.3)
    changed = settings.with_threshold("no", 0.9, ("no", "yes"), is_multi_label=False)
    assert changed.threshold == pytest.approx(0.1)
    assert changed.get_threshold("no", ("no", "yes"), is_multi_label=False) == pytest.approx(0.9)


@pytest.mark.parametrize("temperature", [1.0, 1.7])
def test_fitted_thresholds_have_the_best_f1_of_scikit_learn(tuned_models, temperature):
    for kind in ("text_classification", "multi_label"):
        model = tuned_models[kind]
        save_settings(model.checkpoint, PredictionSettings(temperature=temperature))
        before = score_rows(model)
        fitted = with_best_f1(PredictionSettings(temperature=temperature), before)
        save_settings(model.checkpoint, fitted)
        after, names = score_rows(model), before.info.labels
        several = kind == "multi_label"
        gold = [set(json.loads(item)["gold"]) for item in before.table["details"].to_pylist()] \
            if several else [{item} for item in before.table["gold"].to_pylist()]  # fmt: skip
        for label in thresholded_labels(before):
            truth = np.array([label in item for item in gold])
            if not truth.any():
                continue
            scores = before.scores[:, names.index(label)]
            best = max(f1_score(truth, scores >= cut) for cut in np.unique(scores))
            threshold = fitted.get_threshold(label, names, several)
            predicted = after.scores[:, names.index(label)] >= threshold
            assert f1_score(truth, predicted) == pytest.approx(best)


def test_refitting_a_temperature_does_not_change_it(tuned_models):
    model = tuned_models["text_classification"]
    first = with_temperature(PredictionSettings(), score_rows(model))
    assert first is not None
    save_settings(model.checkpoint, first)
    second = with_temperature(first, score_rows(model))
    assert second is not None and second.temperature == pytest.approx(first.temperature, rel=1e-3)


def test_copies_and_exports_contain_the_settings(tuned_models, tmp_path, in_process):
    model = tuned_models["text_classification"]
    settings = PredictionSettings(temperature=1.5, threshold=0.37)
    save_settings(model.checkpoint, settings)
    import_checkpoint(model.checkpoint, tmp_path / "copy")
    out = tmp_path / "export"
    assert main(["export", str(model.checkpoint), "--to", str(out)]) == 0
    for folder in (tmp_path / "copy", out):
        entry = json.loads((folder / "config.json").read_text("utf-8"))[PREDICTION]
        assert (entry["temperature"], entry["threshold"]) == (1.5, 0.37)
        assert prediction_settings(folder) == settings and not (folder / FILE).exists()
    card = (out / "README.md").read_text("utf-8")
    assert "| temperature | 1.5 |" in card and ">= 0.37" in card and "/ 1.5" in card
    assert "Thresholds" not in model_card(tuned_models["multi_label"].checkpoint, "hf")


def test_damaged_settings_are_reported(tuned_models, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(tuned_models["text_classification"].checkpoint, folder)
    for text in ('{"temperature": "hot"}', '{"threshold": 1}', "{"):
        (folder / FILE).write_text(text, encoding="utf-8")
        with pytest.raises(BadCheckpoint):
            Predictor(folder)


def test_calibrate_sets_fits_prints_and_resets(tuned_models, capsys):
    model = tuned_models["text_classification"]
    run = str(model.run.path)

    def calibrate(*options: str, code: int = 0) -> str:
        capsys.readouterr()
        assert main(["calibrate", run, *options]) == code
        output = capsys.readouterr()
        return output.err if code else output.out

    assert calibrate() == "temperature 1\nthreshold 0.5\n"
    assert not (model.checkpoint / FILE).exists()
    assert "threshold 0.37" in calibrate("--threshold", "0.37")
    fitted = json.loads(calibrate("--reset", "--best-f1", "--fit-temperature", "--json"))
    rows = read_predictions(predictions_file(model.run.results, "validation"))
    expected = with_temperature(with_best_f1(PredictionSettings(), rows), rows)
    assert expected is not None and fitted == expected.model_dump(mode="json")
    assert prediction_settings(model.checkpoint) == expected
    assert calibrate("--reset") == "temperature 1\nthreshold 0.5\n"
    assert "between 0 and 1" in calibrate("--threshold", "1", code=1)
    assert "write a number from 0 to 1" in calibrate("--threshold", "150", code=2)
    assert "would be unsure" in calibrate("--unsure-below", "100 %", code=1)
    assert "which label" in calibrate("--threshold", "0.5", "--label", "none such", code=1)
    answers = str(tuned_models["question_answering"].run.path)
    assert main(["calibrate", answers, "--threshold", "0.3"]) == 1
    assert main(["calibrate", answers, "--no-answer-threshold", "2.5"]) == 0
    stored = prediction_settings(tuned_models["question_answering"].checkpoint)
    assert stored.no_answer_threshold == 2.5
    assert "unsure below 0.8" in calibrate("--unsure-below", "80 %")


UNSURE_INPUTS: dict[str, tuple[Rows, dict[str, object]]] = {
    "text_classification": (Rows([TEXT]), {}),
    "pair_classification": (Rows([TEXT], [PAIR]), {"pair": PAIR}),
    "multi_label": (Rows([TEXT]), {}),
    "ordinal_classification": (Rows([TEXT]), {}),
    "hierarchical_classification": (Rows([TEXT]), {}),
    "token_classification": (Rows(["Ada saw Paris"]), {"text": "Ada saw Paris"}),
    "span_classification": (Rows(["oslo saw rome"]), {"text": "oslo saw rome"}),
    "question_answering": (Rows([TEXT], [PAIR]), {"pair": PAIR}),
    "multiple_choice": (Rows([TEXT], endings=[(PAIR, TEXT)]), {"endings": (PAIR, TEXT)}),
}


def test_a_typed_text_is_as_certain_as_a_row_of_a_file(tuned, tmp_path):
    """So that the threshold marks both, for every task with probabilities."""
    heads = {kind: task.info.head for kind, task in TASKS.items() if task.info.head is not None}
    with_probabilities = {
        kind for kind, head in heads.items() if not (head.predicts_numbers or head.pools)
    }
    assert set(UNSURE_INPUTS) == with_probabilities
    for kind, (rows, typed) in UNSURE_INPUTS.items():
        model = copy_model(tuned(kind), tmp_path / kind).checkpoint
        save_settings(model, PredictionSettings(unsure_below=0.75))
        (record,) = Predictor(model).predict(rows)
        question = Predict.model_validate({"checkpoint": model, "text": TEXT, **typed})
        answer = predict(load(model), question)
        assert answer.certainty == pytest.approx(certainty(record), abs=1e-5), kind
        assert answer.unsure_below == 0.75, kind


def test_predict_marks_unsure_rows_by_the_stored_threshold(tuned_models, tmp_path):
    model = tuned_models["text_classification"].checkpoint
    save_settings(model, PredictionSettings(unsure_below=0.999))
    file, out = tmp_path / "new.csv", tmp_path / "out.csv"
    file.write_text("text\n" + f"{TEXT}\n" * 3)
    arguments = ["predict", str(file), "--model", str(model), "--out", str(out)]
    assert main(arguments) == 0
    rows = list(csv.DictReader(out.read_text().splitlines()))
    expected = [str(float(row["probability"]) < 0.999).lower() for row in rows]
    assert [row["unsure"] for row in rows] == expected
    out.unlink()
    assert main([*arguments, "--threshold", "0"]) == 0, "another threshold takes its place"
    assert "unsure" not in out.read_text().splitlines()[0]


def test_prediction_sets_are_calibrated_stored_and_predicted(tuned_models, tmp_path, capsys):
    model = tuned_models["text_classification"]
    names = checkpoint_info(model.checkpoint).labels
    rows = score_rows(model)
    rows.write(predictions_file(model.run.results, "validation"))
    run, folder = str(model.run.path), model.checkpoint

    def run_command(*arguments: str, code: int = 0) -> str:
        capsys.readouterr()
        assert main([*arguments]) == code
        output = capsys.readouterr()
        return output.err if code else output.out

    printed = run_command("calibrate", run, "--coverage", "80 %")
    (sentence,) = (line for line in printed.splitlines() if line.startswith("Prediction sets"))
    assert f"80 % of rows contain the true label (calibrated on {len(rows)} rows)" in sentence
    sets = prediction_settings(folder).sets
    true = [names.index(label) for label in rows.table["gold"].to_pylist()]
    assert sets == calibrate(rows.scores, np.array(true), names, 0.8)
    save_settings(folder, PredictionSettings(sets=sets.model_copy(update={"least": {
        names[0]: 0.0, names[1]: 1.0}})))  # fmt: skip
    answer = answer_for(model)
    assert (answer.coverage, answer.prediction_set) == (0.8, (names[0],))
    assert predict_text(model)["prediction_set"] == names[0]
    assert score_rows(model).info.sets == prediction_settings(folder).sets

    file, out = tmp_path / "new.csv", tmp_path / "out.csv"
    file.write_text(f"text\n{TEXT}\n")
    predicted = ["predict", str(file), "--model", str(folder), "--out", str(out)]
    run_command(*predicted)
    (row,) = csv.DictReader(out.read_text().splitlines())
    assert row["prediction_set"] == names[0]
    run_command(*predicted, "--coverage", "0")
    assert "prediction_set" not in out.read_text()
    run_command(*predicted, "--coverage", "0.8")
    (row,) = csv.DictReader(out.read_text().splitlines())
    inside = {name for name in names if float(row[f"p({name})"]) >= sets.least[name]}
    assert set(filter(None, row["prediction_set"].split("|"))) == inside

    report = json.loads(run_command("evaluate", "--run", run, "--coverage", "0.8", "--json"))
    found = report["prediction_sets"]
    assert found["sets"] == sets.model_dump(mode="json") and found["mean_size"] > 0
    assert "labels per set" in run_command("evaluate", "--run", run, "--coverage", "80 %")
    card = model_card(folder, "hf")
    assert "| prediction sets | Prediction sets: 80 %" in card and "p >= " in card

    score_rows(model).write(predictions_file(model.run.results, "validation"))
    sections = run_report(model.run)[0].sections
    texts = [text for section in sections for text in (*section.sentences, *map(str, section.rows))]
    assert sum("Prediction sets: 80 %" in text for text in texts) == 2, "the score and the settings"

    few = run_command("calibrate", run, "--coverage", "99.9 %", code=1)
    assert f"need 999 labelled rows, and there are {len(rows)}" in few
    assert "--coverage, such as 90 %" in run_command("calibrate", run, "--by-class", code=1)
    assert "contain every true label" in run_command("predict", *predicted[1:], "--coverage", "1",
                                                     code=1)  # fmt: skip
    assert "and are removed" in run_command("calibrate", run, "--temperature", "2")
    assert prediction_settings(folder).sets is None
    assert "another temperature" in run_command("calibrate", run, "--coverage", "0.8", code=1)
    several = str(tuned_models["multi_label"].run.path)
    assert "one of several labels" in run_command("calibrate", several, "--coverage", "0.8", code=1)


def test_held_out_coverage_is_measured_on_the_other_half_and_on_other_parts():
    """Equal to what `calibrate` and `members` give for the halves."""
    rng = np.random.default_rng(2)
    scores = rng.dirichlet((1, 1, 1), 101).astype(np.float32)
    true = (rng.random((101, 1)) > scores.cumsum(axis=1)).sum(axis=1)
    gold = ["abc"[index] for index in true]
    predictions = class_rows(gold, gold, tuple("abc"), scores)
    sets = with_sets(PredictionSettings(), predictions, 0.9).sets
    figures = set_figures(predictions, sets)
    covered = 0
    for first in (0, 1):
        half, other = slice(first, None, 2), slice(1 - first, None, 2)
        halved = calibrate(scores[half], true[half], tuple("abc"), 0.9)
        inside = members(halved, scores[other], tuple("abc"))
        covered += inside[np.arange(len(inside)), true[other]].sum()
    assert figures.covered == wilson(int(covered), 101)
    assert figures.sizes.tolist() == members(sets, scores, tuple("abc")).sum(axis=1).tolist()
    tested = Predictions(predictions.info.model_copy(update={"part": "test"}), predictions.table)
    inside = members(sets, scores, tuple("abc"))[np.arange(101), true]
    assert set_figures(tested, sets).covered == wilson(int(inside.sum()), 101)
    at_c = set_figures(tested, sets).by_label["c"]
    assert at_c == wilson(int(inside[true == 2].sum()), int((true == 2).sum()))
    with pytest.raises(StudioError, match="calibrated on validation rows"):
        with_sets(PredictionSettings(), tested, 0.9)
