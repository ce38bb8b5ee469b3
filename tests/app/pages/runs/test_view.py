import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QKeySequence
from PySide6.QtWidgets import QApplication, QLabel, QMenu, QWidget
from pytestqt.modeltest import ModelTester
from pytestqt.qtbot import QtBot

from app.pages.runs.rows import RunRow
from app.pages.runs.run.checkpoints_tab import CheckpointTable
from app.pages.runs.run.view import RunView
from app.pages.runs.table import ROW, Column
from app.pages.runs.view import RunsPage
from app.studio import Studio
from app.theme import Choice
from app.widgets.dialogs import Question
from app.widgets.form import SpecForm
from engine.atomic_write import MANIFEST
from engine.messages.events import Branched, Prepared, Saved, Started, measured
from engine.record.metrics import add_metrics
from engine.record.runs import run as find
from engine.runs.folder import RunFolder
from engine.spec.changes import changes
from tests.app.accessible import assert_accessible
from tests.app.pages.runs.conftest import MakeRun
from tests.engine.runs import fake_worker

HOSTILE = '<img src="file:///CANARY.png"><b>x</b>&amp; R&D'
PATIENCE = 20_000  # ms


@pytest.fixture
def page(studio: Studio, qtbot: QtBot) -> Callable[[], RunsPage]:
    """Show the page of runs; the table is read."""
    shown: list[RunsPage] = []

    def show() -> RunsPage:
        made = RunsPage(studio)
        shown.append(made)
        qtbot.addWidget(made)
        made.resize(1180, 760)
        with qtbot.waitExposed(made):
            made.show()
        made.arrive(None)
        qtbot.waitUntil(lambda: made.state.is_listed)
        return made

    return show


def names(page: RunsPage) -> list[str]:
    model = page.list.table.model()
    return [model.index(n, Column.NAME).data() for n in range(model.rowCount())]


def open_run(page: RunsPage, run_id: str, qtbot: QtBot) -> RunView:
    page.arrive({"run": run_id})
    view = page.run
    assert view is not None
    qtbot.waitUntil(lambda: view.state.row is not None and bool(view.facts.job.toPlainText()))
    qtbot.waitUntil(lambda: not view.charts.is_filling())
    return view


def question(qtbot: QtBot) -> Question:
    qtbot.waitUntil(lambda: isinstance(QApplication.activeModalWidget(), Question))
    found = QApplication.activeModalWidget()
    assert isinstance(found, Question)
    return found


def row_of(studio: Studio, run_id: str) -> Any:
    with studio.record.read() as session:
        return find(session, run_id)


# ── the table ────────────────────────────────────────────────────────────────────────────────


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
    acts = shown.list.acts
    assert acts["resume"].isEnabled() and not acts["stop"].isEnabled()
    assert acts["stop"].toolTip() == "It is not running."
    assert acts["inside"].toolTip() == "It has not saved a checkpoint yet."
    shown.list.select(finished)
    assert acts["inside"].isEnabled() and not acts["resume"].isEnabled()
    shown.list.table.selectAll()
    assert acts["open"].toolTip() == "Select one run only."
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
    shown.list.acts["delete"].trigger()
    asked = question(qtbot)
    assert any(HOSTILE in label.text() for label in asked.findChildren(QLabel))
    qtbot.mouseClick(asked.buttons["cancel"], Qt.MouseButton.LeftButton)
    shown.list.acts["delete"].trigger()
    qtbot.mouseClick(question(qtbot).buttons["delete"], Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: names(shown) == ["kept"], timeout=PATIENCE)
    assert [folder.name for folder in studio.home.runs.iterdir()] == [kept]


def test_the_widths_of_the_columns_are_remembered(
    page: Callable[[], RunsPage], make_run: MakeRun, studio: Studio
) -> None:
    make_run("one")
    page().list.table.setColumnWidth(Column.NAME, 321)
    assert page().list.table.columnWidth(Column.NAME) == 321


def test_a_run_folder_that_is_dropped_is_taken_over(
    page: Callable[[], RunsPage], studio: Studio, qtbot: QtBot, tmp_path: Path
) -> None:
    from engine.runs.folder import RunFolder

    folder = RunFolder.create(tmp_path / "elsewhere", fake_worker.job("from afar"))
    studio.dispatcher.begin()
    shown = page()
    assert not shown.accept_drop([tmp_path])
    assert shown.accept_drop([folder.path])
    qtbot.waitUntil(lambda: names(shown) == ["from afar"], timeout=PATIENCE)


# ── one run ──────────────────────────────────────────────────────────────────────────────────


def test_a_finished_run_shows_its_curves_and_what_to_do_next(
    page: Callable[[], RunsPage], studio: Studio, make_run: MakeRun, qtbot: QtBot
) -> None:
    run_id = make_run("done")
    view = open_run(page(), run_id, qtbot)
    assert view.name.whole() == "done"
    assert "step 20 of 20" in view.pace.text()
    assert "best dev accuracy: 95.0 %" in view.pace.text()
    loss = view.charts.loss.series("training")
    assert loss.values.tolist() == [2 / step for step in range(1, 21)]
    assert len(view.charts.dev.series("dev accuracy")) == 4
    assert view.stop.isHidden() and view.resume.isHidden() and view.banner.isHidden()
    best = studio.home.runs / run_id / "checkpoints" / "step-00000005"
    for button, target in (
        (view.inside, ["explore", best]),
        (view.use, ["train", {"model": best}]),
    ):
        with qtbot.waitSignal(studio.go) as gone:
            qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
        assert gone.args == target


def test_a_failed_run_says_what_is_wrong_and_goes_on_from_its_checkpoint(
    page: Callable[[], RunsPage],
    studio: Studio,
    make_run: MakeRun,
    qtbot: QtBot,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run_id = make_run("broken", upto=7, outcome="failed", problem="Memory ran out.")
    view = open_run(page(), run_id, qtbot)
    banner = view.banner
    assert not banner.isHidden()
    assert (banner.problem.text(), banner.advice.text()) == (
        "Memory ran out.",
        "Take a smaller batch.",
    )
    assert banner.details.isHidden()
    qtbot.mouseClick(banner.open, Qt.MouseButton.LeftButton)
    assert "Traceback: in loop.py" in banner.details.toPlainText()
    assert not banner.details.isHidden()
    qtbot.mouseClick(banner.copy, Qt.MouseButton.LeftButton)
    assert QGuiApplication.clipboard().text().startswith("Memory ran out.\nTake a smaller batch.")
    assert banner.resume.text() == "&Go on from step 5"
    wished: list[str] = []
    monkeypatch.setattr(studio.dispatcher, "resume", wished.append)
    qtbot.mouseClick(banner.resume, Qt.MouseButton.LeftButton)
    assert wished == [run_id]


def test_a_run_that_waits_for_room_says_so_and_needs_no_click(
    page: Callable[[], RunsPage],
    studio: Studio,
    make_run: MakeRun,
    qtbot: QtBot,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run_id = make_run("full", upto=7, outcome=None)
    monkeypatch.setattr("app.pages.runs.run.state.SILENCE", 0)
    with studio.record.session() as session:
        found = find(session, run_id)
        assert found is not None
        found.state, found.problem, found.advice = "paused", "The disk is full.", "Free 3 MB."
    view = open_run(page(), run_id, qtbot)
    assert not view.banner.isHidden() and view.banner.resume.isHidden()
    assert view.banner.problem.text() == "The disk is full."
    assert view.stop.isEnabled() and not view.stop.isHidden()
    assert view.end_now.isHidden()  # it is silent for a reason


def test_a_loss_that_is_no_number_is_a_gap_with_a_mark(
    page: Callable[[], RunsPage], make_run: MakeRun, qtbot: QtBot
) -> None:
    run_id = make_run("nan", upto=10, outcome="failed", problem="NaN.", not_finite=[4, 5])
    view = open_run(page(), run_id, qtbot)
    values = view.charts.loss.series("training").values.tolist()
    assert [n + 1 for n, value in enumerate(values) if math.isnan(value)] == [4, 5]
    assert view.charts.not_finite.text() == "The loss was not a number at step 4, 5."
    assert [mark.value() for mark in view.charts.marks] == [4, 5]


def test_new_points_are_drawn_as_they_come(
    page: Callable[[], RunsPage], studio: Studio, make_run: MakeRun, qtbot: QtBot
) -> None:
    run_id = make_run("live", upto=4, outcome=None)
    view = open_run(page(), run_id, qtbot)
    studio.dispatcher.measured.emit(
        run_id,
        [
            measured("loss", 5, 0.4),
            measured("validation_loss", 5, 0.6),
            measured("validation_f1_macro", 5, 0.5),
            measured("tokens_per_second", 5, 1234),
            measured("something_new", 5, 1),
        ],
    )
    charts = view.charts
    assert charts.loss.series("training").steps.tolist()[-1] == 5
    assert charts.loss.series("validation").values.tolist() == [0.6]
    assert charts.dev.names() == ["dev macro F1"]
    assert charts.last_speed() == 1234
    with qtbot.waitSignal(charts.rate.looked_at, raising=False, timeout=1):
        charts.loss.looked_at.emit(3.0)  # one crosshair for all: no error where there is no point


def test_fifty_thousand_points_open_without_holding_the_window(
    page: Callable[[], RunsPage], studio: Studio, make_run: MakeRun, qtbot: QtBot
) -> None:
    run_id = make_run("long", upto=1)
    steps = range(1, 50_001)
    with studio.record.session() as session:
        for name in ("loss", "gradient_norm", "tokens_per_second"):
            add_metrics(session, run_id, [measured(name, s, 1 + math.sin(s)) for s in steps])
    shown = page()
    shown.arrive(run_id)  # the watchdog looks on
    view = shown.run
    assert view is not None
    qtbot.waitUntil(lambda: "training" in view.charts.loss.names(), timeout=PATIENCE)
    qtbot.waitUntil(lambda: not view.charts.is_filling(), timeout=PATIENCE)
    assert len(view.charts.loss.series("training")) == 50_000


def test_how_curves_are_drawn_is_kept_for_the_next_run(
    page: Callable[[], RunsPage], make_run: MakeRun, qtbot: QtBot
) -> None:
    first, second = make_run("one"), make_run("two")
    shown = page()
    view = open_run(shown, first, qtbot)
    assert view.charts.drawer.isHidden()
    qtbot.mouseClick(view.charts.open_drawer, Qt.MouseButton.LeftButton)
    qtbot.mouseClick(view.charts.smoothing.group.button(3), Qt.MouseButton.LeftButton)
    qtbot.mouseClick(view.charts.log, Qt.MouseButton.LeftButton)
    again = open_run(shown, second, qtbot)
    assert (again.charts.smoothing.choice(), again.charts.log.isChecked()) == (3, True)


def test_a_silent_worker_may_be_ended_at_once(
    page: Callable[[], RunsPage],
    studio: Studio,
    make_run: MakeRun,
    qtbot: QtBot,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run_id = make_run("hung", upto=4, outcome=None)
    with studio.record.session() as session:
        found = find(session, run_id)
        assert found is not None
        found.state = "stopping"
    view = open_run(page(), run_id, qtbot)
    assert view.end_now.isHidden() and not view.stop.isEnabled()
    monkeypatch.setattr("app.pages.runs.run.state.SILENCE", 0)
    qtbot.waitUntil(lambda: not view.end_now.isHidden())
    assert "no word from the worker for" in view.pace.text()
    wished: list[str] = []
    monkeypatch.setattr(studio.dispatcher, "end_now", wished.append)
    qtbot.mouseClick(view.end_now, Qt.MouseButton.LeftButton)
    assert wished == [run_id]


def test_checkpoints_can_be_looked_into_and_started_from(
    page: Callable[[], RunsPage], make_run: MakeRun, qtbot: QtBot
) -> None:
    shown = page()
    view = open_run(shown, make_run("one"), qtbot)
    tab = view.checkpoints
    qtbot.waitUntil(lambda: tab.model.rowCount() == 4)
    marks = [tab.model.index(row, 1).data() for row in range(4)]
    assert marks == ["last", "last", "", "best"]
    assert tab.sum.text().startswith("4 checkpoint(s), ")
    assert tab.sum.text().endswith("in all. The best one and the last 2 stay.")
    chosen = tab.chosen()
    assert chosen is not None and chosen.name == "step-00000005"  # the best one to begin with
    with qtbot.waitSignal(tab.use_wanted) as wanted:
        qtbot.mouseClick(tab.use, Qt.MouseButton.LeftButton)
    assert wanted.args == [chosen]
    without = open_run(shown, make_run("two", upto=2, outcome="stopped"), qtbot)
    assert not without.checkpoints.none.isHidden() and not without.checkpoints.use.isEnabled()


def test_a_checkpoint_goes_to_the_trash_and_comes_back(
    page: Callable[[], RunsPage],
    studio: Studio,
    make_run: MakeRun,
    qtbot: QtBot,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setattr("app.trash.move_to_trash", lambda folder: folder.rename(tmp_path / "gone"))
    offered: list[Callable[[], None]] = []
    monkeypatch.setattr(studio.notices, "say", lambda text, action, act: offered.append(act))
    view = open_run(page(), make_run("one", upto=18, outcome="stopped"), qtbot)
    tab = view.checkpoints
    qtbot.waitUntil(lambda: tab.model.rowCount() == 3)
    qtbot.mouseClick(tab.delete, Qt.MouseButton.LeftButton)  # the best one, of step 5
    qtbot.waitUntil(lambda: [s.step for s in tab.model.saved] == [15, 10])
    offered.pop()()
    qtbot.waitUntil(lambda: [(s.step, s.best) for s in tab.model.saved] == [
        (15, False), (10, False), (5, True)
    ])  # fmt: skip

    tab.table.selectRow(0)
    qtbot.mouseClick(tab.delete, Qt.MouseButton.LeftButton)
    asked = question(qtbot)
    said = " ".join(label.text() for label in asked.findChildren(QLabel))
    assert "goes on from step 10 instead of 15" in said
    asked.buttons["delete"].click()
    qtbot.waitUntil(lambda: [s.step for s in tab.model.saved] == [10, 5])
    qtbot.waitUntil(lambda: view.resume.text() == "&Go on from step 10")


def test_a_branch_is_made_from_a_checkpoint_with_what_was_changed(
    page: Callable[[], RunsPage],
    studio: Studio,
    make_run: MakeRun,
    qtbot: QtBot,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run_id = make_run("one")
    view = open_run(page(), run_id, qtbot)
    tab = view.checkpoints
    qtbot.waitUntil(lambda: tab.model.rowCount() == 4)
    wished: list[Any] = []
    monkeypatch.setattr(studio.dispatcher, "branch", lambda *wish: wished.append(wish[:3]))
    qtbot.mouseClick(tab.branch, Qt.MouseButton.LeftButton)
    asked = question(qtbot)
    form = asked.findChild(SpecForm)
    said = [label.text() for label in asked.findChildren(QLabel)]
    assert "Nothing is changed: it will end with the same weights, bit for bit." in said
    form.set_value({"learning_rate": 3e-5})
    said = [label.text() for label in asked.findChildren(QLabel)]
    assert "Learning rate 3e-5 instead of 5e-5." in said
    asked.buttons["branch"].click()
    qtbot.waitUntil(lambda: bool(wished))
    name, step, job = wished[0]
    before = view.state.row.job
    assert (name, step, job.name) == (run_id, 5, "one, from step 5")
    assert [change.path for change in changes(before, job)] == ["training.learning_rate"]


def test_the_header_says_of_which_run_it_is_a_branch(
    page: Callable[[], RunsPage], studio: Studio, make_run: MakeRun, qtbot: QtBot
) -> None:
    plain, branch = make_run("plain"), make_run("other")
    with studio.record.session() as session:
        run = find(session, branch)
        assert run is not None
        told = Branched(run="plain", folder=Path("plain"), step=5, changes=("Seed 2 not 1",))
        run.remarks = ["One text was cut.", told.sentence()]
    view = open_run(page(), branch, qtbot)
    qtbot.waitUntil(lambda: not view.branched.isHidden())
    assert view.branched.text() == "Branched from “plain” at step 5; Seed 2 not 1."
    assert open_run(page(), plain, qtbot).branched.isHidden()


def test_the_certificate_is_shown_and_its_files_are_checked(
    page: Callable[[], RunsPage], studio: Studio, make_run: MakeRun, qtbot: QtBot
) -> None:
    run_id = make_run("one", upto=10, outcome="stopped")
    folder = RunFolder(studio.home.runs / run_id)
    conditions = {"processor": "A fast one", "device": "cpu", "threads": "2", "torch": "2.13.0"}
    ready = Prepared(steps=20, parameters=1, examples=1, device="cpu", threads=2)
    for first, last, found in ((5, 15, ("threads 1 → 2",)), (15, 20, ())):
        folder.append(Started(pid=1, step=first))
        update = {"step": first, "conditions": conditions, "differences": found}
        folder.append(ready.model_copy(update=update))
        folder.append(Saved(step=last, folder="x", weights="ab" * 32, optimiser="cd" * 32))
    view = open_run(page(), run_id, qtbot)
    view.tabs.setCurrentWidget(view.certificate)
    tab = view.certificate.made
    qtbot.waitUntil(lambda: bool(tab.verdict.text()))
    assert "may give weights that differ" in tab.verdict.text()
    assert tab.obstacles.text() == "From step 5 on: threads 1 → 2."
    assert (
        tab.facts.values["SHA-256 of the weights of step 20"].text() == f"{'ab' * 16}\n{'ab' * 16}"
    )
    stretches = [label.text() for label in tab.findChildren(QLabel) if "step" in label.text()]
    assert any(
        x.endswith("from step 5 up to 15, not bit for bit: threads 1 → 2.") for x in stretches
    )
    assert any(x.endswith("went on from step 15 up to 20, bit for bit.") for x in stretches)
    qtbot.mouseClick(tab.check, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: "is what was saved" in tab.files.text())
    (folder.checkpoint(5) / MANIFEST).write_text("{")
    qtbot.mouseClick(tab.check, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: "step-00000005: The manifest" in tab.files.text())
    qtbot.mouseClick(tab.copy, Qt.MouseButton.LeftButton)
    assert "Processor: A fast one" in QGuiApplication.clipboard().text()


def test_the_checkpoint_table_is_a_sound_model(
    page: Callable[[], RunsPage], make_run: MakeRun, qtbot: QtBot, qtmodeltester: ModelTester
) -> None:
    view = open_run(page(), make_run("one"), qtbot)
    qtbot.waitUntil(lambda: view.checkpoints.model.rowCount() == 4)
    table = CheckpointTable()
    qtmodeltester.check(table)
    table.show_saved(view.checkpoints.model.saved)


def test_notes_are_kept_and_found(
    page: Callable[[], RunsPage], studio: Studio, make_run: MakeRun, qtbot: QtBot
) -> None:
    run_id = make_run("one")
    shown = page()
    view = open_run(shown, run_id, qtbot)
    view.facts.notes.setPlainText(f"remember {HOSTILE}")
    shown.show_all()
    qtbot.waitUntil(lambda: row_of(studio, run_id).notes == f"remember {HOSTILE}")
    qtbot.waitUntil(lambda: bool(shown.state.rows[run_id].notes))
    qtbot.keyClicks(shown.list.search, "remember")
    assert names(shown) == ["one"]
    assert open_run(shown, run_id, qtbot).facts.notes.toPlainText() == f"remember {HOSTILE}"


def test_what_was_read_before_is_in_the_log(
    page: Callable[[], RunsPage], make_run: MakeRun, qtbot: QtBot
) -> None:
    view = open_run(page(), make_run("one"), qtbot)
    qtbot.waitUntil(lambda: "2 texts were cut" in view.state.log)
    view.tabs.setCurrentWidget(view.log)
    assert view.log.made.text.toPlainText() == view.state.log


def test_the_log_follows_only_for_those_who_are_at_its_end(
    page: Callable[[], RunsPage], studio: Studio, make_run: MakeRun, qtbot: QtBot
) -> None:
    run_id = make_run("one")
    view = open_run(page(), run_id, qtbot)
    log = studio.home.runs / run_id / "worker.log"
    log.write_text("\n".join(f"line {n}" for n in range(500)))
    view.tabs.setCurrentWidget(view.log)
    text = view.log.made.text
    qtbot.waitUntil(lambda: "line 499" in text.toPlainText())
    bar = text.verticalScrollBar()
    assert bar.value() == bar.maximum()
    bar.setValue(100)
    log.write_text("\n".join(f"line {n}" for n in range(600)))
    qtbot.waitUntil(lambda: "line 599" in text.toPlainText())
    assert bar.value() == 100


def test_a_run_made_by_a_name_that_nobody_knows_leads_back_to_all(
    page: Callable[[], RunsPage], make_run: MakeRun, qtbot: QtBot
) -> None:
    make_run("one")
    shown = page()
    shown.arrive({"run": "gone"})
    qtbot.waitUntil(lambda: shown.run is None)
    assert names(shown) == ["one"]


def test_names_with_markup_are_shown_as_they_are(
    page: Callable[[], RunsPage], studio: Studio, make_run: MakeRun, qtbot: QtBot
) -> None:
    run_id = make_run(HOSTILE, upto=7, outcome="failed", problem=f"Wrong: {HOSTILE}")
    shown = page()
    assert names(shown) == [HOSTILE]
    view = open_run(shown, run_id, qtbot)
    assert view.name.whole() == HOSTILE
    assert view.banner.problem.text() == f"Wrong: {HOSTILE}"
    for label in shown.findChildren(QLabel):
        assert label.textFormat() == Qt.TextFormat.PlainText or HOSTILE not in label.text()
    tip = shown.list.model.index(0, Column.NAME).data(Qt.ItemDataRole.ToolTipRole)
    assert "<img" not in tip and "&lt;img" in tip
    view.more.click()
    menu = QApplication.activePopupWidget()
    assert isinstance(menu, QMenu)
    menu.close()


def test_everything_has_a_name(
    page: Callable[[], RunsPage], make_run: MakeRun, qtbot: QtBot
) -> None:
    run_id = make_run("one", upto=7, outcome="failed", problem="Wrong.")
    shown = page()
    assert_accessible(shown)
    open_run(shown, run_id, qtbot)
    assert_accessible(shown)


def test_keys_are_used_once(page: Callable[[], RunsPage], make_run: MakeRun, qtbot: QtBot) -> None:
    make_run("one")
    keys = [action.shortcut().toString() for action in page().list.acts.values()]
    assert len(set(keys)) == len(keys)
    assert QKeySequence("F2").toString() in keys


# ── with a worker ────────────────────────────────────────────────────────────────────────────


def test_a_run_is_followed_stopped_and_gone_on_with(
    page: Callable[[], RunsPage], studio: Studio, workers: None, qtbot: QtBot
) -> None:
    studio.dispatcher.begin()
    shown = page()
    run_id = studio.dispatcher.start(fake_worker.job("long"))
    view = open_run(shown, run_id, qtbot)

    def state() -> str:
        return view.state.row.state if view.state.row is not None else ""

    qtbot.waitUntil(lambda: state() == "running" and view.state.row.step == 3, timeout=PATIENCE)  # type: ignore[union-attr]
    assert not view.stop.isHidden()
    qtbot.mouseClick(view.stop, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: state() == "stopped", timeout=PATIENCE)
    assert view.resume.text() == "&Go on from step 3"
    qtbot.mouseClick(view.resume, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: state() == "running", timeout=PATIENCE)
    (studio.home.runs / run_id / "do").write_text("go on")
    qtbot.waitUntil(lambda: state() == "finished", timeout=PATIENCE)
    qtbot.waitUntil(lambda: len(view.charts.loss.series("training")) == 6)
    qtbot.waitUntil(lambda: view.checkpoints.model.rowCount() >= 3)
    assert not view.inside.isHidden() and view.inside.isEnabled()


def test_a_run_that_dies_shows_why_and_the_end_of_its_log(
    page: Callable[[], RunsPage], studio: Studio, workers: None, qtbot: QtBot
) -> None:
    studio.dispatcher.begin()
    shown = page()
    run_id = studio.dispatcher.start(fake_worker.job("long"))
    view = open_run(shown, run_id, qtbot)
    folder = studio.home.runs / run_id
    checkpoint = folder / "checkpoints" / "step-00000002"
    qtbot.waitUntil(checkpoint.is_dir, timeout=PATIENCE)
    (folder / "do").write_text("die")
    qtbot.waitUntil(view.banner.isVisible, timeout=PATIENCE)
    assert "signal 9" in view.banner.problem.text()
    assert "worker log of long" in view.banner.details.toPlainText()
    assert view.banner.resume.text() == "&Go on from step 2"


def test_both_pages_draw_themselves_in_both_themes(
    page: Callable[[], RunsPage],
    make_run: MakeRun,
    qtbot: QtBot,
    looks: Callable[[Choice], None],
    screen: Any,
) -> None:
    run_id = make_run("one", upto=7, outcome="failed", problem="Memory ran out.", not_finite=[3])
    shown = page()
    themes: tuple[Choice, ...] = ("light", "dark")
    for theme in themes:
        looks(theme)
        shown.show_all()
        assert isinstance(shown.list.table.model().index(0, 0).data(ROW), RunRow)
        screen(shown, f"runs-list-{theme}")
        view = open_run(shown, run_id, qtbot)
        for tab in range(view.tabs.count()):
            view.tabs.setCurrentIndex(tab)
            screen(shown, f"run-{tab}-{theme}")
