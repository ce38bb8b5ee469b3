"""The checkpoints of a run, and branches from them."""

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel

from app.pages.runs.run.checkpoints_tab import REASON, SCORE
from app.widgets.forms.form import SpecForm
from app.widgets.help import HelpWindow
from engine.config.changes import changes
from tests.app.asking import question
from tests.app.pages.runs.pages import open_run


def test_checkpoints_are_explored_trained_further_and_trashed(
    make_page, studio, make_run, qtbot, monkeypatch, tmp_path
):
    page = make_page()
    run_id = make_run("one")
    view = open_run(page, run_id, qtbot)
    tab = view.checkpoints
    qtbot.waitUntil(lambda: tab.model.rowCount() == 4)
    marks = [tab.model.index(row, REASON).data() for row in range(4)]
    assert marks == ["one of the last 2", "one of the last 2", "", "best"]
    tab.table.resize(640, 300)  # as in the smallest window
    reason = tab.table.horizontalHeader().sectionSize(REASON)
    assert reason >= tab.table.sizeHintForColumn(REASON)
    heading = tab.model.headerData(SCORE, Qt.Orientation.Horizontal)
    assert heading == "Validation accuracy"
    scores = [tab.model.index(row, SCORE).data() for row in range(4)]
    assert scores == ["95.0 %", "93.3 %", "90.0 %", "80.0 %"]
    assert tab.total.text().startswith("4 checkpoint(s), ")
    assert tab.total.text().endswith("in total. The best checkpoint and the latest 2 are kept.")
    chosen = tab.chosen()
    assert chosen is not None and chosen.step == 5  # initially the best one
    with qtbot.waitSignal(studio.navigate) as signal:
        qtbot.mouseClick(tab.fine_tune, Qt.MouseButton.LeftButton)
    assert signal.args == ["train", {"model": chosen.folder}]
    other = open_run(page, make_run("two", step=2, outcome="stopped"), qtbot)
    assert not other.checkpoints.hint.isHidden() and not other.checkpoints.fine_tune.isEnabled()
    # a branch has the changed settings
    view = open_run(page, run_id, qtbot)
    tab = view.checkpoints
    qtbot.waitUntil(lambda: tab.model.rowCount() == 4)
    calls: list[Any] = []
    monkeypatch.setattr(studio.dispatcher, "branch", lambda *args: calls.append(args[:3]))
    qtbot.mouseClick(tab.branch, Qt.MouseButton.LeftButton)
    dialog = question(qtbot)
    form = dialog.findChild(SpecForm)
    texts = [label.text() for label in dialog.findChildren(QLabel)]
    assert "No setting is changed, so this branch will reproduce the original run exactly." in texts
    form.set_value({"learning_rate": 3e-5})
    texts = [label.text() for label in dialog.findChildren(QLabel)]
    assert "Learning rate 3e-5 instead of 5e-5." in texts
    rate = form.fields["learning_rate"].controls[0]
    rate.show()
    rate.setFocus()
    qtbot.keyClick(rate, Qt.Key.Key_F1)
    help_window = dialog.findChild(HelpWindow)
    assert help_window.view.shown() == "setting-TrainingSpec.learning_rate"
    help_window.close()
    dialog.buttons["branch"].click()
    qtbot.waitUntil(lambda: bool(calls))
    name, step, job = calls[0]
    before = view.state.row.job
    assert (name, step, job.name) == (run_id, 5, "one, from step 5")
    assert [change.path for change in changes(before, job)] == ["training.learning_rate"]
    # a checkpoint is trashed
    monkeypatch.setattr("app.trash.move_to_trash", lambda folder: folder.rename(tmp_path / "gone"))
    undos: list[Callable[[], None]] = []
    monkeypatch.setattr(studio.notices, "info", lambda text, action, act: undos.append(act))
    view = open_run(page, make_run("three", step=18, outcome="stopped"), qtbot)
    tab = view.checkpoints
    qtbot.waitUntil(lambda: tab.model.rowCount() == 3)
    qtbot.mouseClick(tab.delete, Qt.MouseButton.LeftButton)  # the best one, of step 5
    qtbot.waitUntil(lambda: [s.step for s in tab.model.rows] == [15, 10])
    undos.pop()()
    qtbot.waitUntil(lambda: [(s.step, s.best) for s in tab.model.rows] == [
        (15, False), (10, False), (5, True)
    ])  # fmt: skip

    tab.table.selectRow(0)
    qtbot.mouseClick(tab.delete, Qt.MouseButton.LeftButton)
    dialog = question(qtbot)
    message = " ".join(label.text() for label in dialog.findChildren(QLabel))
    assert "resume from step 10 instead of step 15" in message
    dialog.buttons["delete"].click()
    qtbot.waitUntil(lambda: [s.step for s in tab.model.rows] == [10, 5])
    qtbot.waitUntil(lambda: view.header.resume.text() == "&Resume from step 10")
