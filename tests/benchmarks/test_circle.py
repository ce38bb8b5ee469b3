"""The whole cycle with commands: from files to a second training and a model in use.

The data are synthetic and the models tiny; `python -m benchmarks quality circle` uses real ones.
"""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from app.__main__ import run_command
from benchmarks.quality import circle
from engine.data.datasets.store import open_dataset
from engine.runs.folder import RunFolder

TINY = (
    "--size=tiny", "--vocab-size=150", "--set=base_model.model.hidden_size=16",
    "--set=base_model.model.heads=2", "--set=base_model.model.intermediate_size=32",
    "--set=base_model.model.initializer_range=0.2", "--learning-rate=5e-3", "--max-length=24",
    "--batch-size=8", "--device=cpu", "--threads=1",
)  # fmt: skip
GOOD = "lovely warm fine happy great bright tender sweet clever funny"
BAD = "dull cold poor sad bad grim shallow bitter stupid boring"
SLOW = ("export",)  # tested separately


def sst2(folder: Path) -> None:
    """Sentences whose words all reveal the label."""
    rng = random.Random(3)
    words = {"1": GOOD.split(), "0": BAD.split()}

    def rows(count: int) -> str:
        labels = [rng.choice("01") for _ in range(count)]
        return "".join(f"{' '.join(rng.sample(words[n], 4))} \t{n}\n" for n in labels)

    for name, count in (("train", 120), ("dev", 40), ("test", 30)):
        (folder / f"{name}.tsv").write_text(f"sentence\tlabel\n{rows(count)}")


@pytest.mark.long
def test_the_cycle_of_commands_completes(home, tmp_path, capsys):
    name, work, outputs = "sst2", tmp_path / "work", dict[str, str]()

    def run(*words: object) -> str:
        arguments = list(map(str, words))
        if arguments[0] in SLOW:
            return ""
        assert run_command(arguments) == 0, capsys.readouterr().err
        outputs[arguments[0]] = capsys.readouterr().out
        return outputs[arguments[0]]

    for folder in (work, tmp_path / name):
        folder.mkdir()
    sst2(tmp_path / name)
    part = circle.SETS[name](tmp_path / name, work, 1.0)
    part.job = ("--epochs=4", *TINY)
    result: Any = circle.circle(name, part, home.root, work, run)

    assert result.metric == "accuracy" and result.first[1] <= result.first[0] <= result.first[2]
    assert result.changed > 2 and result.corrected > 0
    newest = open_dataset(max((home.datasets / name).iterdir()))
    assert newest.spec.made_from == newest.spec.version - 1 and newest.spec.changes
    runs = [RunFolder(home.runs / f"{name}-{number}") for number in (1, 2)]
    assert [run.job().data.folder.name for run in runs][1] == newest.folder.name
    assert json.loads(outputs["compare-results"])["claim"]
    assert "scored 1 time" in outputs["evaluate"]
    assert (work / "new.xlsx").stat().st_size > 1000
    assert "data:image/" in (work / "report.html").read_text(encoding="utf-8")
    assert result.line().startswith(f"| {name} | accuracy | ")
