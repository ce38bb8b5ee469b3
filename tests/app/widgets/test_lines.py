"""Many curves in one drawing."""

import numpy as np
import pyqtgraph
import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from app.widgets.lines import Line, LineChart, LinesView, peaks, ticks, whole_span


def test_peaks_keep_the_lowest_and_the_highest_of_each_stretch() -> None:
    x = np.arange(1000, dtype=np.float64)
    y = np.random.default_rng(1).normal(size=1000)
    y[500] = 50.0
    y[10:40] = np.nan
    at, values = peaks(x, y, 16)
    assert len(at) == 2 * (1000 // 16) + 1000 % 16
    assert np.nanmax(values) == 50.0 and at[np.nanargmax(values)] == 500
    assert np.nanmin(values) == np.nanmin(y)
    assert (np.diff(at) >= 0).all()
    assert np.isnan(values[2])  # a stretch without a number is a gap


def test_levels_end_where_they_are_short() -> None:
    line = Line("long", np.arange(100_000.0), np.sin(np.arange(100_000.0)))
    assert [len(x) for x, _ in line.levels][-1] < 2048
    span = whole_span(LineChart("t", "x", "y", (line,)))
    assert span.low == pytest.approx(-1.1, abs=0.01) and span.high == pytest.approx(1.1, abs=0.01)


@pytest.mark.parametrize(
    "ends, found",
    [((0, 1), [0, 0.2, 0.4, 0.6, 0.8, 1.0]), ((-3, 9), [-2, 0, 2, 4, 6, 8]), ((5, 5), [])],
)
def test_ticks_are_round(ends: tuple[float, float], found: list[float]) -> None:
    assert ticks(*ends) == pytest.approx(found)


def test_a_chart_is_zoomed_reset_and_read_by_keys(qtbot: QtBot) -> None:
    view = LinesView("curves")
    qtbot.addWidget(view)
    view.resize(500, 300)
    x = np.arange(1.0, 101.0)
    line = Line("one", x, x**2, key="run")
    logged = LineChart("t", "Step", "y", (line,), log=True)
    view.show_chart(logged)
    assert view.span.high == pytest.approx(4.2)  # decades, with a margin
    view.grab()
    with qtbot.waitSignal(view.pointed) as pointed:
        qtbot.keyClick(view, Qt.Key.Key_Right)
    assert pointed.args[1].startswith("one ")
    view.zoom(10, 20)
    assert (view.span.left, view.span.right) == (10, 20)
    view.show_chart(logged)  # new points keep the zoom
    assert view.span.left == 10
    qtbot.keyClick(view, Qt.Key.Key_Escape)
    assert view.span.left == 1
    view.show_chart(LineChart("t", "x", "y", ()))
    view.grab()


def test_long_curves_are_drawn_from_few_points(qtbot: QtBot, monkeypatch) -> None:
    """What a person sees of that, 50 frames a second, is measured by benchmarks/desk.py."""
    drawn: list[int] = []
    to_path = pyqtgraph.functions.arrayToQPath

    def counted(x, y, **more):
        drawn.append(len(x))
        return to_path(x, y, **more)

    monkeypatch.setattr(pyqtgraph.functions, "arrayToQPath", counted)
    view = LinesView("curves")
    qtbot.addWidget(view)
    view.resize(900, 500)
    x = np.arange(100_000.0)
    lines = tuple(Line(f"run {n}", x, np.sin(x / 500 + n), n) for n in range(3))
    view.show_chart(LineChart("t", "Step", "y", lines))
    view.grab()
    for place in range(5):
        view.zoom(place * 1000, 10_000 * (place + 1))
        view.grab()
    assert len(drawn) >= 6 * len(lines)
    assert max(drawn) <= 6 * 900  # points of one curve, for as many columns of pixels
