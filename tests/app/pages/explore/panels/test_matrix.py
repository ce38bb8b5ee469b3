"""Matrix: names if all fit, zoom, and rows aligned with those of the lines."""

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtWidgets import QApplication

from app.pages.explore.panels.attention.maps import TOP, levels, picture
from app.pages.explore.panels.attention.matrix import MAX_CELL, READABLE
from engine.messages.explore.attention import ArrayFile, Attended
from engine.messages.explore.text import Token


def show(view, state, explorer, count):
    """Attention over so many tokens, different in each cell; float32 [3, 2, T, T]."""
    tokens = tuple(Token(text=f"word{n}", id=n, start=5 * n, end=5 * n + 4) for n in range(count))
    state.maps.query.ask()
    shown = np.random.default_rng(count).dirichlet(np.ones(count), (3, 2, count))
    path = explorer.scratch / f"matrix-{count}.npy"
    np.save(path, shown.astype(np.float32))
    file = ArrayFile(path=path, shape=shown.shape, dtype="float32")
    number = explorer.asked[-1].number
    explorer.answered.emit(Attended(to=number, tokens=tokens, weights=file))
    for _ in range(4):
        QApplication.processEvents()
    return shown.astype(np.float32)


def test_every_cell_or_none_has_its_token(view, state, explorer):
    """The margin and the names depend on the same condition."""
    view.resize(1100, 420)
    named = set()
    for count in (2, 17, *range(20, 26), 120):
        show(view, state, explorer, count)
        matrix, field = view.matrix, view.matrix.field()
        assert matrix.has_labels == (matrix.cell_size() >= READABLE)
        assert field.width() <= matrix.width() - field.left()
        image = matrix.grab().toImage()
        beside = [
            image.pixelColor(x, y) != image.pixelColor(1, 1)
            for x in range(20, field.left() - 2)
            for y in range(field.top(), field.bottom())
        ]
        assert any(beside) == matrix.has_labels
        named.add(matrix.has_labels)
    assert named == {True, False}


def test_it_is_zoomed_around_the_mouse_and_moved(qtbot, view, state, explorer):
    shown = show(view, state, explorer, 120)
    matrix = view.matrix
    assert not matrix.has_labels
    point = matrix.cell(60, 80).center()
    matrix.set_zoom(1_000, point)
    assert matrix.has_labels and matrix.cell_size() == pytest.approx(MAX_CELL)
    assert matrix.at(point.toPoint()) == (60, 80), "what is under the mouse stays there"
    image, ratio = matrix.grab().toImage(), matrix.devicePixelRatioF()
    ramp = {picture(np.array([[n]], np.uint8)).pixelColor(0, 0).rgb(): n for n in range(TOP + 1)}
    expected = levels(shown[0, 0])
    for row, column in ((60, 81), (61, 80)):
        middle = matrix.cell(row, column).center().toPoint() * ratio
        assert abs(ramp[image.pixelColor(middle).rgb()] - int(expected[row, column])) <= 1
    before = matrix.first.x()
    start = matrix.field().center()
    qtbot.mousePress(matrix, Qt.MouseButton.LeftButton, pos=start)
    qtbot.mouseMove(matrix, start - QPoint(60, 0))
    qtbot.mouseRelease(matrix, Qt.MouseButton.LeftButton, pos=start - QPoint(60, 0))
    assert matrix.first.x() > before
    assert state.explore.picked == -1, "a drag is no click"
    qtbot.keyClicks(matrix, "0")
    assert (matrix.zoom, matrix.first) == (1, QPointF(0, 0))


def test_rows_of_lines_and_matrix_are_aligned(view, state, explorer, wait):
    matrix, lines = view.matrix, view.lines

    def are_level():
        row = round(matrix.first.y()) + 1
        line_y = lines.mapTo(view, QPoint(0, round((row + 0.5) * lines.row_height()))).y()
        there = matrix.mapTo(view, matrix.cell(row, 0).center().toPoint()).y()
        return abs(line_y - there) <= 2

    for count in (3, 12, 120):
        show(view, state, explorer, count)
        if count == 120:
            for _ in range(30):
                matrix.set_zoom(matrix.zoom * 1.25)
        wait(lambda n=count: lines.height() >= round(n * matrix.cell_size()) - 1)
        wait(are_level)
    bar = view.lines_area.verticalScrollBar()
    bar.setValue(bar.maximum() // 2)
    assert matrix.first.y() > 20
    wait(are_level)
