"""Behaviour of all tables."""

import pytest
from PySide6.QtCore import QStringListModel, Qt
from PySide6.QtWidgets import QAbstractItemView, QTableView

from app.widgets.tables import apply_style

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
