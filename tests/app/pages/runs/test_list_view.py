"""The table of all runs: search, filter, keys and menu."""

from dataclasses import replace

from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QMenu, QWidget

from app.pages.runs.columns import DEFAULT_COLUMNS, Column
from app.pages.runs.delegate import ICON_SIZE
from app.pages.runs.list_menus import Layout, read_layout
from app.theme import SPACE
from tests.app.asking import question
from tests.app.pages.runs.pages import HOSTILE, PATIENCE, change_run, names, read_run
from tests.engine.runs import fake_worker


def test_without_runs_the_first_action_is_offered(make_page, studio, qtbot):
    page = make_page()
    assert page.list.views.currentIndex() == 1
    with qtbot.waitSignal(studio.navigate) as signal:
        qtbot.mouseClick(page.list.first_run, Qt.MouseButton.LeftButton)
    assert signal.args == ["train", {"preset": "first"}]


def test_a_run_that_changes_stays_selected(make_page, studio, make_run, qtbot):
    first, second = make_run("one"), make_run("two", step=3, outcome=None)
    page = make_page()
    page.list.select(second)
    page.list.select(first)
    change_run(studio, second, step=9, state="running")
    with qtbot.waitSignal(page.state.changed):
        studio.dispatcher.run_changed.emit(second)
    make_run("three")
    with qtbot.waitSignal(page.state.changed):
        studio.dispatcher.run_added.emit("run2")
    assert [row.id for row in page.list.selected()] == [first]
    assert "three" in names(page) and page.list.count_label.text().startswith("3 run")
    studio.dispatcher.run_removed.emit("run2")
    assert "three" not in names(page)
    assert [row.id for row in page.list.selected()] == [first]


def test_deleting_asks_and_uses_the_trash(make_page, studio, make_run, qtbot):
    other, deleted = make_run("kept"), make_run(HOSTILE)
    studio.dispatcher.begin()
    page = make_page()
    page.list.select(deleted)
    page.list.actions_.by_key["delete"].trigger()
    dialog = question(qtbot)
    assert any(HOSTILE in label.text() for label in dialog.findChildren(QLabel))
    qtbot.mouseClick(dialog.buttons["cancel"], Qt.MouseButton.LeftButton)
    page.list.actions_.by_key["delete"].trigger()
    qtbot.mouseClick(question(qtbot).buttons["delete"], Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: names(page) == ["kept"], timeout=PATIENCE)
    assert [folder.name for folder in studio.home.runs.iterdir()] == [other]


def test_widths_are_saved_and_columns_groups_and_filter_as_a_view(make_page, make_run):
    make_run("one")
    make_run("two", step=4, outcome="stopped")
    column = make_page().list.model.column(Column.NAME)
    make_page().list.table.setColumnWidth(column, 321)
    run_list = make_page().list
    assert run_list.table.columnWidth(column) == 321
    run_list.show_columns(("name", "training.learning_rate", "validation_accuracy@at best"))
    run_list.group_by(("state",))
    run_list.filter.field.setText("name is two")
    run_list.columns.pin(1)
    run_list.saved_views.save("night", run_list._layout())
    run_list.apply(Layout())
    assert run_list.model.keys == DEFAULT_COLUMNS and run_list.model.rowCount() == 2
    reopened = make_page().list
    reopened.apply(reopened.saved_views.get("night"))
    assert reopened.model.keys == ("name", "training.learning_rate", "validation_accuracy@at best")
    assert (reopened.model.group_keys, reopened.columns.pinned) == (("state",), 1)
    assert reopened.model.rowCount() == 1 and reopened.columns.pinned_view.columns == 1
    assert read_layout({"columns": ["name", 3, "gone"], "widths": {"name": "x"}, "pinned": -4}) == (
        replace(Layout(), columns=("name",))
    )
    reopened.apply(Layout())


def test_settings_that_differ_become_columns(make_page, make_run):
    """As those of a search, of the listed runs alone."""
    for name, change in (
        ("slow", {"learning_rate": 1e-5}),
        ("fast", {"learning_rate": 1e-4}),
        ("other", {"seed": 7}),
    ):
        job = fake_worker.job(name)
        training = job.training.model_copy(update=change)
        make_run(name, job=job.model_copy(update={"training": training}))
    run_list = make_page().list

    def find() -> list[QAction]:
        actions = run_list.columns.menu(0).actions()
        return [action for action in actions if "di&ffer" in action.text()]

    run_list.filter.field.setText("name is not other")
    before = run_list.model.keys
    (action,) = find()
    action.trigger()
    assert run_list.model.keys == (*before, "training.learning_rate")
    assert not find(), "all have a column"
    run_list.apply(Layout())


def test_columns_share_the_width_and_are_hidden_in_small_windows(make_page, make_run, qtbot):
    make_run("one")
    page = make_page()
    table, model = page.list.table, page.list.model
    for width in (880, 1180):
        page.resize(width, 640)
        QApplication.processEvents()
        assert not table.horizontalScrollBar().isVisible(), width
    page.resize(1016, 640)  # the smallest window minus the navigation
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
    page.resize(500, 600)
    qtbot.waitUntil(lambda: table.isColumnHidden(section))
    page.resize(1300, 800)
    qtbot.waitUntil(lambda: not table.isColumnHidden(section))
    assert not page.list.columns.layout("", 0).widths, "only the user sets widths"
    page.resize(500, 600)
    qtbot.waitUntil(lambda: table.isColumnHidden(section))


def test_the_keyboard_selects_opens_renames_and_stars(make_page, studio, make_run, qtbot):
    """The table makes the first run the current row on focus, without selecting it."""
    runs = [make_run("one"), make_run("two")]
    page = make_page()
    table = page.list.table
    page.activateWindow()
    qtbot.waitUntil(page.isActiveWindow)
    for key in (Qt.Key.Key_Up, Qt.Key.Key_Down):
        page.list.search.setFocus()
        table.clearSelection()
        table.setFocus(Qt.FocusReason.TabFocusReason)
        assert not page.list.selected() and table.currentIndex().row() == 0
        qtbot.keyClick(table, key)
        (chosen,) = page.list.selected()
        assert page.list.model.find_row(chosen.id) == 0
    qtbot.keyClick(table, Qt.Key.Key_Down)
    (other,) = page.list.selected()
    assert {chosen.id, other.id} == set(runs)
    qtbot.keyClick(table, Qt.Key.Key_Return)
    assert page.run is not None and page.run.state.run_id == other.id
    # it renames and stars
    page.run.closed.emit()
    run_id = other.id
    table.setFocus()
    page.list.select(run_id)
    qtbot.keyClick(table, Qt.Key.Key_F2)
    editor = table.findChild(QWidget, "qt_editing_widget") or QApplication.focusWidget()
    assert editor is not None and editor is not table
    qtbot.keyClick(editor, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    qtbot.keyClicks(editor, "better")
    qtbot.keyClick(editor, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: "better" in names(page))
    assert read_run(studio, run_id).name == "better"
    qtbot.keyClick(table, Qt.Key.Key_T, Qt.KeyboardModifier.ControlModifier)
    qtbot.waitUntil(lambda: page.state.rows[run_id].star)
    qtbot.keyClick(table, Qt.Key.Key_Return)
    assert page.run is not None and page.run.state.run_id == run_id
    page.run.header.back.click()
    assert page.run is None
    assert [row.id for row in page.list.selected()] == [run_id]


def test_search_sentence_and_cell_menu_narrow_the_table(make_page, make_run, qtbot):
    make_run("apples")
    make_run("pears", step=4, outcome="stopped")
    page = make_page()
    line = page.list.filter
    line.field.setFocus()
    qtbot.keyClicks(line.field, "state is sto")
    qtbot.waitUntil(lambda: line.completer.popup().isVisible())
    qtbot.keyClick(line.completer.popup(), Qt.Key.Key_Down)
    qtbot.keyClick(line.completer.popup(), Qt.Key.Key_Return)
    assert line.field.text() == "state is stopped "
    assert names(page) == ["pears"]
    line.field.setText("stat is stopped")
    assert line.error.text() == "At “stat”: There is no field “stat”: did you mean “state”?"
    assert names(page) == ["pears"]  # unchanged by an invalid sentence
    line.field.setText("accuracy > 0.9")  # a metric that must be read first
    qtbot.waitUntil(lambda: names(page) == ["apples"])
    assert not line.error.isVisible()
    # search and cell menu
    line.field.clear()
    qtbot.waitUntil(lambda: len(names(page)) == 2)
    qtbot.keyClicks(page.list.search, "pear")
    assert names(page) == ["pears"]
    assert page.list.count_label.text() == "1 of 2"
    page.list.search.clear()
    qtbot.mouseClick(page.list.run_filter.group.button(2), Qt.MouseButton.LeftButton)
    assert names(page) == ["apples"]
    qtbot.mouseClick(page.list.run_filter.group.button(0), Qt.MouseButton.LeftButton)
    model, table = page.list.model, page.list.table
    cell = model.index(model.find_row("run1"), model.column(Column.STATE))
    page.list.select("run1")
    table.customContextMenuRequested.emit(table.visualRect(cell).center())
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    only, never = menu.actions()[:2]
    assert (only.text(), never.text()) == ("Only “State: stopped”", "Not “State: stopped”")
    never.trigger()
    menu.close()
    assert names(page) == ["apples"]
    assert page.list.filter.field.text() == "state is not stopped"
    page.list.filter.field.setText("pears")
    page.list.filter.add("state is stopped")
    assert page.list.filter.field.text() == "name contains pears and state is stopped"
    assert names(page) == ["pears"]


def test_actions_of_several_runs_say_why_they_are_disabled(make_page, make_run, qtbot):
    bare, finished = make_run("bare", step=2, outcome="stopped"), make_run("done")
    page = make_page()
    page.list.select(bare)
    actions = page.list.actions_.by_key
    keys = [action.shortcut().toString() for action in actions.values()]
    assert len(set(keys)) == len(keys) and "F2" in keys
    assert actions["resume"].isEnabled() and not actions["stop"].isEnabled()
    assert actions["stop"].toolTip() == "This run is not running."
    assert actions["explore"].toolTip() == "This run has no checkpoint yet."
    page.list.select(finished)
    assert actions["explore"].isEnabled() and not actions["resume"].isEnabled()
    page.list.table.selectAll()
    assert actions["open"].toolTip() == "Select a single run."
    assert actions["star"].isEnabled() and actions["resume"].isEnabled()  # for the runs that can
    page.list.table.customContextMenuRequested.emit(page.list.table.rect().center())
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu) and len(menu.actions()) > 10
    menu.close()
    page.list.table.clearSelection()
    assert not any(action.isEnabled() for action in actions.values())
    # several runs are tagged and archived
    make_run("three")
    page.state.read()
    qtbot.waitUntil(lambda: "three" in names(page))
    page.state.set_tags("run0", ["old"])
    qtbot.waitUntil(lambda: page.state.rows["run0"].tags == ("old",))
    page.list.select("run0")
    page.list._select("run1")
    page.list.actions_.by_key["tags"].trigger()
    dialog = question(qtbot)
    field = dialog.findChild(QLineEdit)
    assert field is not None and field.text() == ""
    qtbot.keyClicks(field, "paper, ward 7, paper")
    qtbot.mouseClick(dialog.buttons["save"], Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: page.state.rows["run0"].tags == ("paper", "ward 7", "old"))
    qtbot.waitUntil(lambda: page.state.rows["run1"].tags == ("paper", "ward 7"))
    page.list.actions_.by_key["archive"].trigger()
    qtbot.waitUntil(lambda: names(page) == ["three"])
    qtbot.mouseClick(page.list.run_filter.group.button(5), Qt.MouseButton.LeftButton)
    assert sorted(names(page)) == ["bare", "done"]
