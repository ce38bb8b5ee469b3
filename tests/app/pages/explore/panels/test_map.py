"""Map of texts in the window."""

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtTest import QTest

from app.pages.explore.captions import source
from app.pages.explore.panels.map.points import PointsView
from app.pages.explore.panels.map.view import make_figure
from app.widgets.charts import figure as figures
from tests.app.accessible import assert_accessible

TEXTS = (
    *("the cat sat\tlabel 0", "a dog\tlabel 1", "on the mat .\tlabel 0"),
    *("a dog sat on a dog\tlabel 1", "the mat\tlabel 0", "unhappy dog\tlabel 1"),
)


@pytest.fixture
def view(qtbot, make_page, choose_texts, classifier, wait):
    page = make_page(classifier, size=(1016, 664))
    choose_texts(page, *TEXTS)
    page.bench.show_panel("map")
    view = page.bench.docks["map"].panel
    qtbot.mouseClick(view.bar.run, Qt.MouseButton.LeftButton)
    wait(lambda: len(view.points.points) == 6 and len(view._state.rows) == 6)
    view.page = page
    return view


def test_texts_are_projected_compared_and_selected(view, workers, wait, qtbot):
    """Five actions with the fixture's: the texts, the panel, Map, a layer, t-SNE."""
    rows = view.layers.rows.rows
    assert [row[0] for row in rows] == ["Embeddings", "Layer 1", "Layer 2", "Layer 3"]
    before = view.points.points.copy()
    view.layers.setFocus()
    view.layers.selectRow(1)
    wait(lambda: not view._state.work.is_running)
    assert workers.questions[-1].layer == 1 and view.layer_box.currentText() == "Layer 1"
    assert not np.array_equal(view.points.points, before)
    assert "of the variance" in view.note.text()
    view.method.setFocus()
    QTest.keyClick(view.method, Qt.Key.Key_Down)
    wait(lambda: view._state.answer.placed is not None)
    assert "t-SNE, axis 1" in view.note.text()
    assert view.points.legend == ["label 0", "label 1"]
    view._state.colour_by("error")
    assert set(view.points.categories) <= {"correct", "wrong"}
    figure = make_figure(view._state)
    assert figure.caption.endswith(source(view.page.state)) and len(figure.table().rows) == 6
    assert b"axis 2" in figures.svg(figure)
    assert_accessible(view)
    # points are selected by a lasso and by keys
    pixels = view.points.pixels()
    left, top = (pixels.min(0) - 8).astype(int).tolist()
    bottom = int(pixels[:, 1].max() + 8)
    middle = int(np.sort(pixels[:, 0])[2:4].mean())
    corners = [(left, top), (middle, top), (middle, bottom), (left, bottom)]
    points = [QPoint(*corner) for corner in corners]
    QTest.mousePress(view.points, Qt.MouseButton.LeftButton, pos=points[0])
    for point in points[1:]:
        pos = QPointF(point)
        view.points.mouseMoveEvent(
            QMouseEvent(QEvent.Type.MouseMove, pos, pos, Qt.MouseButton.NoButton,
                        Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier)
        )  # fmt: skip
    QTest.mouseRelease(view.points, Qt.MouseButton.LeftButton, pos=points[-1])
    chosen = tuple(np.flatnonzero(pixels[:, 0] < middle).tolist())
    assert 0 < len(chosen) < 6 and view._state.selected == chosen
    explore = view.page.state
    assert explore.chosen.texts.rows == chosen and explore.chosen.count == len(chosen)
    table = view.page.bench.docks["texts"].panel
    selected = {table.rows.order[i.row()] for i in table.table.selectionModel().selectedRows()}
    assert selected == set(chosen)
    assert "in the lasso" in view.note.text()
    qtbot.mouseClick(view.points, Qt.MouseButton.LeftButton, pos=QPoint(2, 2))
    assert explore.chosen.texts.rows is None and not view._state.selected
    assert not table.table.selectionModel().selectedRows()
    view.points.setFocus()
    QTest.keyClick(view.points, Qt.Key.Key_Right)
    assert view.points.current >= 0
    for key in (Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Up, Qt.Key.Key_Down):
        for _ in range(6):
            QTest.keyClick(view.points, key)
    assert view.points.current >= 0
    assert "Label: label" in view.points.accessibleDescription()
    QTest.keyClick(view.points, Qt.Key.Key_Return)
    wait(lambda: view.page.state.first.text == TEXTS[view.points.current].split("\t")[0])


def test_no_point_is_under_the_legend(qtbot):
    view = PointsView("Map")
    qtbot.addWidget(view)
    view.resize(400, 300)
    points = np.array([[-5.0, 0.0], [5.0, 1.0], [0.0, 0.5]])
    view.show_points(points, ["a long label", "b", "c"], ["a long label", "b"], ())
    legend_width = view.fontMetrics().horizontalAdvance("a long label")
    assert view.pixels()[:, 0].min() > legend_width, "the legend is at the left"
    view.show_points(points, ["", "", ""], [], ())
    assert view.pixels()[:, 0].min() < legend_width, "without a legend points use the full width"
