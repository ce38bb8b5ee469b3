"""Agreement of coders: coefficients, a matrix and a table that select the rows in dispute."""

import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHeaderView

from app.notices import Notices
from app.pages.data.dataset.agreement.state import AgreementState, Measured
from app.theme import SPACE, px
from app.translation import in_language, tr, translated
from app.widgets import buttons, layouts
from app.widgets.charts.figure import Figure, Table
from app.widgets.charts.figure_menu import FigureButton
from app.widgets.charts.table_figure import table_figure
from app.widgets.forms.controls import ComboBox
from app.widgets.help import HelpButton, set_help
from app.widgets.page import Card
from app.widgets.results.confusion import Cell, Matrix, matrix_figure
from app.widgets.results.intervals import (
    ENDS,
    VALUE,
    IntervalDelegate,
    format_ends,
    with_ends,
)
from app.widgets.results.picture import ChoosingTable
from app.widgets.screen import set_shown
from app.widgets.tables import Column, ColumnsModel, Index, apply_style
from app.widgets.text import numbers
from app.widgets.text.labels import Text, one_line, visible
from engine.results.agreement import TITLES, AgreementRow, pair_counts, rows_of_pair
from engine.results.classes import Confusion
from engine.results.intervals import UNKNOWN, Interval

MATRIX_HEIGHT = 64 * SPACE  # px
MAX_CLASSES = 500  # of a matrix, which takes their square of memory
MAX_ROWS = 12  # of the table by label, without scrolling
Row = TypeVar("Row")


class AgreementCard(Card):
    """The agreement of all coders, or of two of them.

    Signals:
        rows_requested: rows to list, int64 [N], and their title.
        decision_requested: decide the rows in dispute one by one.
        majority_requested: decide them by majority.
    """

    rows_requested = Signal(object, str)
    decision_requested = Signal()
    majority_requested = Signal()

    def __init__(self, state: AgreementState, notices: Notices) -> None:
        super().__init__("")
        self._state = state
        self.title = Text(self.tr("Agreement of coders"), "heading")
        self.save = FigureButton(self.figure, notices)
        self.summary = Text("", "muted")
        self.coders = ComboBox(self.tr("Coders"))
        self.coders.currentIndexChanged.connect(lambda _: self._show_part())
        self.figures = ColumnsModel[tuple[str, Interval]](_figure_columns(), self)
        self.figures_table = _table(self.figures, self.tr("Coefficients of agreement"))
        self.matrix = CoderMatrix()
        self.save.offer_on(self.matrix)
        self.matrix.pressed.connect(self._on_cell)
        self.rows = ColumnsModel[AgreementRow](_row_columns("alpha"), self)
        self.rows_table = _table(self.rows, self.tr("Agreement by label"))
        self.rows_table.chosen.connect(self._on_row)
        self.note = Text("", "small")
        self.decide = buttons.plain("", self.decision_requested.emit)
        self.majority = buttons.quiet("", self.majority_requested.emit)
        head = layouts.row((self.title, 1), self.save, HelpButton("agreement"))
        set_help(self, "agreement")
        layouts.extend(self.body, head, self.summary, self.coders, self.figures_table)
        layouts.extend(self.body, self.matrix, self.rows_table, self.note)
        layouts.extend(self.body, layouts.row(self.decide, self.majority, layouts.STRETCH))
        state.changed.connect(self._show)
        self.hide()

    def show_open(self, rows: int, with_majority: int) -> None:
        """Show how many rows in dispute have no label yet, and of how many most coders agree."""
        measured = self._state.measured
        self.decide.setVisible(rows > 0)
        self.majority.setVisible(with_majority > 0)
        buttons.set_text(self.decide, self.tr("&Decide %Ln row(s)", "", rows))
        is_mean = measured is not None and measured.codings.kind == "numbers"
        text = self.tr("By the &mean…") if is_mean else self.tr("By &majority…")
        buttons.set_text(self.majority, text)

    def figure(self) -> Figure | None:
        """The matrix, or else the table by label or of the coefficients."""
        if self.matrix.isVisibleTo(self):
            return matrix_figure(self.matrix)
        model = self.rows if self.rows.rows else self.figures
        title = self.tr("Agreement of coders")
        return table_figure(model, "agreement", title, self._names(), self._numbers)

    # ── contents ─────────────────────────────────────────────────────────────────────────────

    def _show(self) -> None:
        state = self._state
        set_shown(self, len(state.coders) > 1)
        measured = state.measured
        for widget in (self.save, self.coders, self.figures_table, self.matrix, self.rows_table):
            widget.setVisible(measured is not None)
        if measured is None:
            self.summary.setText(state.problem or self.tr("Comparing the coders…"))
            return
        pairs = [self.tr("All coders"), *(" – ".join(row.coders) for row in measured.table.pairs)]
        self.coders.clear()
        self.coders.addItems([one_line(name, 80) for name in pairs])
        self.coders.setVisible(len(pairs) > 1)
        labels = measured.table.labels
        self.rows.show_rows(labels, _row_columns(main_figure(labels[0]) if labels else "alpha"))
        _fit(self.rows_table)
        self.rows_table.setVisible(bool(labels))
        self._show_part()

    def _show_part(self) -> None:
        measured, part = self._state.measured, self._part()
        if measured is None or part is None:
            return
        text = self.tr("{0}: {1} rows coded by two or more, {2} in dispute.")
        counts = numbers.count(part.coded), numbers.count(len(part.disputed))
        self.summary.setText(text.format(self._names(), *counts))
        shown = [(in_language(TITLES[name]), figure) for name, figure in part.figures.items()]
        self.figures.show_rows(shown)
        _fit(self.figures_table)
        self.matrix.show_codings(measured, self._pair())
        self.matrix.setVisible(self.matrix.confusion is not None)
        note = self.tr("Values with 95 % intervals. Click a cell or a line to list its rows.")
        self.note.setText(f"{note} {translated(measured.table.note)}".strip())

    def _part(self) -> AgreementRow | None:
        """The part of the chosen coders."""
        measured = self._state.measured
        if measured is None:
            return None
        index = max(self.coders.currentIndex(), 0)
        return (measured.table.overall, *measured.table.pairs)[index]

    def _pair(self) -> tuple[int, int] | None:
        """Indices of the two coders; None for more."""
        part, coders = self._part(), self._state.coders
        if part is None or len(part.coders) != 2:
            return None
        first, second = map(coders.index, part.coders)
        return first, second

    def _names(self) -> str:
        part = self._part()
        return "" if part is None else ", ".join(visible(name[:40]) for name in part.coders)

    def _numbers(self) -> Table:
        measured = self._state.measured
        assert measured is not None
        lines = [
            (row.name, ", ".join(row.coders), row.coded, len(row.disputed), name, *figure)
            for row in (measured.table.overall, *measured.table.labels, *measured.table.pairs)
            for name, figure in row.figures.items()
        ]
        header = ("label", "coders", "rows", "disputed", "coefficient", "value", "low", "high")
        return Table(header, lines)

    # ── rows ─────────────────────────────────────────────────────────────────────────────────

    def _on_row(self, index: Index) -> None:
        row = self.rows.row(index.row())
        title = self.tr("Rows on which coders disagree about “{0}”").format(row.name[:60])
        self.rows_requested.emit(row.disputed, title)

    def _on_cell(self, cell: Cell) -> None:
        rows, title = self.matrix.rows_of(cell)
        self.matrix.mark(cell)
        self.rows_requested.emit(rows, title)


class CoderMatrix(Matrix):
    """Labels of one coder by those of another one; of more coders, rows in dispute by pair."""

    def __init__(self) -> None:
        super().__init__()
        self._measured: Measured | None = None
        self._pair: tuple[int, int] | None = None
        self.setFixedHeight(px(MATRIX_HEIGHT))

    def show_codings(self, measured: Measured, pair: tuple[int, int] | None) -> None:
        """Show two coders, by index, or all if `pair` is None."""
        codings = measured.codings
        self._measured, self._pair = measured, pair
        if pair is not None and codings.kind == "classes" and len(codings.cells) <= MAX_CLASSES:
            first, second = pair
            self.titles = codings.coders[first][:60], codings.coders[second][:60]
            self.show_confusion(Confusion(codings.cells, pair_counts(codings, first, second)))
            text = self.tr("Labels by “{0}” in rows, by “{1}” in columns").format(*self.titles)
            self.setAccessibleName(text)
        elif pair is None:
            counts = np.zeros((len(codings.coders), len(codings.coders)), dtype=np.int64)
            for row in measured.table.pairs:
                first, second = map(codings.coders.index, row.coders)
                counts[first, second] = counts[second, first] = len(row.disputed)
            self.titles = (self.tr("Coder"),) * 2
            self.show_confusion(Confusion(codings.coders, counts))
            self.setAccessibleName(self.tr("Rows in dispute by pair of coders"))
        else:
            self.confusion = None

    def sentence(self, cell: Cell) -> str:
        assert self._measured is not None
        rows, title = self.rows_of(cell)
        return self.tr("{0}: %Ln row(s)", "", len(rows)).format(title)

    def rows_of(self, cell: Cell) -> tuple[NDArray[np.int64], str]:
        """The rows of a cell, row or column, and their title."""
        assert self._measured is not None and self.confusion is not None
        codings = self._measured.codings
        first, second = (int(self.shown[n]) if n >= 0 else None for n in cell)
        if self._pair is None:
            chosen = [codings.coders[n] for n in (first, second) if n is not None]
            parts = [row for row in self._measured.table.pairs if {*chosen} <= {*row.coders}]
            is_self = first is not None and first == second
            disputed = [row.disputed for row in parts] if not is_self else []
            names = ", ".join(dict.fromkeys(chosen))
            title = self.tr("Rows in dispute between {0}").format(names)
            return np.unique(np.concatenate([np.zeros(0, np.int64), *disputed])), title
        rows = rows_of_pair(codings, *self._pair, (first, second))
        codes = zip(self.titles, (first, second), strict=True)
        named = [f"{coder}: {codings.cells[code]}" for coder, code in codes if code is not None]
        return rows, " · ".join(named)

    def figure_texts(self) -> tuple[str, str, str]:
        if self._pair is None:
            return self.tr("Rows in dispute"), self.tr("Rows in dispute by pair of coders."), ""
        first, second = self.titles
        caption = self.tr("Rows: labels by {0}; columns: labels by {1}.").format(first, second)
        return self.tr("Labels of two coders"), caption, f"{first} \\ {second}"


def main_figure(row: AgreementRow) -> str:
    """The coefficient shown by label: the first one that corrects for chance, or F1 of spans."""
    others = (name for name in row.figures if name != "agreement")
    return next(others, "agreement")


def _figure_columns() -> list[Column[tuple[str, Interval]]]:
    return [
        Column(tr("Coefficient"), lambda line: line[0], tooltip=lambda line: line[0]),
        _interval_column(tr("Value"), lambda line: line[1]),
    ]


def _row_columns(name: str) -> list[Column[AgreementRow]]:
    return [
        Column(
            tr("Label"),
            lambda row: visible(row.name[:100]),
            value=lambda row: row.name,
            tooltip=lambda row: row.name,
        ),
        Column(tr("In dispute"), lambda row: numbers.count(len(row.disputed)), align_right=True),
        _interval_column(in_language(TITLES[name]), lambda row: row.figures.get(name, UNKNOWN)),
    ]


def _interval_column(title: str, interval: Callable[[Row], Interval]) -> Column[Row]:
    """A figure above its interval."""

    def value(row: Row) -> str:
        return with_ends(interval(row)._replace(low=math.nan, high=math.nan), _number)

    return Column(
        title,
        lambda row: with_ends(interval(row), _number),
        value=lambda row: interval(row).value,
        align_right=True,
        roles={VALUE: value, ENDS: lambda row: format_ends(interval(row), _number)},
    )


def _number(value: float) -> str:
    return numbers.decimal(value, 3)


def _table(model: ColumnsModel[Any], name: str) -> ChoosingTable:
    table = ChoosingTable()
    table.setModel(model)
    apply_style(table, name)
    table.verticalHeader().hide()
    header = table.horizontalHeader()
    header.setHighlightSections(False)
    header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
    header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
    table.setItemDelegateForColumn(model.columnCount() - 1, IntervalDelegate(table))
    table.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
    return table


def _fit(table: ChoosingTable) -> None:
    """Give a table the height of its rows, at most `MAX_ROWS` of them."""
    rows = range(min(table.model().rowCount(), MAX_ROWS))
    height = sum(map(table.sizeHintForRow, rows)) + len(rows)
    frame = 2 * table.frameWidth()
    table.setFixedHeight(height + table.horizontalHeader().sizeHint().height() + frame)
