import json
from collections.abc import Callable
from pathlib import Path

from sqlalchemy import inspect, select

from engine.home import Home
from engine.messages.events import Started, measured
from engine.record.backups import all_backups, back_up
from engine.record.checkpoints import Checkpoint, all_checkpoints
from engine.record.follow import catch_up
from engine.record.metrics import Metric
from engine.record.opening import Record, open_record
from engine.record.rebuild import rebuild, refill
from engine.record.runs import Run, add_run, all_runs, set_name, set_notes, set_star
from engine.record.runs import run as find
from engine.runs.folder import RunFolder
from tests.engine.runs import fake_worker

Train = Callable[[str], RunFolder]


def rows(home: Home) -> dict[str, list[dict[str, object]]]:
    """All that the record knows of runs, curves and checkpoints."""
    record = open_record(home.record, home.backups)
    with record.read() as session:
        found = {
            table.__tablename__: [
                {a.key: getattr(row, a.key) for a in inspect(table).column_attrs}
                for row in session.scalars(select(table).order_by(*inspect(table).primary_key))
            ]
            for table in (Run, Metric, Checkpoint)
        }
    record.close()
    return found


def put_model(home: Home) -> Path:
    folder = home.models / "tiny"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    return folder


def test_a_record_that_is_gone_comes_back_from_the_folders(home: Home, trained: Train) -> None:
    trained("one")
    trained("two")
    crashed = RunFolder.create(home.runs / "three", fake_worker.job())
    for event in (Started(pid=1), measured("loss", 1, float("nan"))):
        crashed.append(event)
    put_model(home)
    assert rebuild(home) == 3
    before = rows(home)
    assert [len(before[t]) for t in ("runs", "metrics", "checkpoints")] == [3, 31, 7]
    for file in home.root.glob("studio.db*"):
        file.unlink()
    assert rebuild(home) == 3
    assert rows(home) == before


def test_what_was_followed_live_is_what_the_folders_give(home: Home, record: Record) -> None:
    waiting = RunFolder.create(home.runs / "one", fake_worker.job())
    with record.session() as session:
        add_run(session, waiting, waiting.job(), "starting")
    fake_worker.main(waiting)
    while True:
        with record.session() as session:
            run = find(session, "one")
            assert run is not None
            if not catch_up(session, run, waiting):
                break
    live = rows(home)
    assert rebuild(home) == 1
    assert rows(home) == live


def test_what_the_user_said_is_kept(home: Home, record: Record, trained: Train) -> None:
    trained("one")
    trained("two")
    refill(record, home)
    waiting = RunFolder.create(home.runs / "three", fake_worker.job())
    with record.session() as session:
        set_name(session, "one", "Mein Versuch <b>")
        set_notes(session, "one", "good\nso far")
        set_star(session, "one", True)
        add_run(session, waiting, waiting.job(), "queued")
    assert rebuild(home) == 3
    with record.read() as session:  # the window has it open meanwhile
        one, two, three = (find(session, name) for name in ("one", "two", "three"))
    assert one and two and three
    assert (one.name, one.notes, one.star) == ("Mein Versuch <b>", "good\nso far", True)
    assert (two.name, two.notes, two.star) == ("short", "", False)
    assert (one.state, three.state) == ("finished", "queued")
    assert any(b.name.endswith("-rebuild.db") for b in all_backups(home.backups))


def test_what_the_user_said_is_salvaged_from_damage(home: Home, trained: Train) -> None:
    for name in ("one", "two"):
        trained(name)
    rebuild(home)
    record = open_record(home.record, home.backups)
    with record.session() as session:
        set_name(session, "one", "backed up")
    back_up(home.record, home.backups, "daily")
    record.close()
    home.record.write_bytes(b"\0" * 4096)
    assert rebuild(home) == 2
    record = open_record(home.record, home.backups)
    with record.read() as session:
        assert sorted(run.name for run in all_runs(session)) == ["backed up", "short"]
    record.close()


def test_a_queued_run_without_a_memory_of_it_is_not_trained_unasked(home: Home) -> None:
    RunFolder.create(home.runs / "one", fake_worker.job())
    assert rebuild(home) == 1
    assert rows(home)["runs"][0]["state"] == "stopped"


def test_folders_that_are_no_runs_are_passed_over_and_damaged_ones_said(
    home: Home, record: Record, trained: Train, tmp_path: Path
) -> None:
    trained("good")
    for name in (".half.tmp-1234", "empty"):
        (home.runs / name).mkdir()
    (home.runs / "bad").mkdir()
    (home.runs / "bad" / "spec.json").write_text(json.dumps({"name": "x"}))
    (home.runs / "file").write_text("x")
    (home.runs / "link").symlink_to(home.runs / "good")
    found = refill(record, home)
    assert found.added == ["good"]
    assert len(found.problems) == 1 and "spec.json of bad is not valid" in found.problems[0]
    assert refill(record, home).added == []


def test_imported_models_follow_their_folders(home: Home, record: Record) -> None:
    model = put_model(home)
    refill(record, home)
    with record.read() as session:
        assert [(c.folder, c.run_id) for c in all_checkpoints(session)] == [(model, None)]
    (model / "config.json").unlink()
    refill(record, home)
    with record.read() as session:
        assert all_checkpoints(session) == []
