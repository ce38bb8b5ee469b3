"""The curves of a run."""

import math

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QScrollArea

from app.widgets.charts import figure
from engine.messages.events import measured
from engine.record.metrics import add_metrics
from tests.app.pages.runs.pages import PATIENCE, open_run
from tests.often import times


@times(10_000, 50_000)
def test_many_points_do_not_block_the_window(make_page, studio, make_run, qtbot, count):
    run_id = make_run("long", step=1)
    steps = range(1, count + 1)
    with studio.record.session() as session:
        for name in ("loss", "gradient_norm", "tokens_per_second"):
            add_metrics(session, run_id, [measured(name, s, 1 + math.sin(s)) for s in steps])
    page = make_page()
    page.arrive(run_id)  # under the watchdog
    view = page.run
    qtbot.waitUntil(lambda: "training" in view.charts.loss.names(), timeout=PATIENCE)
    qtbot.waitUntil(lambda: not view.charts.is_filling(), timeout=PATIENCE)
    assert len(view.charts.loss.series("training")) == count


def test_curves_have_marks_grow_fit_the_window_and_are_saved(make_page, studio, make_run, qtbot):
    page = make_page()
    run_id = make_run("nan", step=10, outcome="failed", problem="NaN.", not_finite=[4, 5])
    view = open_run(page, run_id, qtbot)
    values = view.charts.loss.series("training").values.tolist()
    assert [n + 1 for n, value in enumerate(values) if math.isnan(value)] == [4, 5]
    assert view.charts.not_finite.text() == "The loss was not a number (NaN) at step 4, 5."
    assert [marker.x for marker in view.charts.loss.markers] == [4, 5]
    # new points are drawn as they arrive
    run_id = make_run("live", step=4, outcome=None)
    view = open_run(page, run_id, qtbot)
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
    assert charts.validation.names() == ["macro F1"]
    assert charts.last_speed() == 1234
    with qtbot.waitSignal(charts.rate.step_hovered, raising=False, timeout=1):
        charts.loss.step_hovered.emit(3.0)  # one crosshair for all charts, with points or without
    # no curve is clipped in a short window: advice, alerts and machine load take their space
    view.tabs.setCurrentWidget(view.charts)
    page.resize(1000, 420)
    for curve in view.charts.curves():
        qtbot.waitUntil(lambda c=curve: c.height() >= c.minimumHeight() > 100)
        card = curve.parentWidget()
        assert card is not None and card.rect().contains(curve.geometry())
    page.resize(1000, 1200)
    (area,) = view.charts.findChildren(QScrollArea)
    qtbot.waitUntil(lambda: area.verticalScrollBar().maximum() == 0)
    # a curve is saved; its options apply to other runs
    assert view.charts.options.isHidden()
    qtbot.mouseClick(view.charts.open_options, Qt.MouseButton.LeftButton)
    qtbot.mouseClick(view.charts.options.smoothing.group.button(3), Qt.MouseButton.LeftButton)
    qtbot.mouseClick(view.charts.options.log, Qt.MouseButton.LeftButton)
    run_id = make_run("spiky", steps=80, step=80)
    with studio.record.session() as session:
        add_metrics(session, run_id, [measured("loss", 60, 9.0), measured("loss", 70, 0.9)])
    other = open_run(page, run_id, qtbot)
    qtbot.waitUntil(lambda: bool(other.charts.loss.markers), timeout=PATIENCE)
    assert other.charts.loss.markers[0].x == 60 and other.charts.loss.markers[0].tooltip
    assert other.charts.alerts.text().startswith("Loss spike at step 60")
    alert = other.charts._alerts[0]
    other.charts._on_alerts([alert] * 3)
    assert other.charts.alerts.text().endswith("× the running median.")
    other.charts._on_alerts([alert] * 5)
    assert other.charts.alerts.text().endswith("× the running median, and 2 more.")
    assert other.charts.options.smoothing.choice() == 3 and other.charts.options.log.isChecked()
    qtbot.waitUntil(lambda: not other.charts.is_filling())
    for curve in (other.charts.loss, other.charts.validation, other.charts.speed):
        drawing = curve.figure()
        assert drawing is not None and drawing.table is not None
        assert b"<svg" in figure.svg(drawing) and len(drawing.table().rows) > 3
        assert curve.figure_button is not None
    assert other.charts.rate.figure() is None  # nothing was measured
    # an empty chart has a reason
    for name, step, outcome, training, validation in (
        ("none", 0, "failed", "The run ended before its first step.", "before its first step"),
        ("some", 2, "stopped", "", "or it ended before the first evaluation"),
    ):
        charts = open_run(page, make_run(name, step=step, outcome=outcome), qtbot).charts
        assert validation in charts.validation.empty.text()
        assert charts.rate.empty.text() == (training or "This run did not record these values.")
        qtbot.waitUntil(lambda: charts.loss.empty.isHidden() == bool(step))  # noqa: B023
