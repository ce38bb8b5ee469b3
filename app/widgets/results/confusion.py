"""The confusion matrix: true labels over predicted ones; a cell, row or column selects rows.

S is the number of labels shown.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QPoint, QRectF, QSize, QSizeF, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFontMetricsF,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget

from app.theme import (
    OUTCOMES,
    PICKED,
    SPACE,
    Palette,
    Role,
    blend,
    colour,
    print_color,
    px,
    readable_on,
)
from app.translation import marked, tr
from app.widgets import layouts
from app.widgets.buttons import Segments
from app.widgets.charts.figure import Figure, Table, print_font
from app.widgets.forms.controls import ComboBox
from app.widgets.keys import arrow_step, clamp, is_press
from app.widgets.results.picture import ResultPicture
from app.widgets.text import numbers
from app.widgets.text.labels import Text, font, one_line, tooltip
from engine.evaluation.hierarchical_classification import level_figures
from engine.results.classes import Confusion, confusion, level_confusions
from engine.results.conditions import Conditions
from engine.results.span_figures import type_confusion

MAX_SHOWN = 30  # if there are more labels, those with most errors are shown
MAX_CELL = 20 * SPACE  # px
MAX_NAME_FRACTION = 0.34  # of the width, for the names on the left
MIN_READABLE = 5 * SPACE  # px; numbers of smaller cells are not shown
TITLE = 5 * SPACE  # px for the titles of rows and columns
FIGURE_CELL = 56  # px of a cell in a figure
COUNTS, BY_ROW, BY_COLUMN = range(3)
Cell = tuple[int, int]  # shown row and column; with a -1, the name of the other one


class ConfusionPicture(ResultPicture):
    """The confusion matrix, in a unit that the user chooses."""

    key = "confusion"
    title = marked("Confusion matrix")
    measure: ClassVar[Any] = staticmethod(confusion)

    def __init__(self) -> None:
        super().__init__()
        self.unit = Segments(
            [self.tr("Counts"), self.tr("% of true label"), self.tr("% of predicted")],
            self.tr("Cells show"),
        )
        self.unit.choose(COUNTS)
        self.matrix = Matrix()
        self.note = Text("", "small")
        self.column = layouts.column(
            self.unit, (self.matrix, 1), self.note, parent=self, spacing=2 * SPACE
        )
        self.unit.chosen.connect(self.matrix.set_unit)
        self.matrix.pressed.connect(self._on_pressed)

    def show_measured(self, measured: Any) -> None:
        self.matrix.show_confusion(measured)
        note = self.tr("Click a cell, or a label for its whole row or column, to list its rows.")
        if len(measured.labels) > MAX_SHOWN:
            note += " " + self.tr("Showing the {0} of {1} labels with the most mistakes.").format(
                MAX_SHOWN, numbers.count(len(measured.labels))
            )
        self.note.setText(note)

    def show_chosen(self, conditions: Conditions) -> None:
        if not conditions:
            self.matrix.mark(None)

    def figure(self) -> Figure | None:
        return matrix_figure(self.matrix)

    def _on_pressed(self, cell: Cell) -> None:
        confused, shown = self.matrix.confusion, self.matrix.shown
        assert confused is not None
        row, column = cell
        gold = int(shown[row]) if row >= 0 else None
        predicted = int(shown[column]) if column >= 0 else None
        self.matrix.mark(None if self.matrix.marked_cell == cell else cell)
        self.chosen.emit(confused.conditions(gold, predicted))


class CoOccurrencePicture(ConfusionPicture):
    """Co-occurrence of true and predicted labels, with several per row."""

    key = "co-occurrence"
    title = marked("Co-occurrence of labels")


class DistancePicture(ConfusionPicture):
    """The matrix of ordered labels, with the rows by the distance of their prediction."""

    key = "distance"
    title = marked("Confusion matrix by distance")

    def show_measured(self, measured: Confusion) -> None:
        super().show_measured(measured)
        places = np.arange(len(measured.labels))
        rows = np.bincount(
            np.abs(places[:, None] - places).ravel(), measured.counts.ravel(), minlength=2
        )
        text = self.tr("Predicted exactly: {0}; one step away: {1}; further away: {2}.")
        parts = rows[0], rows[1], rows[2:].sum()
        shares = (numbers.percent(part / max(rows.sum(), 1)) for part in parts)
        self.note.setText(f"{text.format(*shares)} {self.note.text()}")


class LevelsPicture(ConfusionPicture):
    """The matrix of each level of labels that are paths, with its scores."""

    key = "levels"
    title = marked("Confusion matrix by level")
    measure: ClassVar[Any] = staticmethod(level_confusions)

    def __init__(self) -> None:
        super().__init__()
        self._levels: tuple[Confusion, ...] = ()
        self.level = ComboBox(self.tr("Level"))
        self.level.currentIndexChanged.connect(self._show_level)
        self.column.insertWidget(0, self.level)

    def show_measured(self, measured: tuple[Confusion, ...]) -> None:
        self._levels = measured
        text = self.tr("Level {0} · accuracy {1} · macro F1 {2}")
        figures = (level_figures(item.level, item.counts) for item in measured)
        self.level.blockSignals(True)
        self.level.clear()
        self.level.addItems(
            [
                text.format(item.level, *map(numbers.percent, (item.accuracy, item.f1_macro)))
                for item in figures
            ]
        )
        self.level.blockSignals(False)
        self._show_level(0)

    def _show_level(self, index: int) -> None:
        super().show_measured(self._levels[index])


class TypeConfusionPicture(ConfusionPicture):
    """Confused, missed and spurious span types."""

    key = "types"
    title = marked("Confusion of types")
    measure: ClassVar[Any] = staticmethod(
        lambda predictions: type_confusion(predictions, tr("none"))
    )


class Matrix(QWidget):
    """Paints the cells. Arrow keys move over cells and names; Enter presses one.

    Signals:
        pressed: the Cell.
    """

    pressed = Signal(tuple)

    def __init__(self) -> None:
        super().__init__()
        self.confusion: Confusion | None = None
        self.titles = tr("True label"), tr("Predicted")  # of the rows and of the columns
        self.shown: NDArray[np.int64] = np.empty(0, dtype=np.int64)  # [S] indices of labels
        self.unit = COUNTS
        self.marked_cell: Cell | None = None
        self.current: Cell = (0, 0)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setAccessibleName(self.tr("Confusion matrix: true label by row, predicted by column"))

    def sizeHint(self) -> QSize:
        return QSize(px(80 * SPACE), px(70 * SPACE))

    def minimumSizeHint(self) -> QSize:
        return QSize(px(50 * SPACE), px(36 * SPACE))

    def show_confusion(self, confused: Confusion) -> None:
        self.confusion, self.shown = confused, shown_labels(confused)
        self.current, self.marked_cell = (0, 0), None
        self._describe()
        self.update()

    def set_unit(self, unit: int) -> None:
        self.unit = unit
        self._describe()
        self.update()

    def mark(self, cell: Cell | None) -> None:
        self.marked_cell = cell
        self.update()

    # ── layout ───────────────────────────────────────────────────────────────────────────────

    def cell_at(self, point: QPoint) -> Cell | None:
        """The cell or name at a point."""
        left, top, side = layout(self)
        if not side or self.confusion is None:
            return None
        column = int((point.x() - left) // side) if point.x() >= left else -1
        row = int((point.y() - top) // side) if point.y() >= top else -1
        count = len(self.shown)
        if row >= count or column >= count or (row < 0 and column < 0):
            return None
        return row, column

    # ── inputs ───────────────────────────────────────────────────────────────────────────────

    def mousePressEvent(self, event: QMouseEvent) -> None:
        cell = self.cell_at(event.position().toPoint())
        if event.button() == Qt.MouseButton.LeftButton and cell is not None:
            self.current = cell
            self._describe()
            self.pressed.emit(cell)
            self.update()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step, last = arrow_step(event), len(self.shown) - 1
        if step is not None and last >= 0:
            row = clamp(self.current[0] + step[0], last, -1)
            column = clamp(self.current[1] + step[1], last, -1)
            if (row, column) != (-1, -1):
                self.current = row, column
            self._describe()
            self.update()
        elif is_press(event) and last >= 0:
            self.pressed.emit(self.current)
        else:
            super().keyPressEvent(event)

    def event(self, event: Any) -> bool:
        if isinstance(event, QHelpEvent):
            cell = self.cell_at(event.pos())
            QToolTip.showText(event.globalPos(), tooltip(self.sentence(cell)) if cell else "", self)
            return True
        return super().event(event)

    def sentence(self, cell: Cell) -> str:
        """A cell, row or column in words."""
        assert self.confusion is not None
        names, counts = self.confusion.labels, self.confusion.counts
        row, column = cell
        if row < 0:
            predicted = int(self.shown[column])
            rows = int(counts[:, predicted].sum())
            return self.tr("Predicted “{0}”: %Ln row(s)", "", rows).format(names[predicted])
        gold = int(self.shown[row])
        if column < 0:
            rows = int(counts[gold].sum())
            return self.tr("True label “{0}”: %Ln row(s)", "", rows).format(names[gold])
        predicted = int(self.shown[column])
        return self.tr(
            "True label “{0}”, predicted “{1}”: %Ln row(s), {2} of this true label, "
            "{3} of predicted",
            "",
            int(counts[gold, predicted]),
        ).format(
            names[gold],
            names[predicted],
            numbers.percent(float(self.confusion.by_row[gold, predicted])),
            numbers.percent(float(self.confusion.by_column[gold, predicted])),
        )

    def figure_texts(self) -> tuple[str, str, str]:
        """Title, caption, and the heading of the first column of the numbers."""
        captions = (
            tr("Rows: true label; columns: predicted label."),
            tr("Rows: true label, each with a sum of 100 %; columns: predicted label."),
            tr("Rows: true label; columns: predicted label, each with a sum of 100 %."),
        )
        return tr("Confusion matrix"), captions[self.unit], tr("true label \\ predicted label")

    def _describe(self) -> None:
        if self.confusion is not None and len(self.shown):
            self.setAccessibleDescription(self.sentence(self.current))

    def paintEvent(self, event: QPaintEvent) -> None:
        if self.confusion is None:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        left, top, side = layout(self)
        painter.setFont(font("small"))
        origin = (left, top, side)
        paint(painter, self.confusion, self.shown, self.unit, origin, colour, self.titles)
        painter.setBrush(Qt.BrushStyle.NoBrush)
        if self.marked_cell is not None:
            painter.setPen(QPen(colour(PICKED), 2))
            painter.drawRect(self._frame(self.marked_cell, (left, top, side)))
        if self.hasFocus():
            painter.setPen(QPen(colour(Role.ACCENT), 2, Qt.PenStyle.DotLine))
            painter.drawRect(self._frame(self.current, (left, top, side)).adjusted(2, 2, -2, -2))

    def _frame(self, cell: Cell, origin: tuple[float, float, float]) -> QRectF:
        """Outline of a cell, or of a row or column with its name."""
        left, top, side = origin
        row, column = cell
        length = len(self.shown) * side
        if row < 0:
            return QRectF(left + column * side, TITLE, side, top - TITLE + length)
        if column < 0:
            return QRectF(TITLE, top + row * side, left - TITLE + length, side)
        return QRectF(left + column * side, top + row * side, side, side)


def shown_labels(confused: Confusion) -> NDArray[np.int64]:
    """Indices of the labels with most errors that fit, int64 [S], in order."""
    counts = confused.counts
    mistakes = counts.sum(axis=0) + counts.sum(axis=1) - 2 * counts.diagonal()
    worst = np.argsort(-mistakes, kind="stable")[:MAX_SHOWN]
    return np.sort(worst).astype(np.int64)


def layout(matrix: Matrix) -> tuple[float, float, float]:
    """Left and top of the cells and the side of one, in px."""
    count = len(matrix.shown)
    if matrix.confusion is None or not count:
        return 0.0, 0.0, 0.0
    metrics = QFontMetricsF(font("small"))
    names = [one_line(matrix.confusion.labels[n], 60) for n in matrix.shown]
    widest = max(map(metrics.horizontalAdvance, number_names(names))) + 2 * SPACE
    left = TITLE + min(widest, MAX_NAME_FRACTION * matrix.width())
    tops = metrics.height() + SPACE, min(widest, MAX_NAME_FRACTION * matrix.height())
    horizontal, upright = (
        (left, TITLE + top, _side(matrix, left, TITLE + top, count)) for top in tops
    )
    is_upright = not fit_horizontally(names, horizontal[2], metrics) and upright[2] >= MIN_READABLE
    return upright if is_upright else horizontal


def _side(matrix: QWidget, left: float, top: float, count: int) -> float:
    """The side of a cell in px if `count` rows and columns must fit."""
    width, height = (matrix.width() - left - 1) / count, (matrix.height() - top - 1) / count
    return max(min(width, height, MAX_CELL), 1.0)


def fit_horizontally(names: Sequence[str], side: float, metrics: QFontMetricsF) -> bool:
    """True if each name fits above a cell; else all are rotated or numbered."""
    return all(metrics.horizontalAdvance(name) <= side - 2 for name in names)


def number_names(names: Sequence[str]) -> list[str]:
    """Names with numbers, for columns that only fit the numbers."""
    return [f"{number} {name}" for number, name in enumerate(names, 1)]


def values(confused: Confusion, unit: int) -> NDArray[Any]:
    """Values of the cells, [C, C]: counts, or fractions of a row or column."""
    return (confused.counts, confused.by_row, confused.by_column)[unit]


def paint(
    painter: QPainter,
    confused: Confusion,
    shown: NDArray[np.int64],
    unit: int,
    origin: tuple[float, float, float],
    palette: Palette,
    titles: tuple[str, str],
) -> None:
    """Paint names and cells, tinted by value: correct ones blue, errors brown."""
    left, top, side = origin
    cells = values(confused, unit)[np.ix_(shown, shown)]
    maximum = max(float(cells.max()), 1e-9)
    metrics = QFontMetricsF(painter.font())
    _paint_names(painter, confused, shown, origin, palette, titles)
    text_color, muted = palette(Role.TEXT, 1.0), palette(Role.MUTED, 1.0)
    for row in range(len(shown)):
        for column in range(len(shown)):
            value = cells[row, column]
            box = QRectF(left + column * side, top + row * side, side, side).adjusted(1, 1, -1, -1)
            background = cell_color(float(value) / maximum, row == column, palette)
            painter.fillRect(box, background)
            text = numbers.count(int(value)) if unit == COUNTS else numbers.percent(float(value), 0)
            if side >= MIN_READABLE and metrics.horizontalAdvance(text) <= side - 2:
                painter.setPen(readable_on(background, text_color) if value else muted)
                painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)


def cell_color(fraction: float, is_right: bool, palette: Palette) -> QColor:
    """The colour of a cell whose value is a fraction of the largest one."""
    full = print_color(OUTCOMES[not is_right], 1.0)
    return blend(palette(Role.HOVER, 1.0), full, min(1.0, 0.75 * fraction))


def _paint_names(
    painter: QPainter,
    confused: Confusion,
    shown: NDArray[np.int64],
    origin: tuple[float, float, float],
    palette: Palette,
    titles: tuple[str, str],
) -> None:
    left, top, side = origin
    metrics = QFontMetricsF(painter.font())
    length, line = len(shown) * side, metrics.height()
    elide = Qt.TextElideMode.ElideMiddle
    centre, right = Qt.AlignmentFlag.AlignCenter, Qt.AlignmentFlag.AlignRight
    painter.setPen(palette(Role.MUTED, 1.0))
    painter.drawText(QRectF(left, 0, max(length, 80), TITLE), centre, titles[1])
    painter.save()
    painter.translate(0, top + length)
    painter.rotate(-90)
    painter.drawText(QRectF(0, 0, max(length, 60), TITLE), centre, titles[0])
    painter.restore()
    painter.setPen(palette(Role.TEXT, 1.0))
    names = [one_line(confused.labels[label], 60) for label in shown]
    is_horizontal = top <= TITLE + line + SPACE
    row_names = column_names = names
    if is_horizontal and not fit_horizontally(names, side, metrics):
        row_names = number_names(names)
        column_names = [str(number) for number in range(1, len(names) + 1)]
    for index, name in enumerate(names):
        if side >= line:
            box = QRectF(TITLE, top + index * side, left - TITLE - SPACE, side)
            text = metrics.elidedText(row_names[index], elide, box.width())
            painter.drawText(box, right | Qt.AlignmentFlag.AlignVCenter, text)
        if is_horizontal and metrics.horizontalAdvance(column_names[index]) <= side:
            box = QRectF(left + index * side, TITLE, side, line)
            painter.drawText(box, centre, column_names[index])
        elif not is_horizontal:
            painter.save()
            painter.translate(left + index * side, top - SPACE)
            painter.rotate(-90)
            length = top - SPACE - TITLE
            upwards = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
            painter.drawText(
                QRectF(0, 0, length, side), upwards, metrics.elidedText(name, elide, length)
            )
            painter.restore()


def matrix_figure(matrix: Matrix) -> Figure | None:
    confused, shown, unit = matrix.confusion, matrix.shown, matrix.unit
    if confused is None or not len(shown):
        return None
    side, left = float(FIGURE_CELL), 160.0
    names = [one_line(confused.labels[label], 60) for label in shown]
    metrics = QFontMetricsF(print_font(12))
    is_horizontal = fit_horizontally(names, side, metrics)
    top = TITLE + metrics.height() + SPACE if is_horizontal else left

    def draw(painter: QPainter, _size: QSizeF) -> None:
        painter.setFont(print_font(12))
        paint(painter, confused, shown, unit, (left, top, side), print_color, matrix.titles)

    length = round(len(shown) * side)
    title, caption, corner = matrix.figure_texts()
    return Figure(
        name="confusion-matrix",
        title=title,
        caption=caption,
        size=QSize(round(left) + length, round(top) + length),
        paint=draw,
        array=values(confused, unit),
        table=lambda: Table(
            (corner, *confused.labels),
            [
                (label, *line.tolist())
                for label, line in zip(confused.labels, values(confused, unit), strict=True)
            ],
        ),
    )
