"""Charts: levels of detail, ticks, zoom, labels that never overlap."""

import numpy as np
import pyqtgraph
import pytest
from PySide6.QtCore import QRectF, Qt

from app.widgets.charts.chart import (
    Axis,
    Chart,
    Line,
    describe_series,
    log_ticks,
    peaks,
    percent_text,
    tick_text,
    ticks,
)
from app.widgets.charts.painting import Frame
from app.widgets.charts.view import ZoomChart
from app.widgets.text.labels import font as theme_font


def test_peaks_and_levels_of_detail_keep_the_extremes():
    x = np.arange(1000, dtype=np.float64)
    y = np.random.default_rng(1).normal(size=1000)
    y[500] = 50.0
    y[10:40] = np.nan
    positions, values = peaks(x, y, 16)
    assert len(positions) == 2 * (1000 // 16) + 1000 % 16
    assert np.nanmax(values) == 50.0 and positions[np.nanargmax(values)] == 500
    assert np.nanmin(values) == np.nanmin(y)
    assert (np.diff(positions) >= 0).all()
    assert np.isnan(values[2])  # a span without values is a gap
    line = Line("long", np.arange(100_000.0), np.sin(np.arange(100_000.0)))
    assert [len(x) for x, _ in line.levels][-1] < 2048
    span = Chart(Axis(), Axis(), (line,)).span()
    assert span.low == pytest.approx(-1.1, abs=0.01) and span.high == pytest.approx(1.1, abs=0.01)


def test_ticks_of_linear_and_logarithmic_axes_are_round():
    for bounds, expected in (
        ((0, 1), [0, 0.2, 0.4, 0.6, 0.8, 1.0]),
        ((-3, 9), [-2, 0, 2, 4, 6, 8]),
        ((5, 5), []),
    ):
        assert ticks(*bounds) == pytest.approx(expected)
    assert log_ticks(-5.2, 0.1) == [-5, -4, -3, -2, -1, 0]
    assert log_ticks(-20, 0, 5) == [-20, -15, -10, -5, 0]
    assert [10**tick for tick in log_ticks(-1.1, 0.1)] == pytest.approx([0.1, 0.2, 0.5, 1])
    assert [10**tick for tick in log_ticks(0.1, 0.2)] == pytest.approx([1.3, 1.4, 1.5])


def test_a_series_is_described_with_its_gaps():
    x = np.arange(0.0, 50.0, 10.0)
    text = describe_series("loss", x, np.array([3.0, np.nan, 1.0, np.nan, 2.0]))
    assert "from 3.0000 at step 0 to 2.0000 at step 40" in text
    assert "lowest 1.0000 at step 20" in text and "2 point(s) not finite" in text
    assert "no values yet" in describe_series("loss", x, np.full(5, np.nan))


def test_a_chart_is_zoomed_reset_and_read_by_keys(qtbot):
    view = ZoomChart("curves")
    qtbot.addWidget(view)
    view.resize(500, 300)
    x = np.arange(1.0, 101.0)
    line = Line("one", x, x**2, key="run")
    log_chart = Chart(Axis("Step"), Axis(log=True), (line,))
    view.show_chart(log_chart)
    assert view.span.high == pytest.approx(4.2)  # decades, with a margin
    view.grab()
    with qtbot.waitSignal(view.hovered) as signal:
        qtbot.keyClick(view, Qt.Key.Key_Right)
    assert signal.args[1].startswith("one ")
    view.zoom(10, 20)
    assert (view.span.left, view.span.right) == (10, 20)
    view.show_chart(log_chart)  # new points keep the zoom
    assert view.span.left == 10
    qtbot.keyClick(view, Qt.Key.Key_Escape)
    assert view.span.left == 1
    view.show_chart(Chart(Axis("x"), Axis()))
    view.grab()


def test_long_curves_are_drawn_from_few_points(qtbot, monkeypatch):
    """`python -m benchmarks runs list` measures the frame rate."""
    point_counts: list[int] = []
    to_path = pyqtgraph.functions.arrayToQPath

    def count_points(x, y, **options):
        point_counts.append(len(x))
        return to_path(x, y, **options)

    monkeypatch.setattr(pyqtgraph.functions, "arrayToQPath", count_points)
    view = ZoomChart("curves")
    qtbot.addWidget(view)
    view.resize(900, 500)
    x = np.arange(100_000.0)
    lines = tuple(Line(f"run {n}", x, np.sin(x / 500 + n), n) for n in range(3))
    view.show_chart(Chart(Axis("Step"), Axis(), lines))
    view.grab()
    for index in range(5):
        view.zoom(index * 1000, 10_000 * (index + 1))
        view.grab()
    assert len(point_counts) >= 6 * len(lines)
    assert max(point_counts) <= 6 * 900  # per curve, for 900 columns of pixels


def test_every_axis_has_round_ticks_whose_texts_differ(qtbot):
    """Whatever the range, the kind of axis, and the size of the chart."""
    rng, font = np.random.default_rng(0), theme_font("small")
    for _ in range(500):
        low = float(rng.choice([0.0, 0.95, 1e-9, -3.0, 4_400_000.0]))
        high = low + float(10 ** rng.uniform(-3 if low < 0 else 0 if low > 1 else -6, 5))
        decades = float(np.log10(max(low, 1e-9))), float(np.log10(abs(high)))
        for count in range(1, 9):
            marks = ticks(low, high, count)
            assert 2 <= len(marks) <= max(6, count + 1), (low, high, count)
            assert low - 1e-6 * (high - low) <= marks[0]
            assert marks[-1] <= high + 1e-6 * (high - low)
            step = marks[1] - marks[0]
            digit = step / 10.0 ** np.floor(np.log10(step) + 1e-6)
            assert min(abs(digit - n) for n in (1, 2, 5)) < 1e-2
            assert all(abs(mark / step - round(mark / step)) < 0.1 for mark in marks)
            whole = ticks(low, high, count, integer=True)
            assert all(mark == round(mark) for mark in whole)
            assert low < 0 or len(log_ticks(*decades, count)) > 1, (low, high, count)
            assert len(whole) >= min(2, np.floor(high) - np.ceil(low) + 1)
            assert (
                high < 1e-3 or len(log_ticks(np.log10(max(low, 1e-3)), np.log10(high), count)) > 1
            )
        text = percent_text if low in (0.0, 0.95) and high < 2 else tick_text
        x, y = Axis("x", (low, high), text=text), Axis("y", (low, high), text=text)
        for axis in (x, y):
            texts = axis.labels(axis.ticks(low, high))
            assert len(set(texts)) == len(texts), texts
        for width, height in ((200, 120), (420, 180), (900, 400)):
            frame = Frame(QRectF(0, 0, width, height), Chart(x, y), font)
            assert len(frame.x_ticks) > 1 < len(frame.y_ticks), (low, high, width, height)
    assert [percent_text(n) for n in (0.0, 0.2, 0.975, 1.0)] == ["0 %", "20 %", "97.5 %", "100 %"]
    assert [tick_text(n) for n in (0.0, 0.25, 12_000.0)] == ["0", "0.25", "12,000"]
    assert Axis().labels([4_405_000.0, 4_410_000.0]) == ["4,405,000", "4,410,000"]
