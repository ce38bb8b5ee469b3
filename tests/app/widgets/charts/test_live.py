"""Live curves: points, gaps, crosshair, legend and descriptions."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyqtgraph import AxisItem
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QImage, QPainter

from app.widgets.charts.chart import Marker
from app.widgets.charts.figure import csv_text
from app.widgets.charts.live import LiveChart
from app.widgets.charts.series import StepSeries
from app.widgets.charts.sparkline import paint_sparkline
from tests.app.accessible import assert_accessible
from tests.often import tries


@pytest.fixture
def curve(qtbot) -> LiveChart:
    chart = LiveChart("Loss")
    qtbot.addWidget(chart)
    chart.resize(600, 300)
    chart.show()
    return chart


def drawn_points(curve: LiveChart, name: str) -> tuple[np.ndarray, np.ndarray]:
    curve.draw_now()
    x, y = curve.plot.item(name).getOriginalDataset()
    return x, y


def test_points_are_drawn_added_and_replaced_after_a_resume(curve):
    curve.set_series("loss", [0, 1, 2], [3.0, None, 1.0])
    curve.append("loss", [3], [0.5])
    x, y = drawn_points(curve, "loss")
    assert x.tolist() == [0, 1, 2, 3]
    assert math.isnan(y[1]) and y[3] == 0.5, "a value that is not finite is a gap"
    curve.set_series("loss", [0, 10, 20, 30], [4.0, 3.0, 2.0, 1.0])
    curve.append("loss", [20, 30], [2.5, 1.5])
    assert curve.series("loss").values.tolist() == [4.0, 3.0, 2.5, 1.5]


def test_the_crosshair_shows_the_latest_values_at_its_step(qtbot, curve):
    curve.set_series("training", range(1, 101), [1 / step for step in range(1, 101)])
    curve.set_series("validation", [41, 81], [0.5, 0.25])
    curve.draw_now()

    def values() -> list[str]:
        return [entry.value for entry in curve.legend.entries]

    with qtbot.waitSignal(curve.step_hovered) as signal:
        curve.plot.hovered.emit(50.2)
    assert signal.args == [50.2]
    assert curve.readout.full_text() == "step 50"
    assert values() == ["0.0200", "0.5000 (step 41)"], "not the value of step 81"
    curve.plot.hovered.emit(40.0)
    assert values() == ["0.0250", "no value yet"]
    curve.plot.hovered.emit(float("nan"))
    assert values() == ["0.0100", "0.2500"], "the last values without a pointer"
    assert curve.readout.full_text() == ""


def test_a_single_series_is_read_out_in_the_heading(curve, qtbot):
    curve.set_series("loss", [0, 10, 20], [3.0, 2.0, 1.0])
    curve.draw_now()
    for step, text in ((11.0, "step 11: 2.0000 (step 10)"), (10.0, "step 10: 2.0000")):
        curve.plot.hovered.emit(step)
        assert curve.readout.full_text() == text
    curve.plot.hovered.emit(float("nan"))
    assert curve.readout.full_text() == "1.0000"
    curve.setFocus()
    for key, text in (
        (Qt.Key.Key_Left, "step 20: 1.0000"),
        (Qt.Key.Key_Left, "step 10: 2.0000"),
        (Qt.Key.Key_Right, "step 20: 1.0000"),
        (Qt.Key.Key_Right, "step 20: 1.0000"),
    ):
        qtbot.keyClick(curve, key)
        assert curve.readout.full_text() == text
    qtbot.keyClick(curve, Qt.Key.Key_Escape)
    assert curve.readout.full_text() == "1.0000"


@pytest.mark.parametrize("width", [320, 480, 900])
def test_legend_entries_fit_without_overlap(curve, width):
    curve.resize(width, 300)
    for name in ("accuracy", "F1", "macro F1", "micro F1", "weighted F1"):
        curve.set_series(name, [10, 20], [0.7, 0.8])
    curve.draw_now()
    curve.plot.hovered.emit(15.0)
    boxes = curve.legend.boxes()
    assert len(boxes) == 5 and all(box.right() <= curve.legend.width() for box in boxes)
    assert boxes[-1].bottom() <= curve.legend.height() + 1
    assert not any(a.intersects(b) for n, a in enumerate(boxes) for b in boxes[n + 1 :])
    lines = {box.top() for box in boxes}
    curve.plot.hovered.emit(float("nan"))
    assert {box.top() for box in curve.legend.boxes()} == lines, "entries do not move"


def test_curves_are_described_and_empty_ones_say_why(curve):
    assert curve.accessibleDescription() == "No values yet"
    curve.set_empty_text("The run ended before its first step.")
    curve.draw_now()
    assert curve.empty.isVisible() and not curve.plot.isVisible()
    assert curve.accessibleDescription() == "The run ended before its first step."
    curve.set_series("loss", [0, 1], [1.0, 0.5])
    curve.draw_now()
    assert curve.plot.isVisible() and not curve.empty.isVisible()
    names = [curve.plot.getAxis(side).labelText for side in ("left", "bottom")]
    assert names == ["Loss", "Step"]
    curve.set_series("loss", [0, 50, 60, 100], [0.7, 0.2, None, 0.3])
    curve.draw_now()
    text = curve.accessibleDescription()
    assert "from 0.7000 at step 0 to 0.3000 at step 100" in text
    assert "lowest 0.2000 at step 50" in text and "not finite" in text
    assert_accessible(curve)


def test_axes_have_ticks_omit_zero_on_a_log_scale_and_clip_outliers(curve):
    curve.set_series("loss", [0, 25_000], [0.25, 0.31])
    curve.draw_now()
    left, bottom = (curve.plot.getAxis(side) for side in ("left", "bottom"))
    (_, steps), *_ = bottom.tickValues(0.0, 25_500.0, 400)
    assert bottom.tickStrings(steps, 1.0, 1.0)[:3] == ["0", "5,000", "10,000"]
    assert left.tickStrings([0.25, 0.3, 2e-5, 2e6], 1.0, 0.05) == ["0.25", "0.3", "2e-5", "2.0 M"]
    curve.set_log(True)
    assert left.tickStrings([-3.0, 2.0], 1.0, 1.0) == ["0.001", "100"]
    curve.set_series("loss", [0, 1, 2, 3], [10.0, 0.0, 0.1, 0.01])
    curve.set_log(True)
    curve.draw_now()
    (low, high) = curve.plot.getViewBox().viewRange()[1]
    assert -2.5 < low < -1.9 and 0.9 < high < 1.5
    curve.set_log(False)
    curve.set_series("loss", range(200), [1e6, *([1.0, 2.0] * 100)][:200])
    curve.draw_now()
    assert curve.plot.getViewBox().viewRange()[1][1] > 1e5
    curve.set_clip(True)
    assert curve.plot.getViewBox().viewRange()[1][1] < 10


def test_the_saved_chart_matches_the_shown_one(curve):
    assert curve.figure() is None
    curve.set_series("loss", [0, 1, 2, 3], [4.0, 1.0, 1.0, 1.0])
    curve.set_smoothing(3)
    curve.set_markers([Marker(2, tooltip="spike")])
    curve.set_log(True)
    faint, line = curve.chart().lines
    assert faint.faint and faint.y.tolist() == [4, 1, 1, 1] and line.y[1] == 2.0
    assert curve.plot.item("loss").opts["logMode"] == [False, True]
    assert [marker.value() for marker in curve.plot._markers] == [2]
    span = curve.chart().span()
    assert curve.plot.span().low == pytest.approx(span.low)
    figure = curve.figure()
    assert figure is not None and figure.table is not None
    assert [row[:3] for row in figure.table().rows][4:6] == [("loss", 0, 2.5), ("loss", 1, 2.0)]


def test_series_differ_in_more_than_colour_and_markup_is_literal(curve):
    for number in range(4):
        curve.set_series(f"run {number}", [0, 1], [number, number])
    curve.draw_now()
    pens = [curve.plot.item(name).opts["pen"] for name in curve.names()]
    assert len({tuple(pen.dashPattern()) for pen in pens}) == 4
    assert [entry.name for entry in curve.legend.entries] == [f"run {n}" for n in range(4)]
    curve.remove("run 3")
    assert curve.names() == ["run 0", "run 1", "run 2"]
    for name in ("<b>one</b>", "<img src='file:///x'>"):
        curve.set_series(name, [0, 1], [0, 1])
    curve.draw_now()
    assert_accessible(curve)
    figure = curve.figure()
    assert figure is not None and figure.table is not None
    assert "<b>one</b>\t0.0\t0.0" in csv_text(figure.table(), "\t")


def test_a_step_window_follows_new_points_and_a_zoom_does_not(curve):
    curve.set_series("loss", range(100), [1.0] * 100)
    curve.draw_now()
    curve.plot.setXRange(10, 20)
    curve.plot.is_zoomed = True
    curve.append("loss", [100], [1.0])
    curve.draw_now()
    assert curve.plot.getViewBox().viewRange()[0][1] < 25
    curve.reset_view()
    assert curve.plot.getViewBox().viewRange()[0][1] > 99
    curve.set_series("loss", range(1000), [1.0] * 1000)
    curve.set_window(100)
    first, last = curve.plot.getViewBox().viewRange()[0]
    assert first == pytest.approx(899, abs=5) and last == pytest.approx(999, abs=5)


def test_a_long_curve_keeps_its_last_point_and_the_values_near_a_gap(curve):
    values = np.zeros(100_003)
    values[50_000:50_003] = 5.0, np.nan, -5.0
    values[-1] = 9.0
    curve.set_series("loss", np.arange(len(values)), values)
    for scale in (1, 1000):
        curve.draw_now()
        x, y = curve.plot.item("loss").getData()
        assert len(x) < 20_000
        assert {-5.0, 5.0} <= set(y)
        assert scale > 1 or (x[-1], y[-1]) == (100_002, 9.0)
        curve.plot.setXRange(50_000 - 1000, 50_000 + 1000)
        curve.plot.getViewBox().sigRangeChangedManually.emit(None)
        assert 1000 < len(curve.plot.item("loss").getData()[0]) < 2_200


def test_a_million_points_do_not_block_the_window(qtbot, curve):
    steps = np.arange(1_000_000)
    curve.set_series("loss", steps, np.sin(steps / 1e4))
    for number in range(5):
        curve.append("loss", [1_000_000 + number], [0.0])
        qtbot.wait(30)  # the watchdog fails if this blocks too long
    assert len(curve.series("loss")) == 1_000_005


def test_curves_follow_the_theme(curve, set_theme):
    curve.set_series("loss", [0, 1], [0.0, 1.0])
    curve.draw_now()
    line = curve.plot.item("loss")
    light = line.opts["pen"].color()
    assert line.opts["symbolBrush"] == light
    set_theme("dark")
    dark = line.opts["pen"].color()
    assert line.opts["symbolBrush"] == dark != light


def test_smoothing_is_the_mean_of_the_neighbours():
    series = StepSeries(range(7), [0, 0, 0, 7, 0, 0, 0])
    assert series.smooth(1).tolist() == series.values.tolist()
    assert series.smooth(3).tolist() == pytest.approx([0, 0, 7 / 3, 7 / 3, 7 / 3, 0, 0])
    gaps = StepSeries(range(5), [1.0, None, 3.0, None, 5.0])
    assert np.isnan(gaps.smooth(3)).tolist() == [False, True, False, True, False]
    assert gaps.point_at(2.4) == (2.0, 3.0) and gaps.point_at(-1) is None


@tries(40)
@given(st.lists(st.one_of(st.none(), st.floats(allow_nan=True, width=32)), max_size=60))
def test_any_numbers_make_a_series(values):
    series = StepSeries()
    for step, value in enumerate(values):
        series.extend([step], [value])
    assert len(series) == len(values)
    assert not np.isinf(series.values).any()
    assert len(series.smooth(5)) == len(values)


@pytest.mark.parametrize(
    "values", [[], [None], [math.nan, math.inf], [1.0], [1.0, 1.0], [0.0, None, 2.0] * 500]
)
def test_a_sparkline_takes_any_values(qapp, values):
    image = QImage(80, 24, QImage.Format.Format_ARGB32)
    image.fill(Qt.GlobalColor.white)
    blank = image.copy()
    painter = QPainter(image)
    paint_sparkline(painter, QRectF(QPointF(0, 0), image.size()), values)
    painter.end()
    finite = [v for v in values if v is not None and math.isfinite(v)]
    assert (image != blank) == bool(finite)


def test_a_small_chart_shows_two_labels_or_more_of_each_axis(curve, monkeypatch):
    """pyqtgraph leaves out those that reach beyond the axis."""
    drawn: dict[str, list[str]] = {}

    def note(axis: AxisItem, painter: QPainter, line: object, ticks: object, texts: list) -> None:
        drawn[axis.orientation] = [text for *_, text in texts]

    monkeypatch.setattr(AxisItem, "drawPicture", note)
    for values in ([1e-4, 5e-5, 7e-7], [1.0, 56.0, 3.0], [0.4, 0.68, 0.65], [4.0, 4.0, 4.0]):
        for size in ((260, 170), (300, 200), (800, 500)):
            curve.set_series("rate", [1, 76, 150], values)
            curve.draw_now()
            curve.resize(*size)
            curve.plot.grab()
            for side in ("left", "bottom"):
                curve.plot.getAxis(side).picture = None
                drawn[side] = []
            curve.plot.grab()
            assert len(drawn["left"]) > 1 < len(drawn["bottom"]), (values, size, drawn)


def test_a_chart_of_percentages_has_no_tick_above_100(curve):
    curve.set_percent(True)
    curve.set_series("accuracy", [1, 2, 3], [1.0, 1.0, 1.0])
    chart = curve.chart()
    ticks = chart.y.ticks(*chart.y.limits)
    assert len(ticks) > 1 and max(ticks) == 1.0, ticks


def test_labels_of_a_low_chart_do_not_overlap(curve):
    curve.set_series("loss", [1, 2], [1.1, 0.33])
    curve.draw_now()
    axis = curve.plot.getAxis("left")
    for size in range(20, 200):
        ((_, ticks),) = axis.tickValues(0.3, 1.1, size)
        span = 0.8 * (1 - 9 / size)
        assert len(ticks) == 2 or (ticks[1] - ticks[0]) * size >= 18 * span, (size, ticks)
