"""The header of a run's page: state and buttons."""

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication

from app.pages.runs.columns import COLUMNS, Column
from engine.config.dataset import StoredData
from engine.messages.events import Branched
from engine.results.store import predictions_file
from engine.runs.folder import RunFolder
from tests.app.pages.runs.pages import change_run, open_run, read_run
from tests.engine.results.rows import class_rows
from tests.engine.runs import fake_worker


def test_a_finished_run_shows_curves_and_others_their_origin(make_page, studio, make_run, qtbot):
    page = make_page()
    run_id = make_run("done")
    view = open_run(page, run_id, qtbot)
    assert view.header.name.full_text() == "done"
    assert "Step 20 of 20" in view.header.status.full_text()
    qtbot.waitUntil(lambda: view.state.further.metric is not None)
    best = "Best validation accuracy 95.0 %, macro F1 90.0 % (step 20)"
    assert view.header.status.full_text().endswith(best)
    neglecting = make_run("neglecting")
    results = RunFolder(read_run(studio, neglecting).folder).results
    class_rows(["bad", "good"], ["bad", "bad"]).write(predictions_file(results, "validation"))
    view = open_run(page, neglecting, qtbot)
    scored = best.replace("(step", "on 2 validation row(s) (step")
    missing = f"{scored} · 1 class(es) never predicted: “good”"
    qtbot.waitUntil(lambda: view.header.status.full_text().endswith(missing))
    view = open_run(page, run_id, qtbot)
    loss = view.charts.loss.series("training")
    assert loss.values.tolist() == [2 / step for step in range(1, 21)]
    assert len(view.charts.validation.series("accuracy")) == 4
    assert view.header.stop.isHidden() and view.header.resume.isHidden() and view.banner.isHidden()
    best = studio.home.runs / run_id / "checkpoints" / "step-00000005"
    for button, target in (
        (view.header.explore, ["explore", best]),
        (view.header.fine_tune, ["train", {"model": best}]),
    ):
        with qtbot.waitSignal(studio.navigate) as signal:
            qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
        assert signal.args == target
    assert view.header.origin.isHidden()
    branch = make_run("other")
    branched = Branched(run="plain", folder=Path("plain"), step=5, changes=("Seed 2 not 1",))
    change_run(studio, branch, remarks=["One text was cut.", branched.sentence()])
    view = open_run(page, branch, qtbot)
    qtbot.waitUntil(lambda: not view.header.origin.isHidden())
    assert view.header.origin.text() == "Branched from “plain” at step 5; Seed 2 not 1."
    # header, table and status agree on a run
    run_id = make_run("live", steps=200, step=20, outcome=None)
    working = {"state": "running", "stage": "Evaluating", "stage_done": 13, "stage_total": 14}
    change_run(studio, run_id, **working)
    page.state.read()
    qtbot.waitUntil(lambda: run_id in page.state.rows)
    view = open_run(page, run_id, qtbot)
    assert "Evaluating: 13 of 14 · Step 20 of 200" in view.header.status.full_text()
    assert "About 3 min left" in view.header.status.full_text()  # at one step a second
    row = page.state.rows[run_id]
    assert COLUMNS[Column.TIME].text(row) == "3 min left"
    change_run(studio, run_id, state="paused", stage="")
    studio.dispatcher.run_changed.emit(run_id)
    qtbot.waitUntil(lambda: "Evaluating" not in view.header.status.full_text())
    assert "left" not in view.header.status.full_text()
    # a run is prepared with a newer version of its data
    films = studio.home.datasets / "films"
    (films / "1").mkdir(parents=True)
    job = fake_worker.job("first").model_copy(update={"data": StoredData(folder=films / "1")})
    view = open_run(page, make_run("first", job=job), qtbot)
    assert view.header.retrain.isHidden()
    (films / "3").mkdir()
    page.hide()
    page.show()
    assert view.header.retrain.isVisible(), "also after the Data page"
    other = open_run(page, make_run("second", job=job), qtbot)
    assert other.header.retrain.isVisible()
    assert other.header.retrain.accessibleName() == "Train again on version 3…"
    with qtbot.waitSignal(studio.navigate) as signal:
        qtbot.mouseClick(other.header.retrain, Qt.MouseButton.LeftButton)
    key, argument = signal.args
    assert key == "train" and argument["job"].data == StoredData(folder=films / "3")
    assert argument["job"].training == job.training


def test_a_failed_silent_or_waiting_run_is_explained(
    make_page, studio, make_run, qtbot, monkeypatch
):
    page = make_page()
    run_id = make_run("broken", step=7, outcome="failed", problem="Memory ran out.")
    view = open_run(page, run_id, qtbot)
    banner = view.banner
    assert not banner.isHidden()
    assert banner.problem.text() == "Memory ran out."
    assert banner.advice.text() == "Use a smaller batch size."
    assert banner.details.isHidden()
    qtbot.mouseClick(banner.details_button, Qt.MouseButton.LeftButton)
    assert "Traceback: in loop.py" in banner.details.toPlainText()
    assert not banner.details.isHidden()
    qtbot.mouseClick(banner.copy, Qt.MouseButton.LeftButton)
    copied = QGuiApplication.clipboard().text()
    assert copied.startswith("Memory ran out.\nUse a smaller batch size.")
    assert banner.resume.text() == "&Resume from step 5"
    calls: list[str] = []
    monkeypatch.setattr(studio.dispatcher, "resume", calls.append)
    qtbot.mouseClick(banner.resume, Qt.MouseButton.LeftButton)
    assert calls == [run_id]
    # a silent worker may be force-stopped
    run_id = make_run("hung", step=4, outcome=None)
    change_run(studio, run_id, state="stopping")
    view = open_run(page, run_id, qtbot)
    assert view.header.force_stop.isHidden() and not view.header.stop.isEnabled()
    monkeypatch.setattr("app.pages.runs.run.state.SILENCE_MS", 0)
    qtbot.waitUntil(lambda: not view.header.force_stop.isHidden())
    assert "No response from the training process for" in view.header.status.full_text()
    calls.clear()
    monkeypatch.setattr(studio.dispatcher, "force_stop", calls.append)
    qtbot.mouseClick(view.header.force_stop, Qt.MouseButton.LeftButton)
    assert calls == [run_id]
    # a run that waits for space resumes
    run_id = make_run("full", step=7, outcome=None)
    fields = {"state": "paused", "problem": "The disk is full.", "advice": "Free 3 MB."}
    change_run(studio, run_id, **fields)
    view = open_run(page, run_id, qtbot)
    assert not view.banner.isHidden() and view.banner.resume.isHidden()
    assert view.banner.problem.text() == "The disk is full."
    assert view.header.stop.isEnabled() and not view.header.stop.isHidden()
    assert view.header.force_stop.isHidden()  # its silence is expected
