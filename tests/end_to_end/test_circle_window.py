"""The whole cycle in a real window: data are fixed, trained on, corrected, and trained on again.

`python -m benchmarks quality circle --window` uses real data and takes more steps.
"""

import json
import random
from pathlib import Path

import pytest

from benchmarks.quality import circle_window
from engine.data.datasets.store import open_dataset
from engine.files.shipped import minilm
from engine.runs.folder import RunFolder
from tests.end_to_end.test_real_window import pytestmark as needs_a_screen

GOOD = ["lovely", "warm", "fine", "happy", "great", "bright", "tender", "sweet", "clever", "funny"]
BAD = ["dull", "cold", "poor", "sad", "bad", "grim", "shallow", "bitter", "stupid", "boring"]
SHORT = ("opened", "imported", "fixed", "trained", "evaluated", "corrected", "saved", "again")

pytestmark = [
    pytest.mark.gui,  # literally, as `dev.py test` searches for it
    *needs_a_screen,
    pytest.mark.skipif(not (minilm() / "config.json").is_file(), reason="MiniLM is missing"),
]


def sentences(path: Path, count: int) -> Path:
    """Sentences whose words all reveal the label."""
    rng, classes = random.Random(3), (("good", GOOD), ("bad", BAD))
    rows = [(label, rng.sample(words, 4)) for _ in range(count // 2) for label, words in classes]
    lines = (json.dumps({"text": " ".join(words), "label": label}) for label, words in rows)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def test_the_whole_cycle_works_by_mouse_and_keys(tmp_path):
    files = {
        "train": sentences(tmp_path / "train.jsonl", 48),
        "validation": sentences(tmp_path / "validation.jsonl", 16),
    }
    variant = circle_window.Variant("keys", "lines")
    assert circle_window.run_window(variant, files, tmp_path, "2", parts=SHORT) == ""

    home = tmp_path / "home"
    (versions,) = (home / "datasets").iterdir()
    specs = [open_dataset(versions / str(number)).spec for number in (1, 2, 3)]
    assert [spec.rows["train"] for spec in specs] == [50, 48, 48]
    assert specs[2].made_from == 2 and "label" in " ".join(specs[2].changes)
    runs = [RunFolder(folder) for folder in (home / "runs").iterdir()]
    assert {run.job().data.folder.name for run in runs} == {"2", "3"}
    assert all((run.results / "validation.parquet").is_file() for run in runs)
