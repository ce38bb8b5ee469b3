"""`bert-studio queue` as a program, with a runner process."""

import json
import sys
from pathlib import Path

import pytest

from app import queueing
from app.__main__ import main
from engine.files.home import Home
from engine.record.follow import record_folder
from engine.record.opening import open_record
from engine.record.runs import all_runs
from engine.runs import launch
from engine.runs.folder import RunFolder
from engine.runs.lock import is_held
from tests.engine.runs import fake_worker
from tests.engine.runs.waiting import until

ROOT = Path(__file__).parents[2]
RUNNER = [sys.executable, "-m", "tests.engine.record.fake_runner"]


@pytest.fixture
def job_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(launch, "queue_runner", lambda: RUNNER)
    monkeypatch.setattr(queueing, "POLL_SECONDS", 0.05)
    file = tmp_path / "job.json"
    file.write_text(fake_worker.job("by hand").model_dump_json())
    return file


def is_idle(home: Home) -> bool:
    return not is_held(home.runner_lock)


def test_jobs_are_trained_in_the_background_in_order(home, job_file, capsys):
    assert main(["queue", str(job_file), str(job_file), "--wait"]) == 0
    text = capsys.readouterr().out
    assert "queued: by hand" in text and "queued: by hand (2)" in text
    record = open_record(home.record, home.backups)
    with record.read() as session:
        assert [run.state for run in all_runs(session)] == ["finished", "finished"]
    record.close()
    until(lambda: is_idle(home))
    assert home.runner_log.read_text().count(": finished") == 2
    assert main(["queue"]) == 0
    assert "The queue is empty." in capsys.readouterr().out


def test_a_job_starts_after_the_given_run(home, job_file, capsys, monkeypatch):
    monkeypatch.setattr(launch, "queue_runner", lambda: [sys.executable, "-S", "-c", ""])
    assert main(["queue", str(job_file), "--after", "nothing"]) == 1
    assert "There is no run nothing." in capsys.readouterr().err
    assert not list(home.runs.iterdir()), "nothing was added"
    record = open_record(home.record, home.backups)
    first = RunFolder.create(home.runs / "first", fake_worker.job("before"))
    with record.session() as session:
        record_folder(session, first, first.job())  # not trained, and not in the queue
    record.close()
    assert main(["queue", str(job_file), "--after", "before", "--json"]) == 0
    (listed,) = json.loads(capsys.readouterr().out)
    assert RunFolder(Path(listed["folder"])).waits_for() == "first"
    until(lambda: is_idle(home))


def test_the_queue_is_printed_as_json_and_a_failure_is_reported(home, job_file, capsys):
    (bad := job_file.with_name("bad.json")).write_text("{}")
    assert main(["queue", str(job_file), str(bad)]) == 1
    assert "bad.json" in capsys.readouterr().err
    assert not home.runs.exists() or not [*home.runs.iterdir()]
    job_file.write_text(fake_worker.job("broken").model_dump_json())
    assert main(["queue", str(job_file), "--json", "--wait"]) == 1
    printed = capsys.readouterr()
    (listed,) = json.loads(printed.out)
    assert listed["name"] == "broken" and listed["state"] == "queued"
    assert Path(listed["folder"]).parent == home.runs
    assert "Not every run has finished." in printed.err
    until(lambda: is_idle(home))


def test_the_program_runs_as_queue_runner(home):
    """The packaged program has no separate runner."""
    assert main(["--queue-runner"]) == 0
    assert home.record.exists() and is_idle(home)
