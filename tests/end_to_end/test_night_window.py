"""An overnight search in the real window: started, trained without the window, and compared.

`python -m benchmarks quality night --window` has more runs, some of which fail.
"""

import time

import pytest

from benchmarks import harness
from benchmarks.quality import circle_window, night
from engine.files.home import Home
from engine.record.opening import Record, open_record
from engine.record.runs import all_runs
from tests.end_to_end.test_circle_window import pytestmark as needs_minilm
from tests.end_to_end.test_circle_window import sentences

pytestmark = [pytest.mark.gui, *needs_minilm]

PATIENCE = 300  # s for two small trainings on a busy machine
SEARCH_STEPS = """
    click "push button:Fine-tune on this…"
    window Train
    click "push button:Next" "list:Data sets"
    click "push button:Next" "list:Models"
    click "push button:Next" "Epochs: 2"
    click "Epochs: 2"
    click "Several values: Learning rate"
    click "Values of Learning rate"
    key ctrl+a
    type "1e-4, 3e-4"
    shot 05-settings.png
    click "push button:Next" "push button:Start*"
    click "push button:Start*"
    window Runs
    quit
"""


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


def test_two_values_train_overnight_and_are_compared_in_the_morning(tmp_path):
    steps = circle_window.STEPS
    home = Home(tmp_path / "home")
    files = " ".join(
        f'"{sentences(tmp_path / f"{split}.jsonl", rows)}"'
        for split, rows in (("train", 48), ("validation", 16))
    )
    evening = (steps["opened"] + steps["imported"] + SEARCH_STEPS).format(files=f"'{files}'")
    preferences = {"theme": "light", "ask_on_close": False}
    assert harness.drive(evening, home.root, tmp_path, preferences) == ""

    record = open_record(home.record, home.backups)
    try:
        trained = wait_for_runs(home, record)
    finally:
        record.close()
    assert sorted(trained.values()) == [1e-4, 3e-4]
    assert night.morning(tmp_path, "light", ("opened", "compared", "reported"))
    report = (tmp_path / "light" / "report.html").read_text(encoding="utf-8")
    assert all(name in report for name in trained)
