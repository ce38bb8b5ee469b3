import json
import os
from collections.abc import Callable
from datetime import timedelta, timezone
from pathlib import Path

from sqlalchemy import inspect, select

from engine.files.home import Home
from engine.messages.events import Started, measured
from engine.record.backups import all_backups
from engine.record.checkpoints import Checkpoint, all_checkpoints
from engine.record.follow import catch_up
from engine.record.metrics import Metric
from engine.record.opening import open_record
from engine.record.rebuild import RefillReport, rebuild, refill
from engine.record.runs import Run, add_run, all_runs, annotate, find_run
from engine.runs.folder import RunFolder, checkpoint_step
from tests.engine.faults import without_root_privileges
from tests.engine.runs import fake_worker

Train = Callable[[str], RunFolder]


def rows(home: Home) -> dict[str, list[dict[str, object]]]:
    """All rows about runs, curves and checkpoints."""
    record = open_record(home.record, home.backups)
    with record.read() as session:
        by_table = {
            table.__tablename__: [
                {a.key: getattr(row, a.key) for a in inspect(table).column_attrs}
                for row in session.scalars(select(table).order_by(*inspect(table).primary_key))
            ]
            for table in (Run, Metric, Checkpoint)
        }
    record.close()
    return by_table


def add_model(home: Home) -> Path:
    folder = home.models / "tiny"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    return folder


def test_a_missing_record_is_rebuilt_from_the_folders(home, train):
    train("one")
    train("two")
    crashed = RunFolder.create(home.runs / "three", fake_worker.job())
    for event in (Started(pid=1), measured("loss", 1, float("nan"))):
        crashed.append(event)
    add_model(home)
    assert rebuild(home) == 3
    before = rows(home)
    assert [len(before[t]) for t in ("runs", "metrics", "checkpoints")] == [3, 31, 7]
    for file in home.root.glob("studio.db*"):
        file.unlink()
    assert rebuild(home) == 3
    assert rows(home) == before


def test_live_following_gives_the_same_rows_as_a_rebuild(home, record):
    waiting = RunFolder.create(home.runs / "one", fake_worker.job())
    with record.session() as session:
        add_run(session, waiting, waiting.job(), "starting")
    fake_worker.main(waiting)
    while True:
        with record.session() as session:
            run = find_run(session, "one")
            assert run is not None
            if not catch_up(session, run, waiting):
                break
    live = rows(home)
    assert rebuild(home) == 1
    assert rows(home) == live


def test_annotations_survive_a_rebuild(home, record, train):
    train("one")
    train("two")
    refill(record, home)
    waiting = RunFolder.create(home.runs / "three", fake_worker.job())
    with record.session() as session:
        annotate(session, "one", name="Mein Versuch <b>", notes="good\nso far", star=True)
        annotate(session, "one", tags=[" paper ", "", "paper", "ward 7"], archived=True)
        add_run(session, waiting, waiting.job(), "queued")
    assert rebuild(home) == 3
    with record.read() as session:  # open in the window during the rebuild
        one, two, three = (find_run(session, name) for name in ("one", "two", "three"))
    assert one and two and three
    assert (one.name, one.notes, one.star) == ("Mein Versuch <b>", "good\nso far", True)
    assert (one.tags, one.archived) == (["paper", "ward 7"], True)
    assert (two.name, two.notes, two.star, two.tags) == ("short", "", False, [])
    assert (one.state, three.state) == ("finished", "queued")
    assert any(b.name.endswith("-rebuild.db") for b in all_backups(home.backups))


def test_an_unrecorded_queued_run_is_not_trained_without_a_request(home):
    RunFolder.create(home.runs / "one", fake_worker.job())
    assert rebuild(home) == 1
    assert rows(home)["runs"][0]["state"] == "stopped"


def test_folders_that_are_not_runs_are_skipped(home, record, train):
    train("good")
    for name in (".half.tmp-1234", "empty"):
        (home.runs / name).mkdir()
    (home.runs / "file").write_text("x")
    (home.runs / "link").symlink_to(home.runs / "good")
    assert refill(record, home) == RefillReport(["good"], [])
    assert refill(record, home) == RefillReport([], [])


EXTREMES = [
    {"kind": "measured", "name": "loss", "step": 2**63, "value": 1.0},
    {"kind": "progressed", "stage": "x", "done": 10**30, "total": 1},
    {"kind": "started", "pid": -5},
    {"kind": "ended", "outcome": "finished", "step": 2**64},
    {"kind": "saved", "step": 2**65, "folder": "checkpoints/x"},
    {"kind": "measured", "name": "loss", "step": 3, "value": 1e999},
    {"kind": "noted", "text": "x", "at": "0001-01-01T00:00:00+14:00"},
    {"kind": "noted", "text": "x", "at": "9999-12-31T23:59:59-14:00"},
    {"kind": "ended", "outcome": "stopped", "at": "0001-01-01T00:00:00+00:00"},
]


def damage(home: Home, name: str, train: Train) -> None:
    """Train a run and damage it as its name says."""
    folder = train(name)
    match name:
        case "spec not valid":
            folder.spec_file.write_text(json.dumps({"name": "x"}))
        case "spec a folder":
            folder.spec_file.unlink()
            folder.spec_file.mkdir()
        case "spec missing":
            folder.spec_file.unlink()
        case "spec in bytes":
            folder.spec_file.write_bytes(bytes(range(256)))
        case "spec closed":
            folder.spec_file.chmod(0)
        case "events closed":
            folder.events_file.chmod(0)
        case "events a folder":
            folder.events_file.unlink()
            folder.events_file.mkdir()
        case "checkpoints closed":
            folder.checkpoints.chmod(0)
        case "closed":
            folder.path.chmod(0)


UNREADABLE = (
    *("spec not valid", "spec a folder", "spec missing", "spec in bytes", "spec closed"),
    *("events closed", "events a folder", "checkpoints closed", "closed"),
)


def test_unreadable_runs_are_listed_with_a_reason(home, record, train):
    train("good")
    for name in UNREADABLE:
        damage(home, name, train)
    train("other")
    with without_root_privileges():
        report = refill(record, home)
        repeated = refill(record, home)
    assert report.added == sorted(["good", "other", *UNREADABLE])
    assert len(report.problems) == len(UNREADABLE) and repeated == RefillReport([], [])
    with record.read() as session:
        runs = {run.id: run for run in all_runs(session)}
    assert {runs[name].state for name in ("good", "other")} == {"finished"}
    for name in UNREADABLE:
        run = runs[name]
        assert (run.state, run.name, run.readable_job()) == ("unreadable", name, None)
        assert 10 < len(f"{run.problem} {run.advice}") <= 300
    assert "permission" in runs["events closed"].problem
    assert "spec.json" in runs["spec a folder"].problem


def test_annotations_of_unreadable_runs_are_kept(home, record, train):
    for name in ("one", "two"):
        folder = train(name)
        folder.spec_file.rename(folder.path / "kept")
    refill(record, home)
    with record.session() as session:
        annotate(session, "one", notes="looks odd")
        annotate(session, "two", name="mine")
    for name in ("one", "two"):
        (home.runs / name / "kept").rename(home.runs / name / "spec.json")
    assert refill(record, home) == RefillReport(["one", "two"], [])
    with record.read() as session:
        one, two = (find_run(session, name) for name in ("one", "two"))
    assert one and two and one.state == two.state == "finished"
    assert (one.name, one.notes, one.problem) == ("short", "looks odd", "")
    assert two.name == "mine"


def test_events_with_extreme_numbers_or_dates_are_skipped(home, record, train):
    folder = train("edge")
    with open(folder.events_file, "a") as file:
        file.writelines(json.dumps({"at": "2026-01-01T00:00:00Z"} | raw) + "\n" for raw in EXTREMES)
    (folder.checkpoints / "step-99999999999999999999").mkdir()
    (folder.checkpoints / "step-99999999999999999999" / "manifest.json").write_text("{}")
    for seconds in (-1e12, 1e12):  # extreme times of the job file, as from some archives
        other = train(f"at {seconds:g}")
        os.utime(other.spec_file, (seconds, seconds))
    assert refill(record, home).problems == []
    with record.read() as session:
        runs = {run.id: run for run in all_runs(session)}
        skipped = [r for r in runs["edge"].remarks if r.startswith("Skipped")]
        assert len(skipped) == len(EXTREMES)
        assert {run.state for run in runs.values()} == {"finished"}
        assert all(checkpoint_step(c.folder) < 10**8 for c in all_checkpoints(session))
    for run in runs.values():
        assert run.created.astimezone(timezone(timedelta(hours=-14))).year >= 1969


def test_folders_with_invalid_names_are_reported(home, record, train):
    train("good")
    for parent, file in ((home.runs, "spec.json"), (home.models, "config.json")):
        folder = os.fsencode(parent) + b"/\xff\xfe"
        os.mkdir(folder)
        (Path(os.fsdecode(folder)) / file).write_text("{}")
    report = refill(record, home)
    assert report.added == ["good"]
    assert len(report.problems) == 1 and "not valid text" in report.problems[0]


def test_imported_models_are_listed_while_their_folder_exists(home, record):
    model = add_model(home)
    refill(record, home)
    with record.read() as session:
        assert [(c.folder, c.run_id) for c in all_checkpoints(session)] == [(model, None)]
    (model / "config.json").unlink()
    refill(record, home)
    with record.read() as session:
        assert all_checkpoints(session) == []
