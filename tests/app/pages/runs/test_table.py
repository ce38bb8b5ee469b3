from dataclasses import replace
from typing import Any

import pytest
from PySide6.QtCore import QModelIndex, Qt

from app.pages.runs.actions import hold_text, resume_text, stop_text, why_not
from app.pages.runs.arranging import RunFilter, words_test
from app.pages.runs.columns import COLUMNS, Column, all_columns
from app.pages.runs.rows import RunRow, read_rows
from app.pages.runs.table import ROW_ROLE, RunsTable


@pytest.fixture
def rows(studio, make_run) -> list[RunRow]:
    """Three runs, the newest first: stopped, failed, finished."""
    make_run("first")
    make_run("second", step=7, outcome="failed", problem="Memory ran out.")
    make_run("third", step=12, outcome="stopped")
    return read_rows(studio.record)


def cell(model: Any, row: int, column: Column) -> str:
    return str(model.index(row, model.column(column)).data())


def test_the_cells_of_a_run_show_its_values(rows, qtbot):
    table = RunsTable()
    table.show_rows(rows)
    row = table.find_row("run1")
    table.set_columns(tuple(Column))
    text = " | ".join(cell(table, row, column) for column in Column)
    assert text.startswith(
        "failed | second | Text classification | data.csv | model | 80.0 % acc |"
    )
    assert cell(table, row, Column.PROGRESS) == "35 %"
    assert cell(table, row, Column.TIME) == "7 s"
    tip = table.index(row, table.column(Column.STATE)).data(Qt.ItemDataRole.ToolTipRole)
    assert "Memory ran out. Use a smaller batch size." in tip
    spoken = table.index(row, table.column(Column.BEST)).data(Qt.ItemDataRole.AccessibleTextRole)
    assert spoken == "Best score: 80.0 % acc"


def test_the_model_is_valid_while_its_rows_change(rows, qtbot, qtmodeltester):
    table = RunsTable()
    qtmodeltester.check(table)
    table.show_rows(rows[1:])
    table.show_row(rows[0])
    table.show_row(replace(rows[1], name="another"))
    table.remove_row(rows[2].id)
    table.remove_row("nobody")
    assert [cell(table, n, Column.NAME) for n in range(2)] == [rows[0].name, "another"]
    table.group_by([Column.STATE])
    table.toggle(table.index(0, 0).data(ROW_ROLE))
    table.show_row(replace(rows[1], name="a third name"))
    table.remove_row(rows[0].id)
    assert table.rowCount() == 1  # the other group, collapsed, with the remaining run


def test_only_the_name_can_be_edited_and_an_equal_row_changes_nothing(rows, qtbot):
    table = RunsTable()
    table.show_rows(rows)
    with qtbot.assertNotEmitted(table.dataChanged):
        table.show_row(replace(rows[0]))
    index = table.index(0, table.column(Column.NAME))
    assert index.flags() & Qt.ItemFlag.ItemIsEditable
    assert not table.index(0, table.column(Column.STATE)).flags() & Qt.ItemFlag.ItemIsEditable
    with qtbot.assertNotEmitted(table.renamed):
        assert not table.setData(index, "   ")
        assert table.setData(index, rows[0].name)
    with qtbot.waitSignal(table.renamed) as renamed:
        assert table.setData(index, " better ")
    assert renamed.args == [rows[0].id, "better"]
    assert table.rowCount(index) == 0 and table.rowCount(QModelIndex()) == 3


def test_every_word_of_a_search_must_occur(rows, qtbot):
    for text, names in [
        ("", {"first", "second", "third"}),
        ("SECOND", {"second"}),
        ("data.csv stopped", {"third"}),
        ("masked", set()),
        ("finished", {"first"}),
    ]:
        table = RunsTable()
        table.show_rows(rows)
        table.set_filter(words_test(text.casefold().split()))
        assert {cell(table, n, Column.NAME) for n in range(table.rowCount())} == names


def test_the_filter_shows_the_runs_in_these_states(rows, qtbot):
    for run_filter, names in [
        (RunFilter.ALL, {"first", "second", "third"}),
        (RunFilter.ACTIVE, set()),
        (RunFilter.FINISHED, {"first"}),
        (RunFilter.STOPPED_OR_FAILED, {"second", "third"}),
        (RunFilter.STARRED, {"second"}),
        (RunFilter.ARCHIVED, {"old"}),
    ]:
        table = RunsTable()
        table.show_rows(
            [
                *(replace(row, star=row.name == "second") for row in rows),
                replace(rows[0], id="old", name="old", archived=True),
            ]
        )
        table.show_only(run_filter)
        assert {table.index(n, 0).data(ROW_ROLE).name for n in range(table.rowCount())} == names


def sorted_runs(rows: list[RunRow], column: Column, order: Qt.SortOrder) -> list[RunRow]:
    table = RunsTable()
    table.set_columns(tuple(Column))
    table.show_rows(rows)
    table.sort(table.column(column), order)
    return [table.index(n, 0).data(ROW_ROLE) for n in range(len(rows))]


def test_best_scores_are_sorted_by_metric_and_runs_without_a_value_last(rows, qtbot):
    scores = [
        ("validation_loss", False, 6.59),
        ("validation_accuracy", True, 0.0793),
        ("", True, None),
        ("validation_loss", False, 5.1),
        ("validation_accuracy", True, 0.793),
    ]
    scored = [
        replace(rows[0], id=str(n), best_metric=metric, higher_is_better=higher, best_score=score)
        for n, (metric, higher, score) in enumerate(scores)
    ]
    ordered = sorted_runs(scored, Column.BEST, Qt.SortOrder.AscendingOrder)
    assert [row.best_score for row in ordered] == [0.793, 0.0793, 5.1, 6.59, None]
    ordered = sorted_runs(scored, Column.BEST, Qt.SortOrder.DescendingOrder)
    assert [row.best_score for row in ordered] == [6.59, 5.1, 0.0793, 0.793, None]
    for column in Column:
        for order in Qt.SortOrder:
            empty = replace(
                rows[0], data="", base_model="", best_score=None, loss=None, steps=0, seconds=0.0
            )
            ordered = sorted_runs([empty, rows[1], rows[2]], column, order)
            if not COLUMNS[column].text(empty) and COLUMNS[column].text(rows[1]):
                assert ordered[-1] is empty or ordered[-1] == empty


def test_waiting_runs_are_moved_held_released_and_cancelled(rows):
    queued, running = (replace(rows[0], state=state) for state in ("queued", "running"))
    assert stop_text([queued]) == stop_text([queued, queued]) == "&Cancel"
    assert stop_text([running]) == stop_text([queued, running]) == "&Stop and save"
    cancelled = replace(rows[0], state="stopped", started=None, checkpoint_step=0)
    assert resume_text(cancelled) == "&Start"
    queued, held, done = (
        replace(rows[0], id=state, state=state) for state in ("queued", "on hold", "finished")
    )
    assert hold_text([queued, held]) == "&Hold" and hold_text([held]) == "Re&lease"
    for key in ("next", "hold"):
        assert not why_not(key, queued) and not why_not(key, held)
        assert why_not(key, done) == "This run is not in the queue."
    assert not why_not("resume", held) and why_not("resume", queued)


def test_runs_are_grouped_by_cell_text(rows, qtbot):
    table = RunsTable()
    table.show_rows([*rows, replace(rows[0], id="more", best_score=0.5)])
    table.sort(table.column(Column.NAME))
    table.group_by([Column.STATE])
    assert table.rowCount() == 3
    titles = [cell(table, n, Column.NAME) for n in range(3)]
    assert titles == ["finished (1 run(s))", "failed (1 run(s))", "stopped (2 run(s))"]
    stopped = table.index(2, 0).data(ROW_ROLE)
    table.toggle(stopped)
    assert [cell(table, n, Column.NAME) for n in (3, 4)] == ["third", "third"]
    assert cell(table, 2, Column.BEST) == "70.0 % ± 28.3 %"
    assert cell(table, 2, Column.DATA) == "data.csv"
    table.group_by(())
    assert table.rowCount() == 4


def test_the_group_with_the_best_mean_score_is_marked(rows, qtbot):
    third, second, first = (replace(row, best_metric="validation_f1") for row in rows)
    worse = replace(first, id="no score", best_score=None, state="queued")
    table = RunsTable()

    def with_loss(row: RunRow) -> RunRow:
        return replace(row, best_metric="validation_loss", higher_is_better=False)

    def best_groups(*runs: RunRow) -> list[str]:
        table.show_rows(runs)
        table.group_by([Column.STATE])
        best = [table.index(n, table.column(Column.BEST)) for n in range(table.rowCount())]
        roles = Qt.ItemDataRole
        spoken = [str(index.data(roles.AccessibleTextRole)).endswith("(best)") for index in best]
        groups = [index.data(ROW_ROLE) for index in best]
        assert spoken == [table.is_best_group(group) for group in groups]
        return [str(g.values[0]) for g, is_best in zip(groups, spoken, strict=True) if is_best]

    scored = [replace(third, best_score=0.5), replace(second, best_score=0.8),
              replace(first, best_score=0.7)]  # fmt: skip
    assert best_groups(*scored, worse) == ["failed"]
    assert best_groups(*scored, replace(scored[1], id="other", best_score=0.1)) == ["finished"]
    assert best_groups(*(with_loss(row) for row in scored)) == ["stopped"]
    assert best_groups(scored[0], with_loss(scored[1])) == [], "two metrics"
    assert best_groups(scored[0], worse) == [], "a single group has scores"


def test_any_setting_and_any_metric_is_a_column(rows, qtbot):
    table = RunsTable()
    rows[0].measured["validation_accuracy@last"] = 0.9375
    table.set_columns(("name", "training.learning_rate", "validation_accuracy@last", "nonsense"))
    table.show_rows(rows)
    assert table.columnCount() == 3
    row = table.find_row(rows[0].id)
    assert [table.index(row, n).data() for n in (1, 2)] == ["5e-5", "93.8 %"]
    titles = [table.headerData(n, Qt.Orientation.Horizontal) for n in range(3)]
    assert titles == ["Name", "Learning rate", "Last accuracy"]
    for key in all_columns():  # each can be shown and sorted by
        table.set_columns((key,))
        table.sort(0)
        assert table.index(0, 0).data() is not None
