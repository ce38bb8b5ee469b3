"""The circle in a real window: data are mended, learned from, corrected, and learned from again.

`benchmarks/circle_window.py` goes round with real data, and farther.
"""

import json
import random
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from engine.data.datasets.store import open_dataset
from engine.files.shipped import minilm
from engine.runs.folder import RunFolder
from tests.end_to_end.test_real_window import pytestmark as needs_a_screen

FOLDER = Path(__file__).parents[2] / "benchmarks"
GOOD = ["lovely", "warm", "fine", "happy", "great", "bright", "tender", "sweet", "clever", "funny"]
BAD = ["dull", "cold", "poor", "sad", "bad", "grim", "shallow", "bitter", "stupid", "boring"]
SHORT = ("opened", "imported", "fixed", "trained", "evaluated", "corrected", "saved", "again")

pytestmark = [
    pytest.mark.gui,  # by its name: `dev.py test` looks for it
    *needs_a_screen,
    pytest.mark.skipif(not (minilm() / "config.json").is_file(), reason="MiniLM is not there"),
]


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.setattr(sys, "path", [str(FOLDER), *sys.path])
    yield import_module("circle_window")
    del sys.modules["circle_window"]


def sentences(path: Path, count: int) -> Path:
    """Sentences of which every word tells the label."""
    chance, kinds = random.Random(3), (("good", GOOD), ("bad", BAD))
    rows = [(label, chance.sample(words, 4)) for _ in range(count // 2) for label, words in kinds]
    lines = (json.dumps({"text": " ".join(words), "label": label}) for label, words in rows)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def test_the_circle_is_closed_by_mouse_and_keys(script: ModuleType, tmp_path: Path) -> None:
    files = {
        "train": sentences(tmp_path / "train.jsonl", 48),
        "validation": sentences(tmp_path / "validation.jsonl", 16),
    }
    road = script.Road("keys", "lines")
    assert script.went_round(road, files, tmp_path, "2", parts=SHORT) == ""

    home = tmp_path / "home"
    (versions,) = (home / "datasets").iterdir()
    specs = [open_dataset(versions / str(number)).spec for number in (1, 2, 3)]
    assert [spec.rows["train"] for spec in specs] == [50, 48, 48]
    assert specs[2].made_from == 2 and "label" in " ".join(specs[2].changes)
    runs = [RunFolder(folder) for folder in (home / "runs").iterdir()]
    assert {run.job().data.folder.name for run in runs} == {"2", "3"}
    assert all((run.results / "validation.parquet").is_file() for run in runs)
