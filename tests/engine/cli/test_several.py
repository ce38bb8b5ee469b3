"""A job with several seeds: its folders, its summary, and resuming it."""

import json
import statistics
from pathlib import Path

import pytest

from engine.cli import main, several
from engine.config.job import JobSpec
from engine.errors import StudioError
from engine.messages.events import Ended, Event, Measured, Saved, measured
from engine.runs.folder import RunFolder
from engine.runs.groups import SUMMARY, aggregate, best_metrics, expand
from engine.worker import train as worker
from tests.engine.training import small


@pytest.fixture
def job(tmp_path: Path) -> JobSpec:
    return small.classifying(tmp_path, epochs=1, seed=5, seeds=3)


def test_three_seeds_make_three_runs_and_one_table(job, tmp_path, capsys, monkeypatch):
    """The second run is stopped; `resume` continues it and leaves the first unchanged."""
    (tmp_path / "job.json").write_text(job.model_dump_json())
    into = tmp_path / "into"
    original = worker.main

    def stop_at_step_3(folder: Path, on_event: object) -> int:
        def on_event(event: Event) -> None:
            if folder.name == "seed-6" and isinstance(event, Measured) and event.step == 3:
                RunFolder(folder).request_stop()

        return original(folder, on_event)

    monkeypatch.setattr(worker, "main", stop_at_step_3)
    assert main(["train", str(tmp_path / "job.json"), "--into", str(into)]) == 0
    summary = json.loads((into / SUMMARY).read_bytes())
    assert [run["outcome"] for run in summary["runs"]] == ["finished", "stopped", ""]
    (row,) = summary["rows"]
    assert row["runs"] == 3 and row["metrics"]["validation_accuracy"]["runs"] == 1
    first = (into / "seed-5" / "events.jsonl").read_bytes()
    monkeypatch.undo()
    capsys.readouterr()

    assert main(["resume", str(into)]) == 0
    assert (into / "seed-5" / "events.jsonl").read_bytes() == first
    summary = json.loads((into / SUMMARY).read_bytes())
    assert [(r["folder"], r["seed"], r["outcome"]) for r in summary["runs"]] == [
        (f"seed-{seed}", seed, "finished") for seed in (5, 6, 7)
    ]
    losses = [run["metrics"]["validation_loss"] for run in summary["runs"]]
    assert len(set(losses)) == 3, "each seed trains differently"
    spread = summary["rows"][0]["metrics"]["validation_loss"]
    assert spread["mean"] == pytest.approx(statistics.fmean(losses))
    assert spread["deviation"] == pytest.approx(statistics.stdev(losses))
    printed = capsys.readouterr().out
    low, high = spread["interval"]
    suffix = f", 95 % interval {low:.4f} to {high:.4f} (3 of 3)"
    assert f"validation_loss: {spread['mean']:.4f} ± {spread['deviation']:.4f}{suffix}" in printed
    for seed in (5, 6, 7):
        run_job = RunFolder(into / f"seed-{seed}").job()
        assert run_job.training.seed == seed and run_job.training.seeds == 1
        assert run_job.group is not None and run_job.group.name == job.name

    assert main(["train", str(tmp_path / "job.json"), "--into", str(into)]) == 1, "it exists"


def test_the_figures_are_those_of_the_best_checkpoint(job, tmp_path):
    run = RunFolder.create(tmp_path / "run", job)
    for step, value in ((1, 0.5), (2, 0.9), (3, 0.7)):
        run.append(measured("loss", step, 1.0 / step))
        run.append(measured("validation_accuracy", step, value))
        run.append(measured("validation_loss", step, float("nan")))
        run.append(Saved(step=step, folder="", best=step < 3))
    run.append(Ended(outcome="finished", step=3))
    assert best_metrics(run) == (2, {"validation_accuracy": 0.9})
    bare = RunFolder.create(tmp_path / "bare", job)
    bare.append(measured("loss", 4, 0.25))
    assert best_metrics(bare) == (4, {"loss": 0.25})


def test_a_name_of_maximum_length_stays_valid(job):
    long = job.model_copy(update={"name": "x" * 200})
    for part in expand(long):
        assert JobSpec.model_validate(part.model_dump()) == part
        assert expand(part) == (part,)


def test_aggregate_gives_mean_deviation_and_count():
    assert aggregate([]) is None
    single, pair = aggregate([0.5]), aggregate([1.0, 3.0])
    assert single is not None and (single.mean, single.deviation, single.runs) == (0.5, None, 1)
    assert pair is not None
    assert (pair.mean, pair.deviation, pair.runs) == (2.0, pytest.approx(2**0.5), 2)


def test_a_folder_in_use_is_refused(job, tmp_path):
    (tmp_path / "into").mkdir()
    (tmp_path / "into" / "mine").touch()
    with pytest.raises(StudioError, match="already exists"):
        several.begin(job, tmp_path / "into")


@pytest.mark.parametrize(
    "summary",
    [
        '{"name": "x", "runs": [{"folder": "../other"}]}',
        '{"name": "x", "runs": [{"folder": "/tmp"}]}',
        '{"name": "x", "runs": [{"folder": "link"}]}',
        '{"name": "x", "runs": [{"folder": ".."}]}',
        '{"name": "x", "runs": {"folder": "a"}}',
        '{"name": "x", "runs": []}',
        '{"name": "x"}',
        "[]",
        "{",
        "[" * 100_000,
    ],
)
def test_a_summary_with_foreign_paths_is_refused(refusal, job, tmp_path, summary):
    other = RunFolder.create(tmp_path / "other", expand(job)[0])
    into = tmp_path / "into"
    into.mkdir()
    (into / SUMMARY).write_text(summary)
    (into / "link").symlink_to(other.path)
    assert "summary.json of into" in refusal("resume", into)
    assert not other.events_file.exists()
