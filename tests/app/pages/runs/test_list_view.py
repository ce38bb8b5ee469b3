"""The table of all runs: search, filter, keys and menu."""

from dataclasses import replace

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QMenu, QWidget

from app.pages.runs.columns import DEFAULT, Column
from app.pages.runs.delegate import ICON_SIZE
from app.pages.runs.list_menus import Layout, read_layout
from app.theme import SPACE
from tests.app.asking import question
from tests.app.pages.runs.pages import HOSTILE, PATIENCE, change_run, names, row_of


def test_without_runs_the_first_action_is_offered(page, studio, qtbot):
    shown = page()
    assert shown.list.views.currentIndex() == 1
    with qtbot.waitSignal(studio.go) as signal:
        qtbot.mouseClick(shown.list.first, Qt.MouseButton.LeftButton)
    assert signal.args == ["train", {"preset": "first"}]


def test_a_run_that_changes_stays_selected(page, studio, make_run, qtbot):
    first, second = make_run("one"), make_run("two", upto=3, outcome=None)
    shown = page()
    shown.list.select(second)
    shown.list.select(first)
    change_run(studio, second, step=9, state="running")
    with qtbot.waitSignal(shown.state.changed):
        studio.dispatcher.run_changed.emit(second)
    make_run("three")
    with qtbot.waitSignal(shown.state.changed):
        studio.dispatcher.run_added.emit("run2")
    assert [row.id for row in shown.list.selected()] == [first]
    assert "three" in names(shown) and shown.list.count_label.text().startswith("3 run")
    studio.dispatcher.run_removed.emit("run2")
    assert "three" not in names(shown)
    assert [row.id for row in shown.list.selected()] == [first]


def test_search_filter_and_a_cell_narrow_the_table(page, make_run, qtbot):
    make_run("apples")
    make_run("pears", upto=4, outcome="stopped")
    shown = page()
    qtbot.keyClicks(shown.list.search, "pear")
    assert names(shown) == ["pears"]
    assert shown.list.count_label.text() == "1 of 2"
    shown.list.search.clear()
    qtbot.mouseClick(shown.list.run_filter.group.button(2), Qt.MouseButton.LeftButton)
    assert names(shown) == ["apples"]
    qtbot.mouseClick(shown.list.run_filter.group.button(0), Qt.MouseButton.LeftButton)
    model, table = shown.list.model, shown.list.table
    cell = model.index(model.find_row("run1"), model.column(Column.STATE))
    shown.list.select("run1")
    table.customContextMenuRequested.emit(table.visualRect(cell).center())
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    only, never = menu.actions()[:2]
    assert (only.text(), never.text()) == ("Only “State: stopped”", "Not “State: stopped”")
    never.trigger()
    menu.close()
    assert names(shown) == ["apples"]
    assert shown.list.filter.field.text() == "state is not stopped"
    shown.list.filter.field.setText("pears")
    shown.list.filter.add("state is stopped")
    assert shown.list.filter.field.text() == "name contains pears and state is stopped"
    assert names(shown) == ["pears"]


def test_the_keyboard_opens_renames_and_stars(page, studio, make_run, qtbot):
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


def test_the_first_press_of_a_key_selects_the_first_run(page, make_run, qtbot):
    """The table makes it the current row on focus, without selecting it."""
    runs = [make_run("one"), make_run("two")]
    shown = page()
    table = shown.list.table
    shown.activateWindow()
    qtbot.waitUntil(shown.isActiveWindow)
    for key in (Qt.Key.Key_Up, Qt.Key.Key_Down):
        shown.list.search.setFocus()
        table.clearSelection()
        table.setFocus(Qt.FocusReason.TabFocusReason)
        assert not shown.list.selected() and table.currentIndex().row() == 0
        qtbot.keyClick(table, key)
        (chosen,) = shown.list.selected()
        assert shown.list.model.find_row(chosen.id) == 0
    qtbot.keyClick(table, Qt.Key.Key_Down)
    (other,) = shown.list.selected()
    assert {chosen.id, other.id} == set(runs)
    qtbot.keyClick(table, Qt.Key.Key_Return)
    assert shown.run is not None and shown.run.state.run_id == other.id


def test_the_menu_shows_why_an_action_is_disabled(page, make_run, qtbot):
    bare, finished = make_run("bare", upto=2, outcome="stopped"), make_run("done")
    shown = page()
    shown.list.select(bare)
    acts = shown.list.actions_.by_key
    keys = [action.shortcut().toString() for action in acts.values()]
    assert len(set(keys)) == len(keys) and "F2" in keys
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


def test_deleting_asks_and_uses_the_trash(page, studio, make_run, qtbot, tmp_path, monkeypatch):
    kept, gone = make_run("kept"), make_run(HOSTILE)
    studio.dispatcher.begin()
    shown = page()
    shown.list.select(gone)
    shown.list.actions_.by_key["delete"].trigger()
    dialog = question(qtbot)
    assert any(HOSTILE in label.text() for label in dialog.findChildren(QLabel))
    qtbot.mouseClick(dialog.buttons["cancel"], Qt.MouseButton.LeftButton)
    shown.list.actions_.by_key["delete"].trigger()
    qtbot.mouseClick(question(qtbot).buttons["delete"], Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: names(shown) == ["kept"], timeout=PATIENCE)
    assert [folder.name for folder in studio.home.runs.iterdir()] == [kept]


def test_the_widths_of_the_columns_are_remembered(page, make_run, studio):
    make_run("one")
    column = page().list.model.column(Column.NAME)
    page().list.table.setColumnWidth(column, 321)
    assert page().list.table.columnWidth(column) == 321


def test_a_sentence_is_completed_and_its_errors_are_shown(page, make_run, qtbot):
    make_run("apples")
    make_run("pears", upto=4, outcome="stopped")
    shown = page()
    line = shown.list.filter
    line.field.setFocus()
    qtbot.keyClicks(line.field, "state is sto")
    qtbot.waitUntil(lambda: line.completer.popup().isVisible())
    qtbot.keyClick(line.completer.popup(), Qt.Key.Key_Down)
    qtbot.keyClick(line.completer.popup(), Qt.Key.Key_Return)
    assert line.field.text() == "state is stopped "
    assert names(shown) == ["pears"]
    line.field.setText("stat is stopped")
    assert line.error.text() == "At “stat”: There is no field “stat”: did you mean “state”?"
    assert names(shown) == ["pears"]  # as before: what is not understood changes nothing
    line.field.setText("accuracy > 0.9")  # a metric that is read first
    qtbot.waitUntil(lambda: names(shown) == ["apples"])
    assert not line.error.isVisible()


def test_several_runs_are_tagged_and_archived(page, make_run, qtbot):
    for name in ("one", "two", "three"):
        make_run(name)
    shown = page()
    shown.state.set_tags("run0", ["old"])
    qtbot.waitUntil(lambda: shown.state.rows["run0"].tags == ("old",))
    shown.list.select("run0")
    shown.list._select("run1")
    shown.list.actions_.by_key["tags"].trigger()
    dialog = question(qtbot)
    field = dialog.findChild(QLineEdit)
    assert field is not None and field.text() == ""
    qtbot.keyClicks(field, "paper, ward 7, paper")
    qtbot.mouseClick(dialog.buttons["save"], Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: shown.state.rows["run0"].tags == ("paper", "ward 7", "old"))
    qtbot.waitUntil(lambda: shown.state.rows["run1"].tags == ("paper", "ward 7"))
    shown.list.actions_.by_key["archive"].trigger()
    qtbot.waitUntil(lambda: names(shown) == ["three"])
    qtbot.mouseClick(shown.list.run_filter.group.button(5), Qt.MouseButton.LeftButton)
    assert sorted(names(shown)) == ["one", "two"]


def test_columns_groups_and_filter_are_saved_as_a_view(page, make_run, studio):
    make_run("one")
    make_run("two", upto=4, outcome="stopped")
    first = page().list
    first.show_columns(("name", "training.learning_rate", "validation_accuracy@at best"))
    first.group_by(("state",))
    first.filter.field.setText("name is two")
    first.columns.pin(1)
    first.saved_views.save("night", first._layout())
    first.apply(Layout())
    assert first.model.keys == DEFAULT and first.model.rowCount() == 2
    again = page().list
    again.apply(again.saved_views.get("night"))
    assert again.model.keys == ("name", "training.learning_rate", "validation_accuracy@at best")
    assert (again.model.group_keys, again.columns.pinned) == (("state",), 1)
    assert again.model.rowCount() == 1 and again.columns.pinned_view.columns == 1
    assert read_layout({"columns": ["name", 3, "gone"], "widths": {"name": "x"}, "pinned": -4}) == (
        replace(Layout(), columns=("name",))
    )
    again.apply(Layout())


def test_columns_share_the_width_and_are_hidden_in_small_windows(page, make_run, qtbot):
    make_run("one")
    shown = page()
    table, model = shown.list.table, shown.list.model
    for width in (880, 1180):
        shown.resize(width, 640)
        QApplication.processEvents()
        assert not table.horizontalScrollBar().isVisible(), width
    shown.resize(1016, 640)  # the smallest window less the bar at the left
    QApplication.processEvents()
    metrics = table.fontMetrics()
    texts = {Column.STATE: "running 100 %", Column.TIME: "9 h 59 min left",
            Column.BEST: "100.0 % acc"}  # fmt: skip
    for column, text in texts.items():
        icon = ICON_SIZE + 1.5 * SPACE if column is Column.STATE else 0
        needed = metrics.horizontalAdvance(text) + icon + 4 * SPACE
        assert table.columnWidth(model.column(column)) >= needed, (column, needed)
    header = table.horizontalHeader()
    for section in (n for n in range(header.count()) if not table.isColumnHidden(n)):
        title = str(model.headerData(section, Qt.Orientation.Horizontal))
        assert header.sectionSize(section) >= metrics.horizontalAdvance(title) + 4 * SPACE, title
    section = model.column(Column.LOSS)
    shown.resize(500, 600)
    qtbot.waitUntil(lambda: table.isColumnHidden(section))
    shown.resize(1300, 800)
    qtbot.waitUntil(lambda: not table.isColumnHidden(section))
    assert not shown.list.columns.layout("", 0).widths, "nobody but the user gives a width"
    shown.resize(500, 600)
    qtbot.waitUntil(lambda: table.isColumnHidden(section))
