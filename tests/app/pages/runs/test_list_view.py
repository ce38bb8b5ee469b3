"""The table of all runs: search, filter, keys and menu."""

from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QApplication, QLabel, QMenu, QWidget
from pytestqt.qtbot import QtBot

from app.pages.runs.columns import Column
from app.pages.runs.view import RunsPage
from app.studio import Studio
from engine.record.runs import run as find
from tests.app.pages.runs.conftest import MakeRun
from tests.app.pages.runs.pages import HOSTILE, PATIENCE, names, question, row_of


def test_without_runs_the_first_action_is_offered(
    page: Callable[[], RunsPage], studio: Studio, qtbot: QtBot
) -> None:
    shown = page()
    assert shown.list.views.currentIndex() == 1
    with qtbot.waitSignal(studio.go) as gone:
        qtbot.mouseClick(shown.list.first, Qt.MouseButton.LeftButton)
    assert gone.args == ["train", {"preset": "first"}]


def test_all_runs_are_listed_the_newest_first(
    page: Callable[[], RunsPage], make_run: MakeRun
) -> None:
    for name in ("one", "two", "three"):
        make_run(name)
    shown = page()
    assert sorted(names(shown)) == ["one", "three", "two"]
    assert shown.list.counted.text().startswith("3 run")


def test_a_run_that_changes_keeps_its_place_in_the_selection(
    page: Callable[[], RunsPage], studio: Studio, make_run: MakeRun, qtbot: QtBot
) -> None:
    first, second = make_run("one"), make_run("two", upto=3, outcome=None)
    shown = page()
    shown.list.select(second)
    shown.list.select(first)
    with studio.record.session() as session:
        found = find(session, second)
        assert found is not None
        found.step, found.state = 9, "running"
    with qtbot.waitSignal(shown.state.changed):
        studio.dispatcher.run_changed.emit(second)
    make_run("three")
    with qtbot.waitSignal(shown.state.changed):
        studio.dispatcher.run_added.emit("run2")
    assert [row.id for row in shown.list.selected()] == [first]
    assert "three" in names(shown)
    studio.dispatcher.run_removed.emit("run2")
    assert "three" not in names(shown)
    assert [row.id for row in shown.list.selected()] == [first]


def test_search_and_filter_narrow_the_table(
    page: Callable[[], RunsPage], make_run: MakeRun, qtbot: QtBot
) -> None:
    make_run("apples")
    make_run("pears", upto=4, outcome="stopped")
    shown = page()
    qtbot.keyClicks(shown.list.search, "pear")
    assert names(shown) == ["pears"]
    assert shown.list.counted.text() == "1 of 2"
    shown.list.search.clear()
    qtbot.mouseClick(shown.list.shown.group.button(2), Qt.MouseButton.LeftButton)
    assert names(shown) == ["apples"]


def test_the_keyboard_opens_renames_and_stars(
    page: Callable[[], RunsPage], studio: Studio, make_run: MakeRun, qtbot: QtBot
) -> None:
    run_id = make_run("one")
    shown = page()
    shown.activateWindow()
    qtbot.waitUntil(shown.isActiveWindow)
    table = shown.list.table
    table.setFocus()
    shown.list.select(run_id)
    qtbot.keyClick(table, Qt.Key.Key_F2)
    editor = table.findChild(QWidget, "qt_editing_widget") or QApplication.focusWidget()
    assert editor is not None and editor is not table
    qtbot.keyClick(editor, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    qtbot.keyClicks(editor, "better")
    qtbot.keyClick(editor, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: names(shown) == ["better"])
    assert row_of(studio, run_id).name == "better"
    qtbot.keyClick(table, Qt.Key.Key_T, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: shown.state.rows[run_id].star)
    qtbot.keyClick(table, Qt.Key.Key_Return)
    assert shown.run is not None and shown.run.state.run_id == run_id
    qtbot.keyClick(shown.run, Qt.Key.Key_Left, Qt.KeyboardModifier.AltModifier)
    assert shown.run is None
    assert [row.id for row in shown.list.selected()] == [run_id]


def test_the_menu_says_why_something_cannot_be_done(
    page: Callable[[], RunsPage], make_run: MakeRun, qtbot: QtBot
) -> None:
    bare, finished = make_run("bare", upto=2, outcome="stopped"), make_run("done")
    shown = page()
    shown.list.select(bare)
    acts = shown.list.actions_.by_key
    assert acts["resume"].isEnabled() and not acts["stop"].isEnabled()
    assert acts["stop"].toolTip() == "This run is not running."
    assert acts["explore"].toolTip() == "This run has no checkpoint yet."
    shown.list.select(finished)
    assert acts["explore"].isEnabled() and not acts["resume"].isEnabled()
    shown.list.table.selectAll()
    assert acts["open"].toolTip() == "Select a single run."
    assert acts["star"].isEnabled() and acts["resume"].isEnabled()  # for the one that can
    shown.list.table.customContextMenuRequested.emit(shown.list.table.rect().center())
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu) and len(menu.actions()) > 10
    menu.close()
    shown.list.table.clearSelection()
    assert not any(action.isEnabled() for action in acts.values())


def test_deleting_asks_and_moves_the_folder_away(
    page: Callable[[], RunsPage],
    studio: Studio,
    make_run: MakeRun,
    qtbot: QtBot,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    kept, gone = make_run("kept"), make_run(HOSTILE)
    studio.dispatcher.begin()
    shown = page()
    shown.list.select(gone)
    shown.list.actions_.by_key["delete"].trigger()
    asked = question(qtbot)
    assert any(HOSTILE in label.text() for label in asked.findChildren(QLabel))
    qtbot.mouseClick(asked.buttons["cancel"], Qt.MouseButton.LeftButton)
    shown.list.actions_.by_key["delete"].trigger()
    qtbot.mouseClick(question(qtbot).buttons["delete"], Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: names(shown) == ["kept"], timeout=PATIENCE)
    assert [folder.name for folder in studio.home.runs.iterdir()] == [kept]


def test_the_widths_of_the_columns_are_remembered(
    page: Callable[[], RunsPage], make_run: MakeRun, studio: Studio
) -> None:
    make_run("one")
    page().list.table.setColumnWidth(Column.NAME, 321)
    assert page().list.table.columnWidth(Column.NAME) == 321


def test_keys_are_used_once(page: Callable[[], RunsPage], make_run: MakeRun, qtbot: QtBot) -> None:
    make_run("one")
    keys = [action.shortcut().toString() for action in page().list.actions_.by_key.values()]
    assert len(set(keys)) == len(keys)
    assert QKeySequence("F2").toString() in keys
