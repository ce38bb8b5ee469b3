"""`export-runs` and `import-runs`, from one home into another."""

import pytest

from app.__main__ import main
from engine.files.home import Home
from engine.messages.events import Ended, Started
from engine.record.follow import record_folder
from engine.record.opening import open_record
from engine.record.runs import all_runs, annotate
from engine.runs.folder import RunFolder
from tests.engine.runs import fake_worker


@pytest.fixture
def two_runs(home: Home) -> Home:
    """A home with two runs; one has a name, notes, a star and tags."""
    record = open_record(home.record, home.backups)
    for name in ("one", "two"):
        folder = RunFolder.create(home.runs / name, fake_worker.job(name))
        folder.append(Started(pid=1))
        for step in (2, 4):
            fake_worker.save(folder, step, best=step == 2)
        folder.append(Ended(outcome="finished", step=4))
        with record.session() as session:
            record_folder(session, folder, folder.job())
    with record.session() as session:
        annotate(session, "one", name="the best night", notes="for the paper", star=True)
        annotate(session, "one", tags=["paper", "second try"])
    record.close()
    return home


def test_runs_are_moved_from_one_home_to_another(two_runs, tmp_path, monkeypatch, capsys):
    file = tmp_path / "night.zip"
    two = str(two_runs.runs / "two")
    assert (
        main(["export-runs", "the best night", two, "--to", str(file), "--checkpoints", "best"])
        == 0
    )
    assert f"MB written to {file}" in capsys.readouterr().out
    assert main(["export-runs", "one", "--to", str(file)]) == 1
    assert "already exists" in capsys.readouterr().err
    other = Home(tmp_path / "other")
    monkeypatch.setenv("BERT_STUDIO_HOME", str(other.root))
    assert main(["import-runs", str(file)]) == 0
    assert capsys.readouterr().out == f"{other.runs / 'one'}\n{other.runs / 'two'}\n"
    record = open_record(other.record, other.backups)
    with record.read() as session:
        runs = {run.id: run for run in all_runs(session)}
    record.close()
    assert {run.state for run in runs.values()} == {"finished"}
    assert runs["one"].name == "the best night" and runs["one"].notes == "for the paper"
    assert runs["one"].star and runs["one"].tags == ["paper", "second try"]
    assert runs["two"].name == "two" and runs["two"].tags == []
    assert [f.name for f in RunFolder(other.runs / "one").checkpoint_folders()] == ["step-00000002"]
    assert main(["import-runs", str(file)]) == 1, "imported already"
    assert "already in the list of runs" in capsys.readouterr().err


def test_invalid_exports_and_imports_are_refused(home, tmp_path, capsys, two_runs):
    assert main(["export-runs", "nothing", "--to", str(tmp_path / "x.zip")]) == 1
    assert "There is no run nothing." in capsys.readouterr().err
    assert not (tmp_path / "x.zip").exists()
    (tmp_path / "bad.zip").write_bytes(b"PK nothing")
    assert main(["import-runs", str(tmp_path / "bad.zip")]) == 1
    assert "bad.zip cannot be opened as runs" in capsys.readouterr().err
    assert not list(two_runs.cache.glob("unpacked-*"))
    RunFolder.create(tmp_path / "one", fake_worker.job("one"))
    args = ["export-runs", str(tmp_path / "one"), "one", "--to", str(tmp_path / "x.zip")]
    assert main(args) == 1
    assert "Two of the runs have the folder name one." in capsys.readouterr().err
