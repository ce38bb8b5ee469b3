"""The rows of a data set leave the program with their edits: copied, or as a file."""

import csv

import pyarrow.parquet as pq
import pytest
from PySide6.QtGui import QGuiApplication

from app.pages.data.dataset.exporting import ExportFields
from app.widgets import dialogs
from app.widgets.dialogs import Question
from app.widgets.screen import FitArea
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


def export_with(qtbot, view, **chosen: str):
    """Open the question, choose in its boxes by text, and return its fields and its button."""
    view.export.click()
    questions = view.window().findChildren(Question)
    question = next(one for one in questions if one.isVisible())  # closed ones may be left
    fields = question.findChild(ExportFields)
    qtbot.waitUntil(lambda: bool(fields.columns.chosen()), timeout=PATIENCE)
    for name, text in chosen.items():
        box = getattr(fields, name)
        box.setCurrentIndex(next(n for n in range(box.count()) if box.itemText(n).startswith(text)))
    return fields, question.buttons["export"]


def test_all_rows_are_exported_whatever_is_listed(qtbot, view, tmp_path, monkeypatch):
    file, asked = tmp_path / "whole.csv", []
    monkeypatch.setattr(dialogs, "ask_for_file", lambda *args: (asked.append(args), args[-1](file)))
    view.editing.state.set_cells([1], "label", ["new"])
    view.search.setText("bad 1")
    qtbot.waitUntil(lambda: 0 < view.model.rowCount() < 120, timeout=PATIENCE)
    monkeypatch.setattr(dialogs, "save_folder", lambda: tmp_path)
    (tmp_path / "reviews.csv").touch()
    fields, button = export_with(qtbot, view)
    assert fields.path == tmp_path / "reviews 2.csv", "no file is replaced unasked"
    bar = fields.window().findChild(FitArea).verticalScrollBar()
    qtbot.waitUntil(lambda: bar.maximum() == 0)  # the dialog makes room for its texts
    fields.choose_file.click()
    assert fields.path == file and fields.file.text().startswith("whole.csv in ")
    button.click()
    qtbot.waitUntil(file.is_file, timeout=PATIENCE)
    assert len(file.read_text("utf-8").splitlines()) == 121 and ",new" in file.read_text("utf-8")
    assert asked[0][3] == [".csv"] and asked[0][2].endswith(".csv")
    fields, button = export_with(qtbot, view, format="Parquet", rows="Listed rows")
    fields.columns.show_columns(("row", "sentence"), ("row", "sentence"))
    file = tmp_path / "reviews.parquet"
    assert fields.path == file
    button.click()
    qtbot.waitUntil(file.is_file, timeout=PATIENCE)
    qtbot.waitUntil(lambda: file.read_bytes()[:4] == b"PAR1", timeout=PATIENCE)
    table = pq.read_table(file)
    assert table.column_names == ["row", "sentence"] and 0 < len(table) < 120
    assert all("bad 1" in text for text in table["sentence"].to_pylist())


def test_what_a_format_cannot_hold_is_said_before_it_is_written(qtbot, view, monkeypatch, tmp_path):
    monkeypatch.setattr(dialogs, "save_folder", lambda: tmp_path)
    fields, button = export_with(qtbot, view, format="CoNLL")
    shown = fields.losses.text
    qtbot.waitUntil(lambda: "this data set has no tags" in shown(), timeout=PATIENCE)
    assert fields.per_split.isEnabled() and fields.help.text().endswith(".")
    fields.format.setCurrentIndex(fields.format.findData("hf"))
    qtbot.waitUntil(lambda: not shown(), timeout=PATIENCE)
    assert not fields.per_split.isEnabled() and fields.path == tmp_path / "reviews"
    button.click()
    qtbot.waitUntil((tmp_path / "reviews" / "dataset_dict.json").is_file, timeout=PATIENCE)
