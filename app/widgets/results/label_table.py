"""Each label against all others: precision, recall and F1 with their intervals."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from PySide6.QtCore import QAbstractTableModel, QObject, QRectF, QSize, QSizeF, Qt
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QHeaderView, QTableView

from app.theme import SPACE, Role, print_color
from app.translation import marked, tr
from app.widgets import layouts
from app.widgets.charts.figure import Figure, Table, paper_font
from app.widgets.results.intervals import ENDS, VALUE, IntervalCells, ends_text, per_cent, with_ends
from app.widgets.results.picture import ChoosingTable, ResultPicture
from app.widgets.tables import AT_RIGHT, NOWHERE, Index, apply_style
from app.widgets.text import numbers
from app.widgets.text.labels import Text, tooltip, visible
from engine.results.classes import LabelFigures, label_figures
from engine.results.conditions import Conditions, HasSpan
from engine.results.intervals import Interval
from engine.results.predictions import Predictions
from engine.results.span_figures import type_figures

ROW, NAME, NUMBER = 22, 180, 130  # px of a figure
MAX_DRAWN_ROWS = 100
LABEL, PRECISION, RECALL, F1, SUPPORT = range(5)


@dataclass(frozen=True)
class TypeRow(LabelFigures):
    """The spans of one type, as a row of the table."""

    @property
    def missed(self) -> Conditions:
        return (HasSpan(error="missed", gold=self.label),)

    @property
    def wrongly_predicted(self) -> Conditions:
        return (HasSpan(error="spurious", predicted=self.label),)

    @property
    def having(self) -> Conditions:
        return (HasSpan(gold=self.label),)


def types_measured(predictions: Predictions) -> tuple[LabelFigures, ...]:
    """Metrics of each span type."""
    return tuple(
        TypeRow(
            label=one.type,
            precision=one.precision,
            recall=one.recall,
            f1=one.f1,
            support=one.support,
            predicted=one.predicted,
            right=one.right,
        )
        for one in type_figures(predictions)
    )


class LabelTablePicture(ResultPicture):
    """The table; a cell selects its rows, as the note explains."""

    key = "labels"
    title = marked("Per label")
    measure: ClassVar[Any] = staticmethod(label_figures)

    def __init__(self) -> None:
        super().__init__()
        self.model = LabelModel(self)
        self.table = ChoosingTable()
        self.table.setModel(self.model)
        apply_style(self.table, self.tr("Precision, recall and F1 per label"))
        self.table.setSelectionBehavior(QTableView.SelectionBehavior.SelectItems)
        self.table.verticalHeader().hide()
        header = self.table.horizontalHeader()
        header.setHighlightSections(False)
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(LABEL, QHeaderView.ResizeMode.Stretch)
        header.setMinimumSectionSize(14 * SPACE)
        self._cells = IntervalCells(self.table)
        for place in (PRECISION, RECALL, F1):
            self.table.setItemDelegateForColumn(place, self._cells)
        self.table.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        self.note = Text(
            self.tr(
                "In per cent, with 95 % intervals. A cell under Precision lists the rows wrongly "
                "predicted as this label, under Recall those that were missed, elsewhere all that "
                "have it."
            ),
            "small",
        )
        layouts.column((self.table, 1), self.note, parent=self, spacing=2 * SPACE)
        self.table.chosen.connect(self._on_pressed)

    def show_measured(self, measured: tuple[LabelFigures, ...]) -> None:
        self.model.show_figures(measured)

    def show_chosen(self, conditions: Conditions) -> None:
        if not conditions:
            self.table.clearSelection()

    def figure(self) -> Figure | None:
        return figure_of(self.model.figures) if self.model.figures else None

    def _on_pressed(self, index: Index) -> None:
        one = self.model.figures[index.row()]
        match index.column():
            case 1:
                self.chosen.emit(one.wrongly_predicted)
            case 2:
                self.chosen.emit(one.missed)
            case _:
                self.chosen.emit(one.having)


class TypeTablePicture(LabelTablePicture):
    """The table of span types."""

    key = "type-figures"
    title = marked("Per type")
    measure: ClassVar[Any] = staticmethod(types_measured)


class LabelModel(QAbstractTableModel):
    """A row for each label, in the order of the labels."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.figures: tuple[LabelFigures, ...] = ()

    def show_figures(self, figures: tuple[LabelFigures, ...]) -> None:
        self.beginResetModel()
        self.figures = figures
        self.endResetModel()

    def rowCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() else len(self.figures)

    def columnCount(self, parent: Index = NOWHERE) -> int:
        return 0 if parent.isValid() else 5

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return (
                self.tr("Label"),
                self.tr("Precision"),
                self.tr("Recall"),
                self.tr("F1"),
                self.tr("Support"),
            )[section]
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        one, column = self.figures[index.row()], index.column()
        interval = (one.precision, one.recall, one.f1)[column - 1] if 0 < column < SUPPORT else None
        match role:
            case Qt.ItemDataRole.DisplayRole if interval is not None:
                return with_ends(interval, per_cent)
            case _ if role == VALUE and interval is not None:
                return with_ends(interval._replace(low=math.nan, high=math.nan), per_cent)
            case _ if role == ENDS and interval is not None:
                return ends_text(interval, per_cent)
            case Qt.ItemDataRole.DisplayRole if column == SUPPORT:
                return numbers.count(one.support)
            case Qt.ItemDataRole.DisplayRole:
                return visible(one.label[:100])
            case Qt.ItemDataRole.EditRole:
                return one.label if column == LABEL else self.data(index)
            case Qt.ItemDataRole.ToolTipRole if interval is not None:
                return interval_text(interval)
            case Qt.ItemDataRole.ToolTipRole if column == LABEL:
                return tooltip(one.label)
            case Qt.ItemDataRole.TextAlignmentRole if column != LABEL:
                return AT_RIGHT
        return None


def interval_text(interval: Interval) -> str:
    """A value with the ends of its interval, within a sentence."""
    if math.isnan(interval.value):
        return tr("There are no rows to compute it from.")
    ends = ends_text(interval, numbers.percent)
    return tr("{0}, 95 % interval {1}").format(numbers.percent(interval.value), ends)


def figure_of(figures: tuple[LabelFigures, ...]) -> Figure:
    rows = figures[:MAX_DRAWN_ROWS]
    heads = (tr("Precision"), tr("Recall"), tr("F1"), tr("Support"))

    def draw(painter: QPainter, _size: QSizeF) -> None:
        painter.setFont(paper_font(12))
        painter.setPen(print_color(Role.MUTED))
        _line(painter, 0, tr("Label"), heads)
        painter.setPen(print_color(Role.TEXT))
        for number, one in enumerate(rows, 1):
            found = (with_ends(some, per_cent) for some in (one.precision, one.recall, one.f1))
            cells = (*found, str(one.support))
            _line(painter, number, visible(one.label[:60]), cells)

    return Figure(
        name="per-label",
        title=tr("Precision, recall and F1 per label"),
        caption=tr("In per cent, with the 95 % interval."),
        size=QSize(NAME + 4 * NUMBER, (len(rows) + 1) * ROW),
        paint=draw,
        table=lambda: Table(
            (
                *("label", "precision", "precision low", "precision high"),
                *("recall", "recall low", "recall high", "f1", "f1 low", "f1 high", "support"),
            ),
            [(o.label, *o.precision, *o.recall, *o.f1, o.support) for o in figures],
        ),
    )


def _line(painter: QPainter, number: int, name: str, cells: tuple[str, ...]) -> None:
    middle = Qt.AlignmentFlag.AlignVCenter
    top = number * ROW
    shown = painter.fontMetrics().elidedText(name, Qt.TextElideMode.ElideMiddle, NAME - 8)
    painter.drawText(QRectF(0, top, NAME, ROW), middle | Qt.AlignmentFlag.AlignLeft, shown)
    for place, cell in enumerate(cells):
        box = QRectF(NAME + place * NUMBER, top, NUMBER, ROW)
        painter.drawText(box, middle | Qt.AlignmentFlag.AlignRight, cell)
