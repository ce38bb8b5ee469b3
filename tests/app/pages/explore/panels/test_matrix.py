"""Matrix: labels if all fit, zoom, and rows aligned with the lines."""

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication

from app.pages.explore.panels.attention.maps import MAX_LEVEL, levels, picture
from app.pages.explore.panels.attention.matrix import MAX_CELL, MIN_LABELLED_CELL
from engine.messages.explore.attention import ArrayFile, Attended
from engine.messages.explore.text import Token


def show_attention(view, state, explorer, count):
    """Show attention over `count` tokens, different in each cell; float32 [3, 2, T, T]."""
    tokens = tuple(Token(text=f"word{n}", id=n, start=5 * n, end=5 * n + 4) for n in range(count))
    state.maps.query.ask()
    weights = np.random.default_rng(count).dirichlet(np.ones(count), (3, 2, count))
    path = explorer.scratch / f"matrix-{count}.npy"
    np.save(path, weights.astype(np.float32))
    file = ArrayFile(path=path, shape=weights.shape, dtype="float32")
    number = explorer.questions[-1].number
    explorer.answered.emit(Attended(to=number, tokens=tokens, weights=file))
    for _ in range(4):
        QApplication.processEvents()
    return weights.astype(np.float32)


def test_all_rows_and_columns_have_labels_or_none(view, state, explorer):
    """The margin and the labels depend on the same condition."""
    view.resize(1100, 420)
    states = set()
    for count in (2, 17, *range(20, 26), 120):
        show_attention(view, state, explorer, count)
        matrix, field = view.matrix, view.matrix.field()
        assert matrix.has_labels == (matrix.cell_size() >= MIN_LABELLED_CELL)
        assert field.width() <= matrix.width() - field.left()
        image = matrix.grab().toImage().convertToFormat(QImage.Format.Format_RGB32)
        pixels = np.array(image.constBits()).reshape(image.height(), image.width(), 4)
        margin = pixels[field.top() : field.bottom(), 20 : field.left() - 2]
        assert (margin != pixels[1, 1]).any() == matrix.has_labels
        states.add(matrix.has_labels)
    assert states == {True, False}


def test_the_matrix_is_zoomed_around_the_mouse_and_dragged(qtbot, view, state, explorer):
    weights = show_attention(view, state, explorer, 120)
    matrix = view.matrix
    assert not matrix.has_labels
    point = matrix.cell(60, 80).center()
    matrix.set_zoom(1_000, point)
    assert matrix.has_labels and matrix.cell_size() == pytest.approx(MAX_CELL)
    assert matrix.cell_at(point.toPoint()) == (60, 80), "the cell under the mouse stays there"
    image, ratio = matrix.grab().toImage(), matrix.devicePixelRatioF()
    ramp = {
        picture(np.array([[n]], np.uint8)).pixelColor(0, 0).rgb(): n for n in range(MAX_LEVEL + 1)
    }
    expected = levels(weights[0, 0])
    for row, column in ((60, 81), (61, 80)):
        middle = matrix.cell(row, column).center().toPoint() * ratio
        assert abs(ramp[image.pixelColor(middle).rgb()] - int(expected[row, column])) <= 1
    before = matrix.first.x()
    start = matrix.field().center()
    qtbot.mousePress(matrix, Qt.MouseButton.LeftButton, pos=start)
    qtbot.mouseMove(matrix, start - QPoint(60, 0))
    qtbot.mouseRelease(matrix, Qt.MouseButton.LeftButton, pos=start - QPoint(60, 0))
    assert matrix.first.x() > before
    assert state.explore.picked == -1, "a drag is not a click"
    qtbot.keyClicks(matrix, "0")
    assert (matrix.zoom, matrix.first) == (1, QPointF(0, 0))


def test_rows_of_lines_and_matrix_are_aligned(view, state, explorer, wait):
    matrix, lines = view.matrix, view.lines

    def are_aligned():
        row = round(matrix.first.y()) + 1
        line_y = lines.mapTo(view, QPoint(0, round((row + 0.5) * lines.row_height()))).y()
        matrix_y = matrix.mapTo(view, matrix.cell(row, 0).center().toPoint()).y()
        return abs(line_y - matrix_y) <= 2

    for count in (3, 12, 120):
        show_attention(view, state, explorer, count)
        if count == 120:
            for _ in range(30):
                matrix.set_zoom(matrix.zoom * 1.25)
        wait(lambda n=count: lines.height() >= round(n * matrix.cell_size()) - 1)
        wait(are_aligned)
    bar = view.lines_area.verticalScrollBar()
    bar.setValue(bar.maximum() // 2)
    assert matrix.first.y() > 20
    wait(are_aligned)
