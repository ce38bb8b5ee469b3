"""Curve files for TensorBoard and MLflow: extended in training, after a resume and a kill."""

import math
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import unquote, urlparse

import pytest
import yaml

from engine.cli import main
from engine.errors import StudioError
from engine.messages.events import Ended, Started, measured
from engine.progress import Cancelled
from engine.runs.curve_files import POSITION, CurveFiles
from engine.runs.folder import RunFolder
from engine.runs.mlflow import EXPERIMENT, MLflowFiles, metric_file
from engine.runs.tensorboard import TensorBoardFiles
from tests.engine.runs import fake_worker
from tests.engine.runs.test_tensorboard import event_message, records

AT = datetime(2026, 3, 4, 5, 6, 7, 500_000, tzinfo=UTC)
KINDS = (TensorBoardFiles, MLflowFiles)
Points = list[tuple[str, int, float]]


def event_points(files: CurveFiles) -> Points:
    """Tag, step and value as TensorBoard reads them from the single file."""
    (file,) = files.folder.glob("events.out.tfevents.*")
    events = [event_message().FromString(record) for record in records(file.read_bytes())]
    values = [e.summary.value[0] for e in events[2:]]
    return [(v.tag, e.step, v.simple_value) for e, v in zip(events[2:], values, strict=True)]


def mlflow_points(files: CurveFiles) -> Points:
    points: Points = []
    for file in sorted(f for f in (files.folder / "metrics").rglob("*") if f.is_file()):
        for line in file.read_text().splitlines():
            _, value, step = line.split(" ")
            name = file.relative_to(files.folder / "metrics").as_posix()
            points.append((name, int(step), float(value)))
    return points


def points(files: CurveFiles) -> Points:
    return event_points(files) if isinstance(files, TensorBoardFiles) else mlflow_points(files)


def record_point(run: RunFolder, name: str, step: int, value: float) -> None:
    run.append(measured(name, step, value).model_copy(update={"at": AT + timedelta(seconds=step)}))


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    folder = RunFolder.create(tmp_path / "runs" / "night", fake_worker.job("a “night”: #1"))
    folder.append(Started(pid=1, at=AT))
    return folder


@pytest.mark.parametrize("kind", KINDS)
def test_points_are_added_during_training(run, tmp_path, kind):
    files = kind(run, tmp_path / "out")
    assert files.catch_up() and points(files) == []
    for step in (1, 2):
        record_point(run, "loss", step, 0.5)
        assert kind(run, tmp_path / "out").catch_up(), "also by another process"
        assert not files.catch_up(), "there is nothing new"
    record_point(run, "validation_f1", 2, 0.75)
    run.append(Ended(outcome="finished", step=2, at=AT))
    assert files.catch_up(is_finished=True)
    expected = [("training/loss", 1, 0.5), ("training/loss", 2, 0.5), ("validation/f1", 2, 0.75)]
    assert points(files) == expected
    once = kind(run, tmp_path / "once")
    once.write_all()
    assert points(once) == expected and not (once.folder / POSITION).exists()


@pytest.mark.parametrize("kind", KINDS)
def test_points_repeated_after_a_resume_are_written_once(run, tmp_path, kind):
    files = kind(run, tmp_path / "out")
    for step in (1, 2, 3):
        record_point(run, "loss", step, 0.5)
    files.catch_up()
    run.append(Started(pid=2, step=1, at=AT))
    record_point(run, "loss", 2, 0.25)
    files.catch_up()
    record_point(run, "loss", 3, 0.25)
    files.catch_up()
    expected = [("training/loss", 1, 0.5), ("training/loss", 2, 0.25), ("training/loss", 3, 0.25)]
    assert points(files) == expected
    run.append(Started(pid=3, step=0, at=AT))
    run.append(Started(pid=4, step=2, at=AT))
    record_point(run, "loss", 3, 0.125)
    files.catch_up()
    assert points(files) == [("training/loss", 3, 0.125)], "the second worker began at 0 again"
    once = kind(run, tmp_path / "once")
    once.write_all()
    assert points(once) == points(files)


@pytest.mark.parametrize("kind", KINDS)
def test_partial_writes_of_a_killed_program_are_truncated(run, tmp_path, kind, monkeypatch):
    files = kind(run, tmp_path / "out")
    record_point(run, "loss", 1, 0.5)
    files.catch_up()
    record_point(run, "loss", 2, 0.5)
    record_point(run, "accuracy", 2, 1.0)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:  # points are appended, but the position is not saved
        patch.setattr("engine.runs.curve_files.write_file", interrupt)
        with pytest.raises(KeyboardInterrupt):
            files.catch_up()
    assert len(points(files)) == 3
    for file in list(files._point_files()):
        with open(file, "ab") as output:
            output.write(b"half a li")
    kind(run, tmp_path / "out").catch_up()
    assert sorted(points(files)) == [
        ("training/accuracy", 2, 1.0),
        ("training/loss", 1, 0.5),
        ("training/loss", 2, 0.5),
    ]
    (files.folder / POSITION).write_text("{")
    files.catch_up()
    assert len(points(files)) == 3
    for file in list(files._point_files()):
        file.unlink()
    record_point(run, "loss", 3, 0.5)
    files.catch_up()
    assert len(points(files)) == 4, "deleted points are written again"


def test_an_mlflow_run_has_the_name_settings_and_status_of_the_run(run, tmp_path):
    record_point(run, "validation_f1", 2, math.nan)
    run.append(Ended(outcome="stopped", step=2, at=AT + timedelta(seconds=9)))
    files = MLflowFiles(run, tmp_path / "my runs")
    files.write_all()
    folder = files.folder
    metadata = yaml.safe_load((folder / "meta.yaml").read_text(encoding="utf-8"))
    assert metadata["run_name"] == "a “night”: #1" and metadata["status"] == 5  # KILLED
    experiment = yaml.safe_load((folder.parent / "meta.yaml").read_text(encoding="utf-8"))
    assert experiment["experiment_id"] == EXPERIMENT and experiment["name"] == "BERT Studio"
    location = unquote(urlparse(experiment["artifact_location"]).path)
    assert Path(location) == tmp_path / "my runs" / EXPERIMENT
    settings = {f.name: f.read_text() for f in (folder / "params").iterdir()}
    assert settings["training.steps"] == "6" and settings["task.kind"] == "text_classification"
    assert mlflow_points(files)[0][:2] == ("validation/f1", 2)
    MLflowFiles(run, tmp_path / "my runs").write_all()
    assert len(list(folder.parent.iterdir())) == 2, "the same run is overwritten"


def test_a_worker_that_died_without_an_event_is_marked_failed(run, tmp_path):
    files = MLflowFiles(run, tmp_path)
    with run.lock():
        files.catch_up()
        assert "status: 1\n" in (files.folder / "meta.yaml").read_text()
    files.catch_up(is_finished=True)
    assert "status: 4\n" in (files.folder / "meta.yaml").read_text()
    run.append(Ended(outcome="finished"))
    files.catch_up()
    files.catch_up(is_finished=True)
    assert "status: 3\n" in (files.folder / "meta.yaml").read_text()


@pytest.mark.parametrize("name", ["../../x", "validation_../../x", "a\nb", "", ".", "..", "/etc/x"])
def test_no_metric_name_escapes_the_folder(name):
    file = metric_file(name)
    assert len(file.parts) == 2 and file.parts[0] in ("training", "validation")
    assert file.parts[1] not in ("", ".", "..") and "\n" not in file.parts[1]


@pytest.mark.parametrize("kind", KINDS)
def test_empty_and_cancelled_runs_are_handled(tmp_path, kind):
    empty = RunFolder.create(tmp_path / "empty", fake_worker.job())
    files = kind(empty, tmp_path / "out")
    files.write_all()
    assert points(files) == []
    record_point(empty, "loss", 1, 1.0)
    with pytest.raises(Cancelled):
        files.write_all(cancelled=lambda: True)
    (tmp_path / "file").write_text("")
    with pytest.raises((StudioError, OSError)):
        kind(empty, tmp_path / "file").write_all()


@pytest.mark.parametrize("form", ["tensorboard", "mlflow"])
def test_the_command_writes_and_follows(run, tmp_path, form, capsys):
    record_point(run, "loss", 1, 0.5)
    run.append(Ended(outcome="finished", step=1))
    for extra in ([], ["--follow"]):
        out = tmp_path / f"out{len(extra)}"
        arguments = ["export-curves", str(run.path), "--to", str(out), "--format", form, *extra]
        assert main(arguments) == 0
        (folder,) = capsys.readouterr().out.split("\n")[:-1]
        kind = {kind.form.lower(): kind for kind in KINDS}[form]
        files = kind(run, out)
        assert folder == str(files.folder) and points(files) == [("training/loss", 1, 0.5)]
