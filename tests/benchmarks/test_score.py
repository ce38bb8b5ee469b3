"""The benchmark of the time to a score: its runs and its table."""

import json
from dataclasses import replace

import pytest

from benchmarks import harness
from benchmarks.__main__ import main
from benchmarks.score import compare
from engine.config.families.bert import bert
from engine.config.recommended import LARGEST, QUICK, RECIPE_FIELDS, Situation, recommend
from engine.config.tasks import TASKS
from engine.config.training import TrainingSpec
from engine.files.shipped import default_base_model


def test_runs_take_turns_are_made_once_and_compared_by_seed(tmp_path, monkeypatch, capsys):
    made = list[tuple[str, str, int, dict]]()
    cpu = {"paper": 100.0, "quick": 40.0, "half": 50.0, "eager": 180.0, "sdpa": 160.0}

    def run_json(module, argument, env):
        work, side = json.loads(argument), module.rpartition(".")[2]
        arm = work["attention"] if side == "trainer" else work["recipe"]
        arm = "half" if work["changed"] else arm
        made.append((side, arm, work["seed"], work["changed"]))
        score = 0.8 + 0.01 * work["seed"] - (0.004 if arm == "quick" else 0)
        scores = [[5, 1.0, 2.0, 0.5], [10, 2.0, cpu[arm], score]]
        return {"seconds": 9.0, "cpu": cpu[arm], "scores": scores}

    monkeypatch.setattr(harness, "run_json", run_json)
    results = tmp_path / "runs.jsonl"
    options = ["score", str(tmp_path), "--model", str(default_base_model(pretrains=False))]
    options += ["--results", str(results), "--data", "trec-qc", "--seeds", "1", "2"]
    options += ["--arm", "half:epochs=1.5,lr_schedule=cosine"]
    main(options)
    order = ["paper", "quick", "eager", "sdpa", "half"]
    assert [arm for _, arm, seed, _ in made if seed == 1] == order
    assert [arm for _, arm, seed, _ in made if seed == 2] == order[::-1]
    assert {"epochs": 1.5, "lr_schedule": "cosine"} in [changed for *_, changed in made]
    assert {side for side, arm, *_ in made if arm in ("eager", "sdpa")} == {"trainer"}

    table = capsys.readouterr().out
    cells = [line.strip("| ").split(" | ") for line in table.splitlines() if "| L6" in line]
    rows = {row[1]: row[2:] for row in cells}
    assert rows["quick"] == [
        *("2", "40 (40 to 40)", "2.50 (2.50 to 2.50)", "40 (40 to 40), 1 of 2"),
        *("0.811", "-0.40 ± 0.00"),
    ]
    assert rows["Trainer"][:3] == ["2", "160 (160 to 160)", "0.62 (0.62 to 0.62)"]
    made.clear()
    main(options)
    assert not made
    main([*options, "--seeds", "3", "--minutes", "0.0000001"])
    assert not made and "Stopped" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main([*options, "--data", "unknown"])


def test_the_figures_of_the_quick_recipe_are_those_of_the_stored_runs():
    lines = compare.read()
    quick = QUICK[LARGEST]
    speed, points, sets = compare.figures(lines, "quick")
    assert (round(speed, 1), [round(p, 1) for p in points]) == (quick.speed, [*quick.points])
    assert sets == quick.sets
    for line in lines:
        if line["arm"] == "quick":
            network = Situation(TASKS["regression"].info, network=bert(6, 384), rows=line["rows"])
            expected = recommend(replace(network, recipe="quick")).training
            used = TrainingSpec.model_validate(line["settings"])
            assert all(getattr(used, name) == getattr(expected, name) for name in RECIPE_FIELDS)
