"""The whole cycle in a real window: data are fixed, trained on, corrected, and trained on again.

Then an overnight search is started, trained without the window, and compared.
`python -m benchmarks quality circle --window` uses real data and takes more steps;
`python -m benchmarks quality night --window` has more runs, some of which fail.
"""

import json
import random
import re
import time
from pathlib import Path

import pytest

from benchmarks import harness
from benchmarks.quality import circle_window, night
from engine.data.datasets.store import open_dataset
from engine.files.home import Home
from engine.files.shipped import tiny_model
from engine.record.opening import Record, open_record
from engine.record.runs import all_runs
from engine.runs.folder import RunFolder
from tests.end_to_end.test_real_window import pytestmark as needs_a_screen

GOOD = ["lovely", "warm", "fine", "happy", "great", "bright", "tender", "sweet", "clever", "funny"]
BAD = ["dull", "cold", "poor", "sad", "bad", "grim", "shallow", "bitter", "stupid", "boring"]
SHORT = ("opened", "imported", "fixed", "trained", "evaluated", "corrected", "saved", "again")

TO_MODELS = 'click "push button:Next" "list:Models"\n'
PATIENCE = 300  # s for two small trainings on a busy machine
SEARCH_STEPS = """
    click "push button:Fine-tune on this…"
    window Train
    click "push button:Next" "list:Models"
    click "Tiny*"
    click "push button:Next" "Epochs: 2"
    click "Several values: Learning rate"
    click "Values of Learning rate"
    key ctrl+a
    type "1e-4, 3e-4"
    click "push button:Next" "push button:Start*"
    wait 2
    click "push button:Start*"
    window Runs
    quit
"""

pytestmark = [
    pytest.mark.gui,  # literally, as `dev.py test` searches for it
    *needs_a_screen,
    pytest.mark.skipif(not (tiny_model() / "config.json").is_file(), reason="Tiny is missing"),
]


def sentences(path: Path, count: int) -> Path:
    """Sentences whose words all reveal the label."""
    rng, classes = random.Random(3), (("good", GOOD), ("bad", BAD))
    rows = [(label, rng.sample(words, 4)) for _ in range(count // 2) for label, words in classes]
    lines = (json.dumps({"text": " ".join(words), "label": label}) for label, words in rows)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def wait_for_runs(home: Home, record: Record) -> dict[str, float]:
    """Learning rates of the finished runs, once the queue runner has ended all."""
    deadline = time.monotonic() + PATIENCE
    while True:
        with record.read() as session:
            runs = all_runs(session)
        if runs and all(run.ended is not None for run in runs):
            return {
                run.name: run.parse_job().training.learning_rate
                for run in runs
                if run.state == "finished"
            }
        assert time.monotonic() < deadline, [(run.name, run.state, run.problem) for run in runs]
        time.sleep(0.1)


def test_the_whole_cycle_works_and_two_values_are_compared_after_a_night(tmp_path):
    files = {
        "train": sentences(tmp_path / "train.jsonl", 24),
        "validation": sentences(tmp_path / "validation.jsonl", 8),
    }
    variant, home = circle_window.Variant("keys", "lines"), Home(tmp_path / "home")
    circle_window.repeat_first(files["train"], variant.again)
    cycle = circle_window.make_steps(variant, files, "2", SHORT).removesuffix("quit\n")
    cycle = cycle.replace(TO_MODELS, TO_MODELS + 'click "Tiny*"\n')
    steps = cycle + circle_window.STEPS["to_data"] + SEARCH_STEPS
    evening = re.sub(r"\n *(shot|screen) .*", "", steps)
    preferences = {"theme": "light", "ask_on_close": False, "stand_by": False}
    assert harness.drive(evening, home.root, tmp_path, preferences) == ""

    (versions,) = home.datasets.iterdir()
    specs = [open_dataset(versions / str(number)).spec for number in (1, 2, 3)]
    assert [spec.rows["train"] for spec in specs] == [26, 24, 24]
    assert specs[2].made_from == 2 and "label" in " ".join(specs[2].changes)

    record = open_record(home.record, home.backups)
    try:
        trained = wait_for_runs(home, record)
    finally:
        record.close()
    assert sorted(trained.values()) == [1e-4, 3e-4, 5e-4, 5e-4]  # 5e-4 is the default
    runs = [RunFolder(folder) for folder in home.runs.iterdir()]
    assert sorted(run.job().data.folder.name for run in runs) == ["2", "3", "3", "3"]
    assert all((run.results / "validation.parquet").is_file() for run in runs)
    assert night.morning(tmp_path, "light", ("opened", "compared", "reported"))
    report = (tmp_path / "light" / "report.html").read_text(encoding="utf-8")
    assert all(name in report for name in trained)
