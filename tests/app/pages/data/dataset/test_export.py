"""The rows of a data set leave the program with their edits: copied, or as a file."""

import csv

import pyarrow.parquet as pq
import pytest
from PySide6.QtGui import QGuiApplication

from app.widgets import dialogs
from app.widgets.table_menu import copy_rows, export_table, selected_rows
from app.widgets.tables import Column, ColumnsModel, make_table
from tests.app.pages.data.dataset.test_view import PATIENCE, open_view


@pytest.fixture
def view(qtbot, page, reviews):
    view = open_view(qtbot, page, reviews)
    qtbot.waitUntil(lambda: view.table.selectionModel() is not None, timeout=PATIENCE)
    return view


def test_rows_are_written_with_their_edits_and_without_deleted_ones(qtbot, view, tmp_path):
    edits = view.editing.state
    edits.set_cells([1], "label", ["new"])
    edits.delete([2])
    edits.move([3], "test")
    for suffix in (".csv", ".parquet"):
        export_table(view.table, tmp_path / f"all{suffix}")
    qtbot.waitUntil((tmp_path / "all.parquet").is_file, timeout=PATIENCE)
    qtbot.waitUntil((tmp_path / "all.csv").is_file, timeout=PATIENCE)
    with open(tmp_path / "all.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["Line", "Split", "sentence", "label"] and len(rows) == 119
    assert rows[1]["label"] == "new" and rows[2]["Split"] == "test"
    assert rows[2]["sentence"].endswith("good 3") or rows[2]["sentence"].endswith("bad 3")
    assert pq.read_table(tmp_path / "all.parquet")["Line"].to_pylist()[:3] == [2, 3, 5]


def test_found_rows_are_copied_though_they_were_never_scrolled_to(qtbot, view):
    view.search.setText("bad 1")
    qtbot.waitUntil(lambda: 0 < view.model.rowCount() < 120, timeout=PATIENCE)
    count = view.model.rowCount()
    view.table.selectAll()
    copy_rows(view.table)
    lines = lambda: QGuiApplication.clipboard().text().splitlines()  # noqa: E731
    qtbot.waitUntil(lambda: len(lines()) == count + 1, timeout=PATIENCE)
    assert all("bad 1" in line for line in lines()[1:])


def test_all_of_a_million_selected_rows_are_counted_at_once(qtbot):
    table = make_table("Numbers", ColumnsModel([Column("n", str), Column("m", str)]))
    qtbot.addWidget(table)
    table.model().show_rows(range(1_000_000))
    table.selectAll()
    assert len(selected_rows(table)) == 1_000_000  # the watchdog fails what takes too long


def test_all_rows_leave_whatever_is_listed(qtbot, view, tmp_path, monkeypatch):
    file = tmp_path / "whole.csv"
    monkeypatch.setattr(dialogs, "ask_for_file", lambda *asked: asked[-1](file))
    view.editing.state.set_cells([1], "label", ["new"])
    view.search.setText("bad 1")
    qtbot.waitUntil(lambda: 0 < view.model.rowCount() < 120, timeout=PATIENCE)
    view.export.click()
    qtbot.waitUntil(file.is_file, timeout=PATIENCE)
    assert len(file.read_text("utf-8").splitlines()) == 121 and ",new" in file.read_text("utf-8")
