"""The benchmark of the Runs page, with few runs."""

import pytest

from app.pages.runs.rows import read_rows
from app.shell import opening
from benchmarks import runs
from engine.files.home import Home
from engine.record.metrics import curves
from engine.record.opening import open_record


def test_the_home_has_complete_runs(tmp_path):
    runs.make_home(tmp_path / "home", runs=24, points=25)
    home = Home(tmp_path / "home")
    record = open_record(home.record, home.backups)
    rows = read_rows(record)
    with record.read() as session:
        stored_curves = curves(session, rows[0].id)
    record.close()
    assert len(rows) == len({row.id for row in rows}) == 24
    assert all(row.job is not None and row.data and row.base_model for row in rows)
    assert {row.state for row in rows} >= {"finished", "failed", "stopped", "crashed"}
    assert sum(map(len, stored_curves.values())) == 25 and set(stored_curves) == set(runs.CURVES)
    assert rows[0].folder.joinpath("spec.json").is_file()


@pytest.mark.long
def test_every_limit_is_measured(tmp_path, qapp, monkeypatch):
    monkeypatch.setattr(opening, "make_application", lambda _: qapp)
    runs.make_home(tmp_path / "home", runs=12, points=10)
    measured = {figure.name: figure.value for figure in runs.measure(tmp_path / "home")}
    assert set(runs.LIMITS) <= set(measured)
    assert all(value > 0 for value in measured.values())
