"""Runs of one job with several seeds, in the table and on the page of each."""

from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt

from app.pages.runs.columns import Column
from app.pages.runs.groups import is_pruned, mean_and_deviation
from app.pages.runs.rows import read_rows
from app.pages.runs.run.seeds_tab import BEST, FEATURES, MEAN, SEED, STATE, importance_text
from app.pages.runs.table import RunsTable
from app.widgets.text.spec_texts import value_text
from engine.config.features import PAPER_VECTORS, Features
from engine.config.job import JobSpec
from engine.config.search import SearchField, SearchSpec
from engine.messages.searching import FieldImportance, ImportanceMeasured
from engine.runs.folder import RunFolder
from engine.runs.groups import SUMMARY, expand
from tests.app.accessible import assert_accessible
from tests.app.pages.runs.pages import open_run
from tests.engine.runs import fake_worker


def jobs(seeds: int = 3) -> tuple[JobSpec, ...]:
    job = fake_worker.job("films")
    return expand(
        job.model_copy(update={"training": job.training.model_copy(update={"seeds": seeds})})
    )


@pytest.fixture
def ids(make_run) -> list[str]:
    """Three seeds, the last one stopped; best scores 0.8, 0.95 and 0.8."""
    first, second, third = jobs()
    return [
        make_run("films", step=5, job=first),
        make_run("films", step=20, job=second),
        make_run("films", step=7, outcome="stopped", job=third),
    ]


def test_the_spread_is_computed_over_finished_runs(studio, ids, make_run, qtbot):
    alone = make_run("alone")
    table = RunsTable()
    table.show_rows(read_rows(studio.record))
    assert table.has_seeds()
    for run_id in ids:
        cell = table.index(table.find_row(run_id), table.column(Column.SEEDS))
        assert cell.data() == "87.5 % ± 10.6 %"
        assert "2 of 3 runs" in cell.data(Qt.ItemDataRole.ToolTipRole)
    assert not table.index(table.find_row(alone), table.column(Column.SEEDS)).data()
    rows = {row.id: row for row in read_rows(studio.record)}
    assert mean_and_deviation([rows[ids[0]], rows[ids[2]]]) == "80.0 %", "one run has no deviation"
    assert mean_and_deviation([rows[ids[2]]]) == ""


def test_without_seeds_there_is_neither_column_nor_tab(make_page, make_run, qtbot):
    run_id = make_run("alone")
    page = make_page()
    table, column = page.list.table, page.list.model.column(Column.SEEDS)
    assert table.isColumnHidden(column)
    view = open_run(page, run_id, qtbot)
    qtbot.waitUntil(lambda: not view.tabs.isTabVisible(view.tabs.indexOf(view.seeds)))
    make_run("films", job=jobs()[0])
    page.state.read()
    qtbot.waitUntil(lambda: not table.isColumnHidden(column))


def test_the_folder_of_all_seeds_can_be_dropped(make_page, studio, tmp_path, qtbot, monkeypatch):
    folder = tmp_path / "whole"
    for job in jobs(2):
        RunFolder.create(folder / f"seed-{job.training.seed}", job)
    page = make_page()
    adopted: list[Path] = []
    monkeypatch.setattr(studio.dispatcher, "adopt", adopted.append)
    assert not page.accept_drop([folder]) and not adopted
    (folder / SUMMARY).write_text("{}")
    assert page.accept_drop([folder])
    assert adopted == [folder / "seed-42", folder / "seed-43"]


def search_jobs() -> tuple[JobSpec, ...]:
    rates = SearchField(path="training.learning_rate", values=(1e-5, 3e-5))
    seeds = SearchField(path="training.seed", values=(1, 2))
    search = SearchSpec(fields=(rates, seeds))
    return expand(
        JobSpec.model_validate(fake_worker.job("films").model_dump() | {"search": search})
    )


def test_the_table_of_all_runs_marks_the_best_combination(studio, make_run, qtbot):
    ids = [make_run("films", step=step, job=job) for step, job in
           zip((5, 10, 20, 20), search_jobs(), strict=True)]  # fmt: skip
    ids.append(make_run("alone"))
    table = RunsTable()
    rows = {row.id: row for row in read_rows(studio.record)}
    table.show_rows(list(rows.values()))

    def cell_text(run_id: str) -> str:
        index = table.index(table.find_row(run_id), table.column(Column.SEEDS))
        return str(index.data(Qt.ItemDataRole.AccessibleTextRole))

    assert [table.is_best(rows[run_id]) for run_id in ids] == [False, False, True, True, False]
    assert cell_text(ids[2]) == "Mean ± SD (seeds): 95.0 % ± 0.0 % (best)"
    assert cell_text(ids[0]) == "Mean ± SD (seeds): 85.0 % ± 7.1 %"
    with qtbot.waitSignal(table.dataChanged):
        table.show_row(replace(rows[ids[0]], best_score=1.0))
    table.show_row(replace(rows[ids[1]], best_score=1.0))
    assert cell_text(ids[0]).endswith("(best)") and not cell_text(ids[2]).endswith("(best)")


def test_the_importance_of_a_field_has_an_interval():
    importance = FieldImportance(path="training.learning_rate", share=0.8, low=0.5, high=0.95)
    measured = ImportanceMeasured(fields=(importance,), trials=9, explained=0.7)
    text = importance_text(measured, lambda path: "Learning rate")
    assert "Learning rate 80 % (50 % to 95 %)" in text and "From 9 combinations" in text
    unexplained = measured.model_copy(update={"explained": 0.05})
    assert importance_text(unexplained, str).startswith("Not known yet")


def test_a_run_shows_its_seeds_layers_or_search(make_page, studio, ids, make_run, qtbot, screen):
    page = make_page()
    view = open_run(page, ids[0], qtbot)
    qtbot.waitUntil(lambda: len(view.seeds.widget.model.rows) == 3)
    view.tabs.setCurrentWidget(view.seeds)
    model = view.seeds.widget.model
    cells = [[model.index(n, column).data() for column in (SEED, STATE, BEST)] for n in range(3)]
    assert view.seeds.widget.table.isColumnHidden(FEATURES)
    assert cells == [
        ["42", "finished", "80.0 % acc"],
        ["43", "finished", "95.0 % acc"],
        ["44", "stopped", "80.0 % acc"],
    ]
    summary = view.seeds.widget.summary.text()
    assert "Validation accuracy: 87.5 % ± 10.6 %" in summary and "2 finished runs, 3" in summary
    assert_accessible(view.seeds)
    screen(page, "seeds")
    view.seeds.widget.table.activated.emit(model.index(1, 0))
    assert page.run is not None and page.run.state.run_id == ids[1]
    page.show_all()
    # the layer sweep is a table of seven rows
    job = fake_worker.job("films")
    sweep = expand(job.model_copy(update={"features": Features(vectors="layer sweep")}))
    assert len(sweep) == 7
    ids = [make_run("films", step=5 * (n % 3 + 1), job=spec) for n, spec in enumerate(sweep[:6])]
    page.state.read()
    qtbot.waitUntil(lambda: ids[-1] in page.state.rows)
    view = open_run(page, ids[0], qtbot)
    qtbot.waitUntil(lambda: len(view.seeds.widget.model.rows) == 6)
    view.tabs.setCurrentWidget(view.seeds)
    assert view.tabs.tabText(view.tabs.indexOf(view.seeds)) == "Lay&er probing sweep"
    model, table = view.seeds.widget.model, view.seeds.widget.table
    cells = [(model.index(n, FEATURES).data(), model.index(n, BEST).data()) for n in range(6)]
    assert [vectors for vectors, _ in cells] == [value_text(row) for row in PAPER_VECTORS[:6]]
    assert [best for _, best in cells] == ["80.0 % acc", "90.0 % acc", "93.3 % acc"] * 2
    assert table.isColumnHidden(SEED) and table.isColumnHidden(MEAN)
    assert view.seeds.widget.summary.text() == (
        "Layer probing sweep: 6 of 7 runs finished. Compared by validation accuracy."
    )
    assert_accessible(view.seeds)
    screen(page, "layer-sweep")
    # a search has means, the best and pruned runs
    ids = [make_run("films", step=step, job=job) for step, job in
           zip((5, 10, 20, 20), search_jobs(), strict=True)]  # fmt: skip
    pruned = make_run("alone", step=5, outcome="stopped", job=search_jobs()[0],
                      problem="Pruned at step 5: too poor.")  # fmt: skip
    page.state.read()
    qtbot.waitUntil(lambda: pruned in page.state.rows)
    view = open_run(page, ids[0], qtbot)
    qtbot.waitUntil(lambda: view.tabs.tabText(view.tabs.indexOf(view.seeds)) == "S&earch")
    view.tabs.setCurrentWidget(view.seeds)
    tab = view.seeds.widget
    qtbot.waitUntil(lambda: len(tab.model.rows) == 4)
    cells = [[tab.model.index(r, c).data() for c in (FEATURES, MEAN)] for r in range(4)]
    assert cells[0][0] == "Learning rate 1e-5" and cells[2][0] == "Learning rate 3e-5 (best)"
    assert cells[0][1] == "85.0 % ± 7.1 %" and cells[2][1] == "95.0 % ± 0.0 %"
    best = "Best validation accuracy: 95.0 % ± 0.0 %, with Learning rate 3e-5."
    assert best in tab.summary.text()
    rows = {row.id: row for row in read_rows(studio.record)}
    assert is_pruned(rows[pruned]) and not is_pruned(rows[ids[0]])
