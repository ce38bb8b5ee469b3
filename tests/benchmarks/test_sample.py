"""The benchmark of the first training: what it tells of a report."""

import sys
from importlib import import_module
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "benchmarks"


def test_the_score_stands_beside_each_baseline(monkeypatch) -> None:
    monkeypatch.setattr(sys, "path", [str(FOLDER), *sys.path])
    script = import_module("sample")
    del sys.modules["sample"]
    beside = {"name": "Majority", "score": [0.1, 0.05, 0.2], "difference": [0.54, 0.4, 0.6]}
    report = {"intervals": {"accuracy": [0.64, 0.5, 0.7]}, "baselines": [beside]}
    assert script.lines(report) == [
        "MiniLM: accuracy 64.0 (50.0 to 70.0)",
        "Majority: 10.0 (5.0 to 20.0); MiniLM is 54.0 (40.0 to 60.0) better",
    ]
