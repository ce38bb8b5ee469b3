"""Comparison of several runs: charts, tables and exports."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.stats
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog

import app.__main__
from app.pages.runs.columns import column_info
from app.pages.runs.compare.curves_tab import CurveStyle, chart_lines
from app.pages.runs.compare.parallel import Parallel, make_axis
from app.pages.runs.compare.scatter import make_scatter
from app.pages.runs.compare.scores_tab import score_columns
from app.pages.runs.compare.state import Curves, differing_paths, distinct_names, x_values
from app.pages.runs.compare.view import CompareView
from app.pages.runs.rows import RunRow, read_rows
from app.widgets.charts import figure
from engine.config.job import JobSpec
from engine.results.several import ComparedRun
from engine.runs.folder import RunFolder
from engine.runs.pace import read_pace
from tests.app.pages.runs.pages import HOSTILE
from tests.engine.runs import fake_worker


def with_training(name: str, **changes: object) -> JobSpec:
    job = fake_worker.job(name)
    return job.model_copy(update={"training": job.training.model_copy(update=changes)})


@pytest.fixture
def runs(make_run, studio) -> list[RunRow]:
    """Two rates with two seeds each; one failed early."""
    for number, (rate, seed) in enumerate(((1e-5, 1), (1e-5, 2), (1e-4, 1), (1e-4, 2))):
        more: dict[str, Any] = {"step": 7, "outcome": "failed"} if number == 3 else {}
        name = HOSTILE if number == 0 else f"run {number}"
        make_run(name, job=with_training(name, learning_rate=rate, seed=seed), **more)
    return sorted(read_rows(studio.record), key=lambda row: row.id)


@pytest.fixture
def comparison(make_page, runs, qtbot) -> CompareView:
    page = make_page()
    page.list.table.selectAll()
    page.list.actions_.by_key["compare"].trigger()
    view = page.comparison
    qtbot.waitUntil(lambda: view.curves.view.chart is not None)
    return view


def test_a_comparison_names_runs_by_their_differences(runs):
    for names, expected in [
        ("Night · 1e-4 · seed 1|Night · 3e-4 · seed 1", "1e-4|3e-4"),
        ("Night · 1e-4 · seed 1|Night · 1e-4 · seed 2", "seed 1|seed 2"),
        ("Night|Night · 1e-4", "Night|Night · 1e-4"),
        ("Night · a · end|Night · end", "a · end|end"),
        ("Night · a|Night · a", "Night · a|Night · a"),
        ("one|two", "one|two"),
        ("Night · a", "Night · a"),
    ]:
        rows = [replace(runs[0], name=name) for name in names.split("|")]
        assert distinct_names(rows) == expected.split("|")


def curves(runs: Sequence[RunRow]) -> Curves:
    steps = np.arange(1, 6)
    points = {row.id: (steps, np.linspace(n, n + 1, 5)) for n, row in enumerate(runs)}
    return Curves("loss", points)


def test_curves_have_groups_colours_and_axes(runs):
    style = CurveStyle("training.learning_rate", as_means=True)
    low, high = chart_lines(runs, curves(runs), "step", 1, style)
    assert low.name == "Learning rate 1e-5 (n = 2)"
    values = np.array([[0.0, 0.25, 0.5, 0.75, 1.0], [1.0, 1.25, 1.5, 1.75, 2.0]])
    mean, error = values.mean(axis=0), scipy.stats.sem(values)
    expected = scipy.stats.t.interval(0.95, 1, loc=mean, scale=error)
    assert low.low is not None and low.high is not None
    np.testing.assert_allclose(low.y, mean)
    np.testing.assert_allclose([low.low, low.high], np.maximum(expected, 0), rtol=1e-6)
    assert high.color != low.color
    style = CurveStyle("training.learning_rate", "training.seed")
    lines = chart_lines(runs, curves(runs), "step", 1, style)
    assert [(line.color, line.dash) for line in lines] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    by_run = chart_lines(runs, curves(runs), "step", 1, CurveStyle(""))
    assert [(line.color, line.dash) for line in by_run] == [(0, 0), (1, 0), (2, 0), (3, 0)]
    steps = np.array([1, 10, 20])
    np.testing.assert_allclose(x_values("epoch", runs[0], steps, None), steps * 32 / 99)
    pace = read_pace(RunFolder(runs[0].folder))
    np.testing.assert_array_equal(pace.steps, np.arange(1, 21))
    np.testing.assert_allclose(pace.seconds, np.arange(1, 21))  # one step in a second
    np.testing.assert_allclose(x_values("tokens", runs[0], steps, pace), 900.0 * steps)
    assert x_values("time", runs[0], steps, None) is None
    uncounted = replace(pace, token_steps=pace.token_steps[:0], tokens=pace.tokens[:0])
    assert x_values("tokens", runs[0], steps, uncounted) is None, "speed times time is not a count"


def test_a_single_run_is_not_compared_and_back_restores_the_view(make_page, runs, qtbot):
    page = make_page()
    page.list.select(runs[0].id)
    action = page.list.actions_.by_key["compare"]
    assert not action.isEnabled() and action.toolTip() == "Select at least two runs."
    assert not page.list.compare.isEnabled()
    page.compare(runs[:2])
    page.open(runs[0].id)
    page.run.closed.emit()
    assert page.run is None and page.comparison is not None
    assert page._stack.currentWidget() is page.comparison
    page.comparison.closed.emit()
    assert page.comparison is None and page._stack.currentIndex() == 0


def test_the_same_report_is_created_without_a_window(runs, tmp_path, capsys):
    folders = [str(row.folder) for row in runs]
    out = tmp_path / "comparison.pdf"
    assert app.__main__.main(["report", *folders, "--out", str(out)]) == 0
    assert "Saved as" in capsys.readouterr().out
    content = out.read_bytes()
    assert content.startswith(b"%PDF") and "Comparison of 4 runs".encode("utf-16-be") in content


def test_runs_are_compared_by_a_report_axes_curves_settings_and_figures(
    comparison, runs, qtbot, tmp_path
):
    path = tmp_path / "comparison.html"
    qtbot.mouseClick(comparison.report, Qt.MouseButton.LeftButton)
    dialog = comparison.window().findChild(QFileDialog)
    assert dialog is not None and dialog.nameFilters() == ["HTML (*.html)", "PDF (*.pdf)"]
    dialog.fileSelected.emit(str(path))
    dialog.close()
    assert not comparison.report.isEnabled()
    qtbot.waitUntil(lambda: not comparison.report_saver.is_busy, timeout=20_000)
    html = path.read_text(encoding="utf-8")
    assert "<h1>Comparison of 4 run" in html and "Learning rate" in html
    assert html.count("<img") == len({"loss", "validation_accuracy", "validation_f1_macro"})
    # every figure has its table and a point opens its run
    comparison.tabs.setCurrentWidget(comparison.parallel)
    comparison.tabs.setCurrentWidget(comparison.scatter)
    for saved in (
        comparison.curves.figure(),
        comparison.parallel.widget.view.figure(),
        comparison.scatter.widget.view.figure(),
    ):
        assert saved is not None and saved.table is not None
        assert figure.png(saved).startswith(b"\x89PNG")
        assert b"<svg" in figure.svg(saved) and figure.pdf(saved).startswith(b"%PDF")
        assert len(saved.table().rows) >= 4
        assert figure.csv_text(saved.table()).count("\n") > 4
    scatter = make_scatter(runs, "training.learning_rate", "best", "training.seed")
    assert scatter.missing == 0 and scatter.names == ("1", "2")
    assert make_scatter(runs, "validation_f1@last", "best", "").missing == 4
    # axes have several values and a brush selects runs
    axis = make_axis("training.learning_rate", runs)
    assert axis is not None and [label for _, label in axis.labels] == ["1e-5", "1e-4"]
    parallel = Parallel(runs, [axis], {axis.key: (0.5, 1.0)})
    assert [row.id for row in parallel.chosen_rows()] == ["run2", "run3"]
    comparison.tabs.setCurrentWidget(comparison.parallel)
    tab = comparison.parallel.widget
    view = tab.view
    view.setFocus()
    qtbot.keyClick(view, Qt.Key.Key_Up)
    assert len(view.plot.brushes) == 1
    qtbot.keyClick(view, Qt.Key.Key_Escape)
    assert not view.plot.brushes
    top, middle = QPoint(70, 46), QPoint(70, view.height() // 2)
    qtbot.mousePress(view, Qt.MouseButton.LeftButton, pos=top)
    qtbot.mouseMove(view, middle)
    qtbot.mouseRelease(view, Qt.MouseButton.LeftButton, pos=middle)
    assert len(view.plot.brushes) == 1 and tab.note.text().startswith("2 of 4 runs")
    comparison.tabs.setCurrentWidget(comparison.parallel)
    keys = comparison.parallel.widget.keys
    assert "training.learning_rate" in keys and "training.seed" in keys
    for key in keys:
        info = column_info(key)
        values = {repr(info.row_value(row)) for row in comparison.state.rows}
        assert len(values - {"None"}) > 1, key
    # curves have a chosen axis and a default metric
    comparison.tabs.setCurrentWidget(comparison.curves)
    tab = comparison.curves
    assert tab.metric_box.currentData() == "validation_accuracy"
    assert tab.view.chart is not None and len(tab.view.chart.lines) == 4
    tab.metric_box.setCurrentIndex(tab.metric_box.findData("loss"))
    tab.metric_box.activated.emit(tab.metric_box.currentIndex())
    qtbot.waitUntil(lambda: tab.view.chart is not None and "loss" in tab.view.chart.y.title)
    tab.axis_box.setCurrentIndex(tab.axis_box.findData("time"))
    tab.axis_box.activated.emit(3)
    qtbot.waitUntil(lambda: tab.view.chart is not None and tab.view.chart.x.title == "Minutes")
    ends = {line.key: float(line.x[-1]) for line in tab.view.chart.lines}
    assert ends["run0"] == pytest.approx(20 / 60) and ends["run3"] == pytest.approx(7 / 60)
    qtbot.keyClick(tab.view, Qt.Key.Key_Right)
    qtbot.keyClick(tab.view, Qt.Key.Key_Right)
    assert HOSTILE in tab.readout.text()
    tab.metric_box.clear()
    comparison.state.names_read.emit({"loss": 4, "validation_accuracy": 3, "validation_loss": 4})
    assert tab.metric_box.currentData() == "validation_loss"
    comparison.state.names_read.emit({"loss": 4, "validation_accuracy": 4, "validation_loss": 4})
    assert tab.metric_box.currentData() == "validation_loss", "the metric is kept"
    # settings that differ are listed for each run and copied
    assert differing_paths(runs) == ["training.learning_rate", "training.seed"]
    comparison.tabs.setCurrentWidget(comparison.settings)
    tab = comparison.settings.widget
    assert [tab.model.index(n, 0).data() for n in range(2)] == ["Learning rate", "Random seed"]
    tab.search.setText("seed")
    assert tab.model.rowCount() == 1
    tab.copy()
    copied = QGuiApplication.clipboard().text().splitlines()
    assert len(copied) == 2 and copied[1].startswith("Random seed\t")
    tab.search.clear()
    tab.differences_only.setChecked(False)
    assert tab.model.rowCount() > 30
    runs_state = comparison.state.runs
    for row in comparison.state.rows:
        runs_state.rename(row.id, f"Night · {row.job.training.seed} · {row.id}")
    qtbot.waitUntil(lambda: all("Night" in row.name for row in comparison.state.rows))
    comparison.tabs.setCurrentWidget(comparison.settings)
    model = comparison.settings.widget.model
    row = comparison.state.rows[0]
    title = model.headerData(1, Qt.Orientation.Horizontal)
    assert title == f"{row.job.training.seed}\n{row.id}"
    assert model.headerData(1, Qt.Orientation.Horizontal, Qt.ItemDataRole.ToolTipRole) == row.name
    comparison.tabs.setCurrentWidget(comparison.scatter)
    view = comparison.scatter.widget.view
    qtbot.keyClick(view, Qt.Key.Key_Right)
    with qtbot.waitSignal(comparison.state.runs.open_requested) as opened:
        qtbot.keyClick(view, Qt.Key.Key_Return)
    assert opened.args == [view.scatter.rows[0].id] if view.scatter else False


def test_scores_name_the_runs_by_what_differs():
    run = ComparedRun("a", "people · MiniLM · seed 44", Path("a"))
    name = score_columns({"a": "seed 44"})[0]
    assert name.text(SimpleNamespace(run=run)) == "seed 44"
    assert "MiniLM" in name.tooltip(SimpleNamespace(run=run, problem="", claim=""))
