"""A search over rates and seeds without a window; one run fails, one is killed."""

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.config.job import JobSpec
from engine.config.search import SearchField, SearchSpec
from engine.messages.events import Started
from engine.record import runner
from engine.record.runs import all_runs
from engine.record.searches import list_search_runs
from engine.runs import launch
from engine.runs.searching import best_trial, list_trials
from tests.engine.runs import fake_worker

RATES, SEEDS = (3e-5, 5e-5), (1, 2)


def search_job() -> JobSpec:
    fields = (
        SearchField(path="training.learning_rate", values=RATES),
        SearchField(path="training.seed", values=SEEDS),
    )
    raw = fake_worker.job("night", steps=2).model_dump()
    return JobSpec.model_validate(raw | {"search": SearchSpec(fields=fields)})


@pytest.fixture
def failing_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The second run fails, and the third is killed at its start."""
    code = (
        "import os, signal, sys; from pathlib import Path;"
        "from engine.messages.events import Ended, Started;"
        "from engine.runs.folder import RunFolder;"
        "run = RunFolder(Path(sys.argv[1]));\n"
        "with run.lock():\n"
        "    run.append(Started(pid=os.getpid()))\n"
        "    if sys.argv[2] == 'die': os.kill(os.getpid(), signal.SIGKILL)\n"
        "    run.append(Ended(outcome='failed', problem='The data set is gone.'))\n"
    )
    started: list[Path] = []

    def command(folder: Path) -> list[str]:
        started.append(folder)
        action = {2: "fail", 3: "die"}.get(len(started))
        return [sys.executable, "-c", code, str(folder), action] if action else normal(folder)

    normal: Callable[[Path], list[str]] = fake_worker.command
    monkeypatch.setattr(launch, "command", command)


def test_a_search_continues_after_failed_and_killed_runs(window, failing_runs):
    ids = window.manager.add(search_job())
    window.manager.detach()
    assert len(ids) == 4
    runner.run_queue(window.home)
    states = window.states()
    assert Counter(states.values()) == {"finished": 2, "failed": 1, "crashed": 1}
    assert window.run(ids[1]).problem == "The data set is gone."
    assert "disappeared" in window.run(ids[2]).problem or "signal 9" in window.run(ids[2]).problem
    for run_id in ids:
        events = window.run(run_id).run_folder().all_events()
        assert len([event for event in events if isinstance(event, Started)]) == 1, (
            "each run starts once"
        )
    with window.record.read() as session:
        group = all_runs(session)[0].parse_job().group
    assert group is not None
    runs, higher = list_search_runs(window.record, group.id)
    trials = list_trials(runs)
    assert [trial.state for trial in trials] == ["finished"] * 2, "one seed of each finished"
    best = best_trial(trials, higher)
    assert best is not None and best.values["training.learning_rate"] == 5e-5
