"""A night in the real window: a search is started, trains without the window, and is compared.

`benchmarks/night.py --window` looks at a longer night, in which runs fail.
"""

import sys
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from engine.files.home import Home
from engine.record.opening import Record, open_record
from engine.record.runs import all_runs
from tests.end_to_end.test_circle_window import FOLDER, sentences
from tests.end_to_end.test_circle_window import pytestmark as needs_minilm

pytestmark = [pytest.mark.gui, *needs_minilm]

NIGHT = 300  # s for two small trainings on a busy machine
SEVERAL = """
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


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[ModuleType, ...]]:
    names = ("circle_window", "driven", "night")
    monkeypatch.setattr(sys, "path", [str(FOLDER), *sys.path])
    yield tuple(import_module(name) for name in names)
    for name in names:
        del sys.modules[name]


def wait_for_the_end(home: Home, record: Record) -> dict[str, float]:
    """Wait until the queue runner has ended every run; the learning rates of the finished ones."""
    end = time.monotonic() + NIGHT
    while True:
        with record.read() as session:
            runs = all_runs(session)
        if runs and all(run.ended is not None for run in runs):
            return {
                run.name: run.asked().training.learning_rate
                for run in runs
                if run.state == "finished"
            }
        assert time.monotonic() < end, [(run.name, run.state, run.problem) for run in runs]
        time.sleep(0.1)


def test_two_values_train_overnight_and_are_compared_in_the_morning(
    scripts: tuple[ModuleType, ...], tmp_path: Path
) -> None:
    circle, driven, night = scripts
    home = Home(tmp_path / "home")
    files = " ".join(
        f'"{sentences(tmp_path / f"{split}.jsonl", rows)}"'
        for split, rows in (("train", 48), ("validation", 16))
    )
    evening = (circle.OPENED + circle.IMPORTED + SEVERAL).format(files=f"'{files}'")
    wanted = {"theme": "light", "ask_on_close": False}
    assert driven.driven(evening, home.root, tmp_path, wanted) == ""

    record = open_record(home.record, home.backups)
    try:
        trained = wait_for_the_end(home, record)
    finally:
        record.close()
    assert sorted(trained.values()) == [1e-4, 3e-4]
    assert night.morning(tmp_path, "light", (night.OPENED, night.COMPARED, night.REPORTED)) == 0
    report = (tmp_path / "light" / "report.html").read_text(encoding="utf-8")
    assert all(name in report for name in trained)
