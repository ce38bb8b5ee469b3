"""Rows without a label, and several columns of labels, in the commands."""

import json
from pathlib import Path

import pytest

from engine.applying.apply import apply
from engine.config.dataset import StoredData
from engine.data.datasets.store import open_dataset
from engine.messages.applying import Apply, StoredInput
from engine.results.predictions import read_predictions
from engine.results.store import predictions_file
from engine.tasks.predicting import Predictor
from tests.engine.training import small


@pytest.fixture
def films(home, tmp_path) -> Path:
    """A file with two columns of labels, each of which lacks some: “-” in one of them."""
    lines = small.sentences(tmp_path / "films.csv").read_text().splitlines()
    rows = [line.split(",") for line in lines[1:]]
    content = [
        (text, "-" if n % 4 == 0 else label, "" if n % 3 == 0 else ("low", "high")[n % 2])
        for n, (text, label) in enumerate(rows)
    ]
    file = tmp_path / "films.csv"
    file.write_text("\n".join(map(",".join, [("text", "label", "urgency"), *content])) + "\n")
    return file


def test_the_unlabelled_rows_are_predicted_and_come_back_as_labels(tuned, home, output, films):
    model, out, again = tuned("text_classification"), films.parent / "1.csv", films.parent / "2.csv"
    output("import", films)
    dataset = open_dataset(home.datasets / "films" / "1")
    rows = dataset.unlabelled()
    assert len(rows) == 24 and not dataset.spec.labels.keys() & {"-"}
    given = StoredInput(data=StoredData(folder=dataset.folder), rows="unlabelled")
    question = Apply(checkpoint=model.checkpoint, given=given, out=out)
    assert apply(question, Predictor(model.checkpoint)).rows == len(rows)
    command = ("predict", "films", "--unlabelled", "--model", model.checkpoint, "--out", again)
    assert output(*command).startswith("24 rows written")
    assert again.read_text() == out.read_text()
    output("relabel", "films", out, "--label", "predicted_label")
    assert not len(open_dataset(home.datasets / "films" / "2").unlabelled())
    table = films.parent / "urgency.csv"
    table.write_text("row,urgency\n0,low\n1,low\n")
    output("relabel", "films", table, "--target", "urgency")
    third = open_dataset(home.datasets / "films" / "3")
    assert third.spec.changes == (
        "“urgency”: 1 row labelled.",
        "“urgency”: 1 row relabelled: “high” → “low” (1).",
    )
    assert third.spec.mapping.label == "label" and list(third.spec.targets) == ["urgency"]


def test_commands_say_what_has_no_label_and_take_either_column(home, output, json_output, films):
    facts = json_output("check", films)
    assert facts["unlabelled"] == 24 and "“-” read as no label" in " ".join(facts["notes"])
    sentence = "24 of 96 rows (25.0 %) have no label: they are kept"
    assert any(note.startswith(sentence) for note in facts["notes"]) and facts["ok"]
    stored = json_output("import", films)
    assert sum(stored["unlabelled"].values()) == 24
    checked = json_output("check", "films")
    assert checked["targets"] == ["urgency"] and sum(checked["unlabelled"].values()) == 24
    other = json_output("check", "films", "--target", "urgency")
    assert sum(other["unlabelled"].values()) == 32 and other["targets"] == ["label"]
    first, second = (
        json.loads(output("job", "--data", "films", *options))["data"]
        for options in ((), ("--target", "urgency"))
    )
    assert (first["target"], second["target"]) == (None, "urgency")
    assert first["fingerprint"] == second["fingerprint"]


def test_one_import_trains_on_either_target(home, output, json_output, refusal, films):
    output("import", films)
    dataset = open_dataset(home.datasets / "films" / "1")
    job = small.classifying(films.parent, steps=1)
    for target, names in ((None, ("bad", "good")), ("urgency", ("high", "low"))):
        data = StoredData(folder=dataset.folder, target=target)
        run = small.trained(films.parent / str(target), job.model_copy(update={"data": data}))
        predictions = read_predictions(predictions_file(run.results, "validation"))
        assert predictions.info.labels == names and predictions.info.mapping.label == (
            target or "label"
        )
        view = dataset.with_target(target).for_task(job.task)
        assert predictions.table["row"].to_pylist() == view.rows("validation").numbers
        assert None not in predictions.table["gold"].to_pylist()
        options = () if target is None else ("--target", target)
        model = run.checkpoint(1)
        report = json_output("evaluate", "--data", "films", "--model", model, *options)
        assert 0 <= report["accuracy"] <= 1
    assert "--target is for stored" in refusal("job", "--data", films, "--target", "urgency")
    assert "--target chooses" in refusal("job", "--data", "films", "--label", "urgency")
    message = refusal("job", "--data", "films", "--target", "text")
    assert "“text” is not a column of labels" in message and "label, urgency" in message


def test_labels_that_mean_none_can_be_chosen(home, json_output, films):
    assert json_output("check", films, "--no-label", "")["unlabelled"] == 0
    assert json_output("check", films, "--skip-empty", "label")["unlabelled"] == 0
    text = films.read_text()
    films.write_text(text.replace(",-,", ",-1,"))
    facts = json_output("check", films)
    assert "placeholder_labels" in {finding["check"] for finding in facts["findings"]}
    assert json_output("check", films, "--no-label=-1")["unlabelled"] == 24


def test_fixes_change_the_labels_of_the_chosen_column(home, output, json_output, films):
    lines = films.read_text().splitlines()
    odd = [line.replace(",low", ",Low") if n % 9 == 0 else line for n, line in enumerate(lines)]
    films.write_text("\n".join(odd) + "\n")
    output("import", films)
    by_column = {
        target: {f["check"] for f in json_output("check", "films", *options)["findings"]}
        for target, options in (("label", ()), ("urgency", ("--target", "urgency")))
    }
    assert "label_spellings" in by_column["urgency"] - by_column["label"]
    output("fix", "films", "label_spellings", "merge", "--target", "urgency")
    first, second = (open_dataset(home.datasets / "films" / name) for name in "12")
    assert second.spec.targets["urgency"].labels.keys() == {"", "high", "low"}
    assert first.column("label").equals(second.column("label"))
    (change,) = second.spec.changes
    assert change.startswith("“urgency”: ") and "“Low” → “low”" in change
