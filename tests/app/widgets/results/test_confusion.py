"""The confusion matrix and the table per label as widgets."""

import math

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor, QFontMetricsF
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.pages.runs.compare.scores_tab import interval_text as run_interval_text
from app.theme import SPACE, Role, contrast, readable_on
from app.widgets.charts import figure
from app.widgets.results.confusion import (
    BY_ROW,
    COUNTS,
    MAX_SHOWN,
    TITLE,
    ConfusionPicture,
    Matrix,
    cell_color,
    layout,
    shown_labels,
)
from app.widgets.results.group_table import score_text
from app.widgets.results.intervals import ENDS, ENDS_SCALE, VALUE, per_cent, with_ends
from app.widgets.results.label_table import LabelTablePicture, interval_text
from app.widgets.text.labels import font
from engine.results.classes import Confusion
from engine.results.conditions import Conditions
from engine.results.intervals import UNKNOWN, Interval
from tests.engine.results.rows import class_rows

EXAMPLES = class_rows(["a", "a", "b", "b"], ["a", "b", "b", "b"], labels=("a", "b"), text=[""] * 4)


def picture(qtbot: QtBot) -> ConfusionPicture:
    picture = ConfusionPicture()
    qtbot.addWidget(picture)
    picture.resize(400, 400)
    picture.show()
    picture.show_measured(ConfusionPicture.measure(EXAMPLES))
    return picture


def center(matrix: Matrix, row: int, column: int) -> QPoint:
    left, top, side = layout(matrix)
    x = left - 10 if column < 0 else left + (column + 0.5) * side
    y = top - 6 if row < 0 else top + (row + 0.5) * side
    return QPoint(round(x), round(y))


def sentences(conditions: Conditions) -> list[str]:
    return [str(condition.sentence) for condition in conditions]


def test_a_click_or_key_selects_a_cell_a_row_or_a_column(qtbot):
    widget, chosen = picture(qtbot), []
    widget.chosen.connect(lambda conditions: chosen.append(sentences(conditions)))
    for row, column in ((0, 1), (1, -1), (-1, 1)):
        QTest.mouseClick(
            widget.matrix, Qt.MouseButton.LeftButton, pos=center(widget.matrix, row, column)
        )
    assert chosen == [
        ["true label is “a”", "predicted is “b”"],
        ["true label is “b”"],
        ["predicted is “b”"],
    ]
    widget = picture(qtbot)
    QTest.keyClick(widget.matrix, Qt.Key.Key_Right)
    text = widget.matrix.accessibleDescription()
    assert (
        text
        == "True label “a”, predicted “b”: 1 row(s), 50.0 % of this true label, 33.3 % of predicted"
    )
    QTest.keyClick(widget.matrix, Qt.Key.Key_Up)
    assert widget.matrix.current == (-1, 1)
    assert widget.matrix.accessibleDescription() == "Predicted “b”: 3 row(s)"


def test_names_wider_than_a_cell_are_rotated_and_not_cut(qtbot):
    labels = ("animals and plants", "games and sport", "religion and myth")
    gold = list(labels) * 2
    widget = picture(qtbot)
    unrotated_top = layout(widget.matrix)[1]
    predictions = class_rows(gold, gold, labels=labels, text=[""] * 6)
    widget.show_measured(ConfusionPicture.measure(predictions))
    metrics = QFontMetricsF(font("small"))
    widest = max(metrics.horizontalAdvance(name) for name in labels)
    _, top, side = layout(widget.matrix)
    assert top - TITLE - SPACE >= widest > side > 0 and top > unrotated_top
    assert widget.matrix.cell_at(center(widget.matrix, -1, 1)) == (-1, 1)
    figure = widget.figure()
    assert figure is not None and figure.size.height() > figure.size.width() - 20
    many = tuple(f"animals and plants {n}" for n in range(12))
    widget.show_measured(
        ConfusionPicture.measure(class_rows(list(many), list(many), labels=many, text=[""] * 12))
    )
    left, top, side = layout(widget.matrix)
    assert top == unrotated_top, "no space for rotated names: cells come first"
    numbered = metrics.horizontalAdvance("12 animals and plants 11")
    assert left >= min(TITLE + numbered, 0.34 * 400) and side >= metrics.horizontalAdvance("12")
    assert not widget.grab().isNull()


def test_the_figure_draws_shown_labels_and_has_all_numbers(qtbot):
    widget = picture(qtbot)
    widget.matrix.set_unit(BY_ROW)
    drawing = widget.figure()
    np.testing.assert_array_equal(drawing.array, [[0.5, 0.5], [0, 1]])
    assert drawing.table().header == ("true label \\ predicted label", "a", "b")
    assert drawing.table().rows == [("a", 0.5, 0.5), ("b", 0.0, 1.0)]
    widget.matrix.set_unit(COUNTS)
    assert widget.figure().table().rows == [("a", 1, 1), ("b", 0, 2)]
    assert not figure.image(drawing).isNull()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_cell_has_a_readable_number(dark):
    def palette(role: Role, opacity: float) -> QColor:
        return QColor(role.dark if dark else role.light)

    text = palette(Role.TEXT, 1.0)
    for step in range(101):
        for is_right in (True, False):
            background = cell_color(step / 100, is_right, palette)
            assert contrast(readable_on(background, text), background) >= 4.5, (step, is_right)


def test_the_labels_with_most_mistakes_are_shown():
    counts = np.zeros((40, 40), dtype=np.int64)
    counts[3, 39] = counts[2, 1] = 5
    shown = shown_labels(Confusion(tuple(map(str, range(40))), counts))
    assert len(shown) == MAX_SHOWN
    assert {1, 2, 3, 39} <= set(shown.tolist())
    assert sorted(shown) == shown.tolist()


def test_a_label_has_intervals_and_its_cells_select_rows(qtbot):
    picture, chosen = LabelTablePicture(), []
    qtbot.addWidget(picture)
    picture.show_measured(LabelTablePicture.measure(EXAMPLES))
    picture.chosen.connect(lambda conditions: chosen.append(sentences(conditions)))
    cells = [picture.model.index(0, column).data() for column in range(5)]
    assert cells[0] == "a"
    assert cells[2].startswith("50.0 (") and " to " in cells[2]
    shown = [picture.model.index(0, 2).data(role) for role in (VALUE, ENDS)]
    assert cells[2] == f"{shown[0]} ({shown[1]})", "on two lines in the cell"
    assert cells[4] == "2"
    for column in (1, 2, 4):
        picture.table.chosen.emit(picture.model.index(0, column))
    assert chosen == [
        ["true label is not “a”", "predicted is “a”"],
        ["true label is “a”", "predicted is not “a”"],
        ["true label is “a”"],
    ]
    assert picture.figure() is not None


def test_scores_have_a_single_notation():
    asymmetric = Interval(1 / 18, 0.0099, 0.2576)
    assert with_ends(asymmetric, per_cent) == "5.6 (1.0 to 25.8)"
    assert score_text(asymmetric, is_share=True) == "5.6 (1.0 to 25.8)"
    assert score_text(Interval(-0.1, -0.3, 0.1), is_share=False) == "-0.100 (-0.300 to 0.100)"
    assert score_text(Interval(0.5, math.nan, math.nan), is_share=True) == "50.0"
    assert score_text(UNKNOWN, is_share=False) == "–"
    assert interval_text(asymmetric) == "5.6 %, 95 % interval 1.0 % to 25.8 %"
    assert run_interval_text("validation_accuracy", asymmetric) == "1.0 % to 25.8 %"
    assert with_ends(UNKNOWN, per_cent) == "–"
    assert with_ends(Interval(0.5, math.nan, math.nan), per_cent) == "50.0"


def test_label_columns_fit_a_small_window(qtbot):
    picture = LabelTablePicture()
    qtbot.addWidget(picture)
    picture.resize(384, 300)  # width of pictures in a window of 1100 px
    picture.show()
    picture.show_measured(LabelTablePicture.measure(EXAMPLES))
    header = picture.table.horizontalHeader()
    qtbot.waitUntil(lambda: header.length() <= picture.table.viewport().width())
    assert not picture.table.horizontalScrollBar().isVisible()
    for column in (1, 2, 3):
        metrics = picture.table.fontMetrics()
        ends = picture.model.index(0, column).data(ENDS)
        assert header.sectionSize(column) >= ENDS_SCALE * metrics.horizontalAdvance(ends)
        assert header.sectionSize(column) >= picture.table.sizeHintForColumn(column)


def test_a_table_cell_is_chosen_once_by_click_or_key(qtbot):
    picture, chosen = LabelTablePicture(), []
    qtbot.addWidget(picture)
    picture.resize(500, 300)
    picture.show()
    picture.show_measured(LabelTablePicture.measure(EXAMPLES))
    picture.chosen.connect(chosen.append)
    point = picture.table.visualRect(picture.model.index(1, 4)).center()
    QTest.mouseClick(picture.table.viewport(), Qt.MouseButton.LeftButton, pos=point)
    assert [sentences(condition) for condition in chosen] == [["true label is “b”"]]
    QTest.keyClick(picture.table, Qt.Key.Key_Return)
    assert len(chosen) == 2
