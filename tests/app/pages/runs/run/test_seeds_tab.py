"""Runs of one job with several seeds, in the table and on the page of each."""

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from pytestqt.modeltest import ModelTester
from pytestqt.qtbot import QtBot

from app.pages.runs.columns import Column
from app.pages.runs.groups import mean_and_deviation
from app.pages.runs.rows import RunRow, read_rows
from app.pages.runs.run.seeds_tab import BEST, FEATURES, MEAN, SEED, STATE, SeedsTable
from app.pages.runs.table import RunsTable
from app.pages.runs.view import RunsPage
from app.studio import Studio
from app.widgets.spec_texts import value_text
from engine.runs.folder import RunFolder
from engine.runs.groups import SUMMARY, expand
from engine.spec.features import PAPER, Features
from engine.spec.job import JobSpec
from tests.app.accessible import assert_accessible
from tests.app.pages.runs.conftest import MakeRun
from tests.engine.runs import fake_worker


def jobs(seeds: int = 3) -> tuple[JobSpec, ...]:
    job = fake_worker.job("films")
    return expand(
        job.model_copy(update={"training": job.training.model_copy(update={"seeds": seeds})})
    )


@pytest.fixture
def ids(make_run: MakeRun) -> list[str]:
    """Three seeds, of which the last was stopped; best figures 0.8 and 0.95, and 0.8."""
    first, second, third = jobs()
    return [
        make_run("films", upto=5, job=first),
        make_run("films", upto=20, job=second),
        make_run("films", upto=7, outcome="stopped", job=third),
    ]


def test_the_spread_is_that_of_the_finished_runs(
    studio: Studio, ids: list[str], make_run: MakeRun, qtbot: QtBot
) -> None:
    alone = make_run("alone")
    table = RunsTable()
    table.show_rows(read_rows(studio.record))
    assert table.has_groups()
    for run_id in ids:
        cell = table.index(table.place(run_id), Column.SEEDS)
        assert cell.data() == "87.5 % ± 10.6 %"
        assert "2 of 3 runs" in cell.data(Qt.ItemDataRole.ToolTipRole)
    assert not table.index(table.place(alone), Column.SEEDS).data()
    rows = {row.id: row for row in read_rows(studio.record)}
    assert mean_and_deviation([rows[ids[0]], rows[ids[2]]]) == "80.0 %", "one run has no deviation"
    assert mean_and_deviation([rows[ids[2]]]) == ""


def test_the_column_is_there_only_where_it_says_something(
    studio: Studio, make_run: MakeRun, qtbot: QtBot
) -> None:
    make_run("alone")
    page = RunsPage(studio)
    qtbot.addWidget(page)
    page.show()
    qtbot.waitUntil(lambda: page.state.is_listed)
    assert page.list.table.isColumnHidden(Column.SEEDS)
    make_run("films", job=jobs()[0])
    page.state.read()
    qtbot.waitUntil(lambda: not page.list.table.isColumnHidden(Column.SEEDS))


def test_a_run_shows_its_siblings_and_leads_to_them(
    studio: Studio, ids: list[str], qtbot: QtBot, screen: Callable[[RunsPage, str], Path]
) -> None:
    page = RunsPage(studio)
    qtbot.addWidget(page)
    page.resize(1180, 760)
    page.show()
    qtbot.waitUntil(lambda: page.state.is_listed)
    page.open(ids[0])
    view = page.run
    assert view is not None
    qtbot.waitUntil(lambda: len(view.seeds.made.model.rows) == 3)
    view.tabs.setCurrentWidget(view.seeds)
    model = view.seeds.made.model
    told = [[model.index(n, column).data() for column in (SEED, STATE, BEST)] for n in range(3)]
    assert view.seeds.made.table.isColumnHidden(FEATURES)
    assert told == [
        ["42", "finished", "80.0 % acc"],
        ["43", "finished", "95.0 % acc"],
        ["44", "stopped", "80.0 % acc"],
    ]
    words = view.seeds.made.together.text()
    assert "Validation accuracy: 87.5 % ± 10.6 %" in words and "2 finished runs, 3" in words
    assert_accessible(view.seeds)
    screen(page, "seeds")
    view.seeds.made.table.activated.emit(model.index(1, 0))
    assert page.run is not None and page.run.state.run_id == ids[1]


def test_a_run_that_is_alone_has_no_such_tab(
    studio: Studio, make_run: MakeRun, qtbot: QtBot
) -> None:
    run_id = make_run("alone")
    page = RunsPage(studio)
    qtbot.addWidget(page)
    page.show()
    page.open(run_id)
    view = page.run
    assert view is not None
    qtbot.waitUntil(lambda: view.state.row is not None)
    place = view.tabs.indexOf(view.seeds)
    qtbot.waitUntil(lambda: not view.tabs.isTabVisible(place))


def test_the_model_is_sound(
    studio: Studio, ids: list[str], qtbot: QtBot, qtmodeltester: ModelTester
) -> None:
    table = SeedsTable()
    qtmodeltester.check(table)
    rows: list[RunRow] = read_rows(studio.record)
    table.show_rows(rows)
    table.show_rows(rows[:1])
    assert table.rowCount() == 1


def test_the_folder_of_all_seeds_can_be_dropped(
    studio: Studio, tmp_path: Path, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = tmp_path / "whole"
    for job in jobs(2):
        RunFolder.create(whole / f"seed-{job.training.seed}", job)
    page = RunsPage(studio)
    qtbot.addWidget(page)
    taken: list[Path] = []
    monkeypatch.setattr(page.state, "adopt", taken.append)
    assert not page.accept_drop([whole]) and not taken
    (whole / SUMMARY).write_text("{}")
    assert page.accept_drop([whole])
    assert taken == [whole / "seed-42", whole / "seed-43"]


def test_the_layer_sweep_is_a_table_of_seven_rows(
    studio: Studio, make_run: MakeRun, qtbot: QtBot, screen: Callable[[RunsPage, str], Path]
) -> None:
    job = fake_worker.job("films")
    sweep = expand(job.model_copy(update={"features": Features(vectors="layer sweep")}))
    assert len(sweep) == 7
    ids = [make_run("films", upto=5 * (n % 3 + 1), job=one) for n, one in enumerate(sweep[:6])]
    page = RunsPage(studio)
    qtbot.addWidget(page)
    page.resize(1180, 760)
    page.show()
    qtbot.waitUntil(lambda: page.state.is_listed)
    page.open(ids[0])
    view = page.run
    assert view is not None
    qtbot.waitUntil(lambda: len(view.seeds.made.model.rows) == 6)
    view.tabs.setCurrentWidget(view.seeds)
    assert view.tabs.tabText(view.tabs.indexOf(view.seeds)) == "Lay&er probing sweep"
    model, table = view.seeds.made.model, view.seeds.made.table
    told = [(model.index(n, FEATURES).data(), model.index(n, BEST).data()) for n in range(6)]
    assert [vectors for vectors, _ in told] == [value_text(row) for row in PAPER[:6]]
    assert [best for _, best in told] == ["80.0 % acc", "90.0 % acc", "93.3 % acc"] * 2
    assert table.isColumnHidden(SEED) and table.isColumnHidden(MEAN)
    assert view.seeds.made.together.text() == (
        "Layer probing sweep: 6 of 7 runs finished. Compared by validation accuracy."
    )
    assert_accessible(view.seeds)
    screen(page, "layer-sweep")
