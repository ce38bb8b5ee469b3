"""The `heads` command reports the numbers of the window, in a file and as JSON."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from engine.cli import main
from engine.config.dataset import FileData, Split, StoredData
from engine.data.datasets.store import resolve
from engine.explore.head_importance import weigh
from engine.explore.head_pruning import prune
from engine.messages.explore.text_set import PruneHeads, TextSet, WeighHeads
from engine.models.checkpoint import load
from engine.models.heads import Heads
from tests.engine.models.small import LABELS, folder

TEXTS = [
    (" ".join("abcdefghijklmno"[(n * k) % 15] for k in range(1, 4 + n % 3)), LABELS[n % 3])
    for n in range(1, 13)
]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model, a file, and the same rows as a data set."""
    workspace = tmp_path_factory.mktemp("heads")
    folder(workspace / "model", Heads(outputs=3))
    rows = "".join(f"{text},{label}\n" for text, label in TEXTS)
    (workspace / "texts.csv").write_text(f"text,label\n{rows}")
    resolve(
        FileData(path=workspace / "texts.csv", split=Split(validation=0, test=0)),
        workspace / "data",
    )
    return workspace


@pytest.fixture
def run(workspace: Path, capsys: pytest.CaptureFixture[str]):
    """Runs the command on the file; returns the exit code, stdout and stderr."""

    def run(*options: str, model: str = "model", texts: tuple[str, ...] | None = None):
        source = ("--texts", str(workspace / "texts.csv")) if texts is None else texts
        code = main(["heads", str(workspace / model), *source, *options])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def read_table(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text(encoding="utf-8-sig").splitlines()))


def text_set(workspace: Path) -> TextSet:
    return TextSet(data=StoredData(folder=workspace / "data"), part="train")


def test_patterns_name_the_strongest_head(run, tmp_path):
    out = tmp_path / "heads.csv"
    code, printed, _ = run("--out", str(out))
    assert code == 0 and f"4 heads written to {out}" in printed
    rows = read_table(out)
    assert [(row["layer"], row["head"]) for row in rows] == [
        ("1", "1"), ("1", "2"), ("2", "1"), ("2", "2"),
    ]  # fmt: skip
    best = max(rows, key=lambda row: float(row["previous"]))
    line = next(line for line in printed.splitlines() if line.startswith("most previous: "))
    assert f"{best['layer']}.{best['head']}" in line and "95 % interval" in line
    assert float(best["previous low"]) <= float(best["previous"]) <= float(best["previous high"])
    code, printed, _ = run("--json")
    report = json.loads(printed)
    assert (code, report["method"], report["texts"]) == (0, "patterns", len(TEXTS))
    assert [str(head["previous"]) for head in report["heads"]] == [row["previous"] for row in rows]


def test_importance_equals_that_of_the_window(run, workspace, tmp_path):
    code, printed, _ = run("--method", "each", "--replacement", "mean", "--json")
    report = json.loads(printed)
    question = WeighHeads(
        checkpoint=workspace / "model",
        texts=text_set(workspace),
        each_head=True,
        replacement="mean",
    )
    answer = weigh(load(workspace / "model"), question, tmp_path, lambda _: None)
    values = np.load(answer.file)
    assert code == 0 and report["replacement"] == "mean"
    assert report["loss"] == pytest.approx(answer.loss, abs=1e-6)
    for row in report["heads"]:
        head = row["layer"] - 1, row["head"] - 1
        assert row["importance"] == pytest.approx(values[(0, *head, 0)], abs=1e-6)
        assert row["loss off low"] == pytest.approx(values[(1, *head, 1)], abs=1e-6)


def test_heads_are_printed_by_importance(run):
    code, printed, _ = run("--method", "importance", "--top", "2")
    lines = printed.splitlines()
    assert code == 0 and lines[0].startswith("mean loss ") and lines[1] == "heads by importance:"
    first, second = (float(line.split()[2]) for line in lines[2:])
    assert first >= second


def test_pruning_is_reported_and_the_pruned_model_is_saved(run, workspace, tmp_path):
    save, out = tmp_path / "pruned", tmp_path / "rounds.csv"
    options = ("--method", "pruning", "--max-fall", "1", "--save", str(save), "--out", str(out))
    code, printed, _ = run(*options, "--json")
    report = json.loads(printed)
    question = PruneHeads(checkpoint=workspace / "model", texts=text_set(workspace), max_fall=1)
    answer = prune(load(workspace / "model"), question, lambda _: None)
    assert code == 0 and report["metric"] == "accuracy" and report["saved"] == str(save)
    assert [step["accuracy"] for step in report["rounds"]] == [r.figure for r in answer.rounds]
    assert report["pruned"] == [[layer + 1, head + 1] for layer, head in answer.pruned]
    weight = load(save).network.encoder.layers[0].attention.output.weight
    pruned = [head for layer, head in answer.pruned if layer == 0]
    assert all(not weight[:, 8 * head : 8 * head + 8].any() for head in pruned) and pruned
    rows = read_table(out)
    assert sum(row["round"] == "" for row in rows) == 1, "one head stays"
    code, printed, err = run(*options)
    assert code == 1 and "already exists" in err
    code, printed, _ = run("--method", "pruning", "--max-fall", "1")
    assert "3 heads can be pruned: " in printed and printed.count("round ") == 4


def test_results_for_a_stored_data_set_are_cached(run, workspace, home):
    texts = ("--data", str(workspace / "data"), "--part", "train")
    code, printed, _ = run("--method", "importance", "--json", texts=texts)
    assert code == 0 and json.loads(printed)["texts"] == len(TEXTS)
    assert len(list((home.cache / "texts").iterdir())) == 1


@pytest.mark.parametrize(
    "options, message",
    [
        (("--save", "new"), "Only a model whose heads were pruned can be saved."),
        (("--replacement", "mean"), "Add --method each"),
        (("--max-fall", "0.1"), "--max-fall is for pruning."),
        (("--data", "x"), "It is not clear which texts to use."),
        (("--out", "x.txt"), ".csv, .tsv"),
    ],
)
def test_an_option_without_effect_is_refused(run, options, message):
    code, _, err = run(*options)
    assert code == 1 and message in err


def test_a_part_without_rows_and_texts_without_labels_are_refused(run, workspace, tmp_path):
    code, _, err = run(texts=("--data", str(workspace / "data")))
    assert code == 1 and "no rows in this split" in err
    (tmp_path / "bare.txt").write_text("a b\nc d\n")
    code, _, err = run("--method", "importance", texts=("--texts", str(tmp_path / "bare.txt")))
    assert code == 1 and "no labels" in err
