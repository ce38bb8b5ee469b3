"""Searches on the command line, and their runs in a folder without a window."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.cli import main
from engine.cli.searching import parse_search, text_assignments
from engine.config.job import JobSpec
from engine.config.search import SearchField, SearchSpec
from engine.errors import StudioError
from engine.messages.events import Ended, Event, Saved, Started, measured
from engine.runs.folder import RunFolder
from engine.runs.groups import SUMMARY
from engine.worker import train as worker
from tests.engine.runs import fake_worker

RATE, SIZE = "training.learning_rate", "training.batch_size"
RATES = SearchField(path=RATE, values=(1e-5, 3e-5, 1e-4))
SIZES = SearchField(path=SIZE, values=(8, 16))


def quick(folder: Path, on_event: Callable[[Event], None]) -> int:
    """A fake worker: three evaluations computed from the settings, then the end."""
    run = RunFolder(folder)
    settings = run.job().training
    if settings.batch_size == 13:
        run.append(Ended(outcome="failed", problem="Unlucky."))
        return 1
    score = 0.5 + 1000 * settings.learning_rate + settings.batch_size / 100
    for event in (
        Started(pid=1),
        fake_worker.prepared(3, best_metric="validation_accuracy"),
        *(measured("validation_accuracy", step, score * step / 3) for step in (1, 2, 3)),
    ):
        run.append(event)
        on_event(event)
        if run.stop_requested():
            run.append(Ended(outcome="stopped", step=1, problem=run.stop_reason()))
            return 0
    run.append(Saved(step=3, folder="", best=True))
    run.append(Ended(outcome="finished", step=3))
    return 0


def run_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *fields: SearchField, **settings: object
) -> dict[str, object]:
    """The summary of a search whose runs end immediately."""
    search = SearchSpec.model_validate({"fields": fields, **settings})
    job = JobSpec.model_validate(fake_worker.job().model_dump() | {"search": search})
    (tmp_path / "job.json").write_text(job.model_dump_json())
    monkeypatch.setattr(worker, "main", quick)
    assert main(["train", str(tmp_path / "job.json"), "--into", str(tmp_path / "into")]) == 0
    summary: dict[str, object] = json.loads((tmp_path / "into" / SUMMARY).read_bytes())
    return summary


def test_tpe_trains_its_budget_and_marks_the_best(tmp_path, monkeypatch, capsys):
    summary = run_search(tmp_path, monkeypatch, RATES, SIZES, method="tpe", budget=4)
    rows = summary["rows"]
    assert isinstance(rows, list) and len(rows) == 4
    assert len({str(row["values"]) for row in rows}) == 4
    best = max(rows, key=lambda row: row["metrics"]["validation_accuracy"]["mean"])
    assert [row for row in rows if row["best"]] == [best]
    assert "(best)" in capsys.readouterr().out


def test_an_interrupted_search_continues_identically(tmp_path, monkeypatch):
    (tmp_path / "whole").mkdir()
    (tmp_path / "again").mkdir()
    complete = run_search(tmp_path / "whole", monkeypatch, RATES, SIZES, method="tpe", budget=4)

    def interrupt(folder: Path, on_event: Callable[[Event], None]) -> int:
        if folder.name == "combination-3":
            raise KeyboardInterrupt
        return quick(folder, on_event)

    (tmp_path / "job.json").write_bytes((tmp_path / "whole" / "job.json").read_bytes())
    monkeypatch.setattr(worker, "main", interrupt)
    into = tmp_path / "again" / "into"
    assert main(["train", str(tmp_path / "job.json"), "--into", str(into)]) != 0
    monkeypatch.setattr(worker, "main", quick)
    assert main(["resume", str(into)]) == 0
    resumed = json.loads((into / SUMMARY).read_bytes())
    assert resumed["rows"] == complete["rows"]


def test_poor_runs_are_pruned_and_a_failed_one_does_not_stop_the_search(tmp_path, monkeypatch):
    sizes = SearchField(path=SIZE, values=(60, 13, 50, 40, 30, 20, 10))
    summary = run_search(tmp_path, monkeypatch, sizes, prune=True)
    runs = summary["runs"]
    assert isinstance(runs, list)
    outcomes = [run["outcome"] for run in runs]
    assert outcomes == ["finished", "failed", *["finished"] * 4, "stopped"]
    ended = RunFolder(tmp_path / "into" / "combination-7").last_events()[-1]
    assert isinstance(ended, Ended) and ended.problem.startswith("Pruned at step 1: its best")


def test_the_command_line_accepts_values_ranges_and_sections(tmp_path):
    job = fake_worker.job()
    varied = [
        f"{RATE}=1e-5,3e-5",
        f"{SIZE}=[8, 16]",
        "training.warmup_ratio=0..0.5",
        "training.weight_decay=1e-4..1e-1",
        "training.frozen_layers=0..6",
        "training.gradient_checkpointing=true,false",
        f"base_model={tmp_path},{tmp_path.parent}",
    ]
    search = parse_search(job, varied, "random", {"budget": 7})
    assert search is not None and (search.method, search.budget) == ("random", 7)
    rate, size, warmup, decay, layers, check, base = search.fields
    assert rate.values == (1e-5, 3e-5) and size.values == (8, 16)
    assert (warmup.low, warmup.high, warmup.log) == (0, 0.5, False)
    assert decay.log and not decay.whole and layers.whole and not layers.log
    assert check.values == (True, False)
    assert base.values[0] == {"kind": "checkpoint", "path": str(tmp_path)}
    assert JobSpec.model_validate(job.model_dump() | {"search": search}).search == search
    cores = "hardware.cores=0-3,8"
    assert text_assignments(job, [cores, varied[0]]) == [cores]


def test_a_search_without_values_and_an_unknown_field_are_refused():
    job = fake_worker.job()
    assert parse_search(job, [], None, {}) is None
    with pytest.raises(StudioError, match="needs a field with several values"):
        parse_search(job, [], "tpe", {})
    with pytest.raises(StudioError, match="no field “training"):
        parse_search(job, ["training.speed=1,2"], None, {})
