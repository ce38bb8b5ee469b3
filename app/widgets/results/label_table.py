"""Each label against all others: precision, recall and F1 with their intervals."""

import math
from collections.abc import Callable
from typing import Any, ClassVar

from PySide6.QtWidgets import QHeaderView, QTableView

from app.theme import SPACE
from app.translation import marked, tr
from app.widgets import layouts
from app.widgets.charts.figure import Figure, Table
from app.widgets.charts.table_figure import table_figure
from app.widgets.results.intervals import (
    ENDS,
    VALUE,
    IntervalDelegate,
    format_ends,
    per_cent,
    with_ends,
)
from app.widgets.results.picture import ChoosingTable, ResultPicture
from app.widgets.tables import Column, ColumnsModel, Index, apply_style
from app.widgets.text import numbers
from app.widgets.text.labels import Text, visible
from engine.results.classes import LabelFigures, label_figures
from engine.results.conditions import Conditions
from engine.results.intervals import Interval
from engine.results.span_figures import type_figures

LABEL, PRECISION, RECALL, F1, SUPPORT = range(5)


class LabelTablePicture(ResultPicture):
    """The table; a cell selects its rows, as the note explains."""

    key = "labels"
    title = marked("Per label")
    measure: ClassVar[Any] = staticmethod(label_figures)

    def __init__(self) -> None:
        super().__init__()
        self.model = ColumnsModel(_columns(), self)
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
        self._cells = IntervalDelegate(self.table)
        for column in (PRECISION, RECALL, F1):
            self.table.setItemDelegateForColumn(column, self._cells)
        self.table.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        self.note = Text(
            self.tr(
                "In %, with 95 % intervals. A cell under Precision lists the rows wrongly "
                "predicted as this label, a cell under Recall the missed rows, and other "
                "cells all rows with this label."
            ),
            "small",
        )
        layouts.column((self.table, 1), self.note, parent=self, spacing=2 * SPACE)
        self.table.chosen.connect(self._on_pressed)

    def show_measured(self, measured: tuple[LabelFigures, ...]) -> None:
        self.model.show_rows(measured)

    def show_chosen(self, conditions: Conditions) -> None:
        if not conditions:
            self.table.clearSelection()

    def figure(self) -> Figure | None:
        if not self.model.rows:
            return None
        header = (
            *("label", "precision", "precision low", "precision high"),
            *("recall", "recall low", "recall high", "f1", "f1 low", "f1 high", "support"),
        )
        rows = [
            (row.label, *row.precision, *row.recall, *row.f1, row.support)
            for row in self.model.rows
        ]
        return table_figure(
            self.model,
            "per-label",
            tr("Precision, recall and F1 per label"),
            tr("In %, with the 95 % interval."),
            lambda: Table(header, rows),
        )

    def _on_pressed(self, index: Index) -> None:
        row = self.model.row(index.row())
        conditions = {PRECISION: row.wrongly_predicted, RECALL: row.missed}
        self.chosen.emit(conditions.get(index.column(), row.with_label))


class TypeTablePicture(LabelTablePicture):
    """The table of span types."""

    key = "type-figures"
    title = marked("Per type")
    measure: ClassVar[Any] = staticmethod(type_figures)


def _columns() -> list[Column[LabelFigures]]:
    return [
        Column(
            tr("Label"),
            lambda row: visible(row.label[:100]),
            value=lambda row: row.label,
            tooltip=lambda row: row.label,
        ),
        _interval_column(tr("Precision"), lambda row: row.precision),
        _interval_column(tr("Recall"), lambda row: row.recall),
        _interval_column(tr("F1"), lambda row: row.f1),
        Column(tr("Support"), lambda row: numbers.count(row.support), align_right=True),
    ]


def _interval_column(
    title: str, interval: Callable[[LabelFigures], Interval]
) -> Column[LabelFigures]:
    """A score with its interval: in one line as text, in two lines for IntervalDelegate."""
    return Column(
        title,
        lambda row: with_ends(interval(row), per_cent),
        tooltip=lambda row: interval_text(interval(row)),
        align_right=True,
        roles={
            VALUE: lambda row: with_ends(
                interval(row)._replace(low=math.nan, high=math.nan), per_cent
            ),
            ENDS: lambda row: format_ends(interval(row), per_cent),
        },
    )


def interval_text(interval: Interval) -> str:
    """A value with the ends of its interval, within a sentence."""
    if math.isnan(interval.value):
        return tr("There are no rows to compute it from.")
    ends = format_ends(interval, numbers.percent)
    return tr("{0}, 95 % interval {1}").format(numbers.percent(interval.value), ends)
