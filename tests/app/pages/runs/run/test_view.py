"""The page of a run with a real worker."""

from PySide6.QtCore import Qt

from app.pages.runs.run.checkpoints_tab import CheckpointsTab
from app.widgets.results.picture import ResultPicture
from engine.runs.folder import RunFolder
from tests.app.alt_keys import assert_distinct_keys
from tests.app.pages.runs.pages import PATIENCE, open_run, read_run
from tests.engine.results.rows import class_rows
from tests.engine.runs import fake_worker


def test_a_run_is_followed_stopped_resumed_and_killed(make_page, studio, workers, qtbot):
    studio.dispatcher.begin()
    page = make_page()
    run_id = studio.dispatcher.start(fake_worker.job("long"))
    view = open_run(page, run_id, qtbot)

    def state() -> str:
        return view.state.row.state if view.state.row is not None else ""

    qtbot.waitUntil(lambda: state() == "running" and view.state.row.step == 3, timeout=PATIENCE)
    assert not view.header.stop.isHidden()
    qtbot.mouseClick(view.header.stop, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: state() == "stopped", timeout=PATIENCE)
    assert view.header.resume.text() == "&Resume from step 3"
    qtbot.mouseClick(view.header.resume, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: state() == "running", timeout=PATIENCE)
    (studio.home.runs / run_id / "do").write_text("die")
    qtbot.waitUntil(view.banner.isVisible, timeout=PATIENCE)
    assert "signal 9" in view.banner.problem.text()
    assert "worker log of long" in view.banner.details.toPlainText()
    assert view.banner.resume.text() == "&Resume from step 6"
    qtbot.waitUntil(lambda: len(view.charts.loss.series("training")) == 6)
    qtbot.waitUntil(lambda: view.checkpoints.model.rowCount() >= 3)
    assert not view.header.explore.isHidden() and view.header.explore.isEnabled()


def test_results_come_first_and_each_tab_has_its_alt_keys(make_page, make_run, studio, qtbot):
    run = make_run("Reviews")
    predictions = class_rows(["bad", "good"], ["bad", "bad"], text=["poor", "fine"])
    predictions.write(RunFolder(read_run(studio, run).folder).results / "validation.parquet")
    page = make_page()
    page.open(run)
    view = page.run
    assert not view.results.is_built, "building both would block the GUI thread twice as long"
    qtbot.waitUntil(lambda: view.results.is_built)
    assert view.tabs.currentWidget() is view.results
    qtbot.waitUntil(lambda: view.results.widget.rows.model.rowCount() == 2)
    assert view.results.widget.headline.score.full_text() == "Accuracy 50.0 % · Macro F1 33.3 %"
    view.results.widget.comparison.show()
    assert view.tabs.count() == 12
    for tab in range(view.tabs.count()):
        view.tabs.setCurrentIndex(tab)
        if view.tabs.isTabVisible(tab):
            assert_distinct_keys(view, ResultPicture, CheckpointsTab)
    # an unfinished run shows its curves first
    view = open_run(page, make_run("Reviews", step=3, outcome="failed"), qtbot)
    assert view.tabs.currentWidget() is view.charts
    assert not view.tabs.isTabVisible(view.tabs.indexOf(view.results))
