"""Behaviour of all tables."""

import pytest
from PySide6.QtCore import QStringListModel, Qt
from PySide6.QtWidgets import QAbstractItemView, QTableView

from app.widgets.tables import Column, ColumnsModel, apply_style, make_table

Mode = QAbstractItemView.SelectionMode


@pytest.fixture
def table(qtbot):
    """Three rows; the first is current, none is selected."""
    table = QTableView()
    apply_style(table, "Letters")
    table.setModel(QStringListModel(["a", "b", "c"], table))
    qtbot.addWidget(table)
    table.selectionModel().setCurrentIndex(
        table.model().index(0, 0), table.selectionModel().SelectionFlag.NoUpdate
    )
    return table


def selected(table: QTableView) -> list[str]:
    return [index.data() for index in table.selectionModel().selectedRows()]


@pytest.mark.parametrize("key", [Qt.Key.Key_Up, Qt.Key.Key_Down])
@pytest.mark.parametrize("modifier", ["NoModifier", "KeypadModifier"])
def test_the_first_key_selects_the_current_row_and_the_next_moves(qtbot, table, key, modifier):
    qtbot.keyClick(table, key, Qt.KeyboardModifier[modifier])
    assert selected(table) == ["a"]
    qtbot.keyClick(table, Qt.Key.Key_Down)
    assert selected(table) == ["b"]


def test_shift_and_tables_without_selection_are_unaffected(qtbot, table):
    qtbot.keyClick(table, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    assert selected(table) == ["a", "b"]
    table.clearSelection()
    table.setSelectionMode(Mode.NoSelection)
    qtbot.keyClick(table, Qt.Key.Key_Down)
    assert not selected(table) and table.currentIndex().row() == 2


def test_moving_to_another_row_does_not_scroll_to_the_side(qtbot):
    names = "abc"
    model = ColumnsModel[int]([Column(name, str) for name in names])
    table = make_table("Rows", model)
    qtbot.addWidget(table)
    model.show_rows(range(9))
    for column in range(len(names)):
        table.setColumnWidth(column, 200)
    table.resize(300, 200)
    table.show()
    table.setCurrentIndex(model.index(0, 1))
    table.horizontalScrollBar().setValue(150)  # the column is cut off on its left and right
    for _ in range(7):
        qtbot.keyClick(table, Qt.Key.Key_Down)
        assert table.horizontalScrollBar().value() == 150
    assert table.verticalScrollBar().value() > 0 and table.currentIndex().row() == 7
    table.setCurrentIndex(model.index(7, 2))
    assert table.horizontalScrollBar().value() > 150, "another column is brought into view"
