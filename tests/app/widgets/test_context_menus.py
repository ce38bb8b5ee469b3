"""Context menus: every table copies rows and is exported, every figure is copied and saved."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QContextMenuEvent, QGuiApplication, QStandardItem, QStandardItemModel
from PySide6.QtWidgets import QApplication, QMenu, QTreeView, QWidget

import app
from app.notices import Notices
from app.widgets.charts.chart import Axis, Chart, Line
from app.widgets.charts.figure_menu import offer_chart
from app.widgets.charts.view import ChartView
from app.widgets.context_menu import context_menu
from app.widgets.table_menu import export_table
from app.widgets.tables import Column, ColumnsModel, add_table_menu, make_table
from engine.data.formats.reading import read, recognise

APP = Path(app.__file__).parent
TABLES = {"QTableView", "RowsTable", "QTreeView", "QTableWidget", "QTreeWidget"}
CHARTS = {"ChartView", "ZoneChart", "ZoomChart", "LiveChart", "FigureButton"}
GIVES_MENU = {"apply_style", "add_table_menu", "make_table"}
OFFERS = {"offer_on", "offer_chart", "offer_figure"}
PINNED = "list_columns.py"  # its second view passes the event to the table below it


def sources() -> Iterator[tuple[Path, set[str], set[str]]]:
    """Each file with a table or a figure, the names it calls, and the classes it derives from."""
    for file in APP.rglob("*.py"):
        text = file.read_text(encoding="utf-8")
        if not any(word in text for word in {*TABLES, *CHARTS, "ChoosingTable"}):
            continue
        nodes = list(ast.walk(ast.parse(text)))
        calls = [node.func for node in nodes if isinstance(node, ast.Call)]
        bases = [base for node in nodes if isinstance(node, ast.ClassDef) for base in node.bases]
        yield file, {name(call) for call in calls}, {name(base) for base in bases}


def name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def test_every_table_and_figure_of_the_program_has_a_menu():
    found = list(sources())
    tables = [f for f, calls, bases in found if TABLES & (calls | bases) and f.name != PINNED]
    without = [f for f, calls, _ in found if f in tables and not GIVES_MENU & calls]
    assert len(tables) > 7
    # its subclasses get the menu where they are made
    assert {file.name for file in without} <= {"picture.py"}
    for file, calls, bases in found:
        if "ChoosingTable" in bases | calls:
            assert GIVES_MENU & calls, file
    figures = [f for f, calls, bases in found if CHARTS & (calls | {*bases} - {"ChartView"})]
    assert len(figures) > 15
    for file, calls, _ in found:
        if file in figures and file.parent.name != "charts" and file.name != "picture.py":
            assert OFFERS & calls, file


@pytest.fixture
def window(qtbot) -> Iterator[QWidget]:
    window = QWidget()
    window.notices = Notices(window)
    qtbot.addWidget(window)
    window.show()
    yield window
    qtbot.keyClick(window, Qt.Key.Key_Escape)  # Ctrl is no longer pressed


@pytest.fixture
def table(window):
    """Three rows of a text and a number; the text is shown in capitals."""
    columns = [Column("Word", lambda row: row[0].upper(), value=lambda row: row[0])]
    columns += [
        Column("", lambda row: str(row[1]), value=lambda row: row[1], sort_key=lambda row: row[1])
    ]
    model = ColumnsModel(columns)
    model.show_rows([("=a", 1), ("two\nlines", 2), ("c", 3)])
    table = make_table("Words & numbers", model)
    table.setParent(window)
    model.setParent(table)
    table.show()
    return table


def entries(widget: QWidget) -> dict[str, bool]:
    """Titles of the context menu, and if they can be chosen."""
    actions = context_menu(widget).build().actions()
    return {a.text().replace("&", ""): a.isEnabled() for a in actions if not a.isSeparator()}


def copied(qtbot, text: str) -> None:
    qtbot.waitUntil(lambda: QGuiApplication.clipboard().text().replace("\r", "") == text)


def test_copying_takes_the_selected_rows_as_a_table_and_never_runs_in_a_spreadsheet(qtbot, table):
    possible = {"Copy 1 row(s)": True, "Copy cell": True, "Export table…": True}
    assert entries(table) == possible, "the first row is current"
    table.selectAll()
    qtbot.keyClick(table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    copied(qtbot, 'Word\t2\n\'=a\t1\n"two\nlines"\t2\nc\t3\n')
    table.sortByColumn(1, Qt.SortOrder.DescendingOrder)
    table.horizontalHeader().moveSection(1, 0)
    table.clearSelection()
    table.selectRow(0)
    assert "Copy 1 row(s)" in entries(table)
    qtbot.keyClick(table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    copied(qtbot, "1\tWord\n3\tc\n")
    menu = context_menu(table).build()
    next(a for a in menu.actions() if a.text() == "Copy cell").trigger()
    assert QGuiApplication.clipboard().text() == "3"


def test_a_table_is_exported_with_its_numbers_and_the_notice_shows_the_folder(
    qtbot, table, window, tmp_path
):
    for suffix in (".csv", ".xlsx", ".parquet"):
        export_table(table, tmp_path / f"words{suffix}")
    qtbot.waitUntil(lambda: len(window.notices.shown) == 3)
    assert all(notice.action == "Show in folder" for notice in window.notices.shown)
    assert (tmp_path / "words.csv").read_text().splitlines()[:2] == ["Word,2", "'=a,1"]
    assert pq.read_table(tmp_path / "words.parquet").to_pylist()[2] == {"Word": "c", "2": 3}
    sheet = read(tmp_path / "words.xlsx", recognise(tmp_path / "words.xlsx").reading)
    assert [row.cells for row in sheet][2] == ("c", "3")
    export_table(table, tmp_path / "no folder" / "words.csv")
    qtbot.waitUntil(lambda: window.notices.shown[-1].is_error)


def test_the_menu_key_opens_the_menu_and_trees_are_copied_with_inner_rows(qtbot, table, window):
    table.setCurrentIndex(table.model().index(1, 0))
    key = QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, QPoint(5, 5), QPoint(5, 5))
    QApplication.sendEvent(table.viewport(), key)
    menus = [w for w in QApplication.topLevelWidgets() if isinstance(w, QMenu) and w.isVisible()]
    assert next(action.text() for action in menus[0].actions()) == "Cop&y 1 row(s)"
    menus[0].close()
    model = QStandardItemModel()
    model.setHorizontalHeaderLabels(["Part", "Size"])
    outer = [QStandardItem("all"), QStandardItem("9")]
    outer[0].appendRow([QStandardItem("inner"), QStandardItem("4")])
    model.appendRow(outer)
    tree = QTreeView(window)
    tree.setModel(model)
    tree.expandAll()
    add_table_menu(tree)
    tree.setCurrentIndex(model.index(0, 0, model.index(0, 0)))
    qtbot.keyClick(tree, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    copied(qtbot, "Part\tSize\ninner\t4\n")


def test_a_chart_without_a_button_is_copied_from_its_menu(qtbot, window):
    chart = ChartView("Rows by length")
    chart.setParent(window)
    offer_chart(chart)
    assert not entries(chart)["Copy picture"], "there is nothing to copy yet"
    x = [1.0, 2.0]
    chart.show_chart(Chart(Axis("x", (0, 3)), Axis("y", (0, 3)), (Line("", x, x),)))
    possible = entries(chart)
    assert possible["Copy picture"] and possible["Save as SVG…"] and possible["Copy numbers"]
    assert not possible["Save as NumPy array…"]
