"""Commands for tasks other than text classification, from the job to predictions."""

import csv

import pytest

from engine.messages.events import Noted
from engine.runs.folder import RunFolder
from tests.engine.cli.test_commands import SIZE
from tests.engine.training import small

CASES = {
    "regression": (
        "csv", ["--text=text"], ["--label=score"], ["number"], "pearson", 0.9,
    ),
    "multi_label": (
        "csv", ["--text=text"], ["--label=topics"],
        ["labels", "p(acting)", "p(film)", "p(story)"], "f1_micro", 0.8,
    ),
    "multiple_choice": (
        "csv", ["--text=text", "--endings=ending0,ending1"], ["--label=right"],
        ["choice", "probability", "p(0)", "p(1)"], "accuracy", 0.8,
    ),
    "question_answering": ("json", [], [], ["answer", "probability", "candidates"], "f1", 0),
    "token_classification": (
        "conll", [], [], ["words", "tags", "probabilities", "spans"], "f1", 0,
    ),
}  # fmt: skip
WRITERS = {"csv": small.labelled, "json": small.questions, "conll": small.tagged}


@pytest.mark.parametrize("task", CASES)
def test_a_task_is_trained_evaluated_and_used(output, json_output, tmp_path, task):
    suffix, columns, label, predicted, metric, minimum = CASES[task]
    data, job, run = (tmp_path / name for name in (f"data.{suffix}", "job.json", "run"))
    WRITERS[suffix](data)
    job.write_text(
        output("job", "--data", data, *columns, *label, *SIZE, "--task", task,
            f"--epochs={6 if minimum else 1}", "--batch-size=8", "--learning-rate=5e-3",
            "--max-length=48", "--device=cpu", "--threads=1", "--set=training.evaluate_every=99",
            "--set=base_model.model.initializer_range=0.2",
        )
    )  # fmt: skip
    output("train", job, "--into", run)
    model = ["--model", RunFolder(run).checkpoint_folders()[-1], *columns, "--max-length=48"]
    report = json_output("evaluate", data, *model, *label)
    assert report[metric] >= minimum
    assert metric in output("evaluate", data, *model, *label)
    out = tmp_path / "out.csv"
    output("predict", data, *model, "--out", out)
    with open(out, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {*predicted} <= {*rows[0]} and len(rows) >= 48
    if task == "multi_label":  # predictions can be evaluated as they were written
        rescored = json_output("evaluate", out, *model, "--label=labels")
        assert rescored["exact_match"] == 1


def test_a_weight_for_an_unknown_label_is_refused(output, refusal, tmp_path):
    data, job = small.sentences(tmp_path / "data.csv"), tmp_path / "job.json"
    weights = '--set=task.class_weights={"great": 2}'
    job.write_text(output("job", "--data", data, *SIZE, weights))
    printed = refusal("train", job, "--into", tmp_path / "run")
    assert "“great”" in printed and "“bad”, “good”" in printed


def test_a_class_that_is_never_predicted_is_reported_once(output, tmp_path):
    data, job, run = tmp_path / "data.csv", tmp_path / "job.json", tmp_path / "run"
    text = "a fine film" + " so" * 20  # the number after it is truncated
    numbered = [f"{text} {n},{'rare' if n % 5 == 0 else 'common'}\n" for n in range(100)]
    data.write_text("text,label\n" + "".join(numbered))
    options = ["--steps=8", "--batch-size=8", "--set=training.evaluate_every=2", "--max-length=16"]
    job.write_text(output("job", "--data", data, *SIZE, *options, "--device=cpu"))
    output("train", job, "--into", run)
    events, _ = RunFolder(run).events_after(0)
    notes = [event.text for event in events if isinstance(event, Noted)]
    (warning,) = [text for text in notes if "“rare”" in text]
    assert "predicts “rare” for no validation example" in warning
    assert not any("“common”" in text for text in notes)
