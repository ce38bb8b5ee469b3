"""Every task by the commands, from a file to metrics and predictions."""

import json
from pathlib import Path

import pytest

from engine.cli import main
from tests.engine.training.small import NETWORK, questions, tagged

QUICK = ("--steps", "12", "--batch-size", "8", "--max-length", "24", "--threads", "1")
SMALL = ("hidden_size", "layers", "heads", "intermediate_size", "max_positions")


def squad(folder: Path) -> tuple[Path, list[str]]:
    return questions(folder / "questions.json"), []


def conll(folder: Path) -> tuple[Path, list[str]]:
    return tagged(folder / "tagged.conll"), []


@pytest.mark.parametrize(
    "task,files,figure,said",
    [
        ("question_answering", squad, "f1", {"answer", "probability", "candidates"}),
        ("token_classification", conll, "f1", {"words", "tags", "probabilities", "spans"}),
    ],
)
def test_a_task_is_composed_trained_judged_and_asked(
    output, told, capsys, tmp_path, task, files, figure, said
):
    data, columns = files(tmp_path)
    small = [f"--set=base_model.model.{name}={getattr(NETWORK, name)}" for name in SMALL]
    start = ["--size", "tiny", "--vocab-size", "120", *small]
    options = ["--data", str(data), "--task", task, *columns]
    assert main(["job", *options, *start, *QUICK]) == 0
    job = tmp_path / "job.json"
    job.write_text(capsys.readouterr().out, encoding="utf-8")
    assert main(["train", str(job), "--into", str(tmp_path / "run")]) == 0
    model = str(tmp_path / "run" / "checkpoints" / "step-00000012")
    capsys.readouterr()
    asked = [str(data), "--model", model, *columns]
    assert 0 <= told("evaluate", *asked)[figure] <= 1
    assert output("evaluate", *asked).count("\n") > 1
    for name in ("out.jsonl", "out.csv"):
        assert main(["predict", *asked, "--out", str(tmp_path / name)]) == 0
    first = json.loads((tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()[0])
    assert said <= set(first)
    assert (tmp_path / "out.csv").read_text(encoding="utf-8").count("\n") > 1
