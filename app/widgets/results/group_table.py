"""Groups of rows with their scores as a table with bars; a line selects the rows of its group."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QHeaderView, QStyledItemDelegate, QStyleOptionViewItem

from app.theme import SPACE, Role, colour
from app.translation import in_language, marked, translated
from app.widgets import layouts
from app.widgets.charts.figure import Figure, Table
from app.widgets.charts.table_figure import table_figure
from app.widgets.results.intervals import per_cent, with_ends
from app.widgets.results.picture import ChoosingTable, ResultPicture
from app.widgets.tables import Column, ColumnsModel, Index, apply_style
from app.widgets.text import numbers
from app.widgets.text.labels import Text, visible
from engine.results.conditions import CellBetween, Conditions, LabelIs, mask, sentence
from engine.results.groups import (
    Group,
    RowScores,
    by_figure,
    by_first_word,
    by_label,
    by_powers,
    by_quantile,
    groups,
    row_scores,
    worst_labels,
)
from engine.results.intervals import UNKNOWN, Interval
from engine.results.masked_tokens import OCCURRENCES, POSITION
from engine.results.predictions import Predictions
from engine.results.row_figures import figure, text_columns
from engine.results.span_figures import kind_conditions, kind_counts
from engine.results.spans import ERROR_NAMES

NAME, SCORE, COUNT, LOSS = range(4)
SHARE = Qt.ItemDataRole.UserRole
LEAST_OF_A_TOKEN, SHOWN_TOKENS = 5, 50


@dataclass(frozen=True)
class Line:
    """One group: its conditions, size and score; `loss` is the mean of its rows or NaN."""

    name: str
    count: int
    score: Interval
    conditions: Conditions
    loss: float = math.nan


@dataclass(frozen=True)
class Lines:
    """All groups and the name of their score, “” without one."""

    lines: tuple[Line, ...]
    score_name: str = ""
    is_share: bool = True

    @property
    def has_losses(self) -> bool:
        return any(not math.isnan(line.loss) for line in self.lines)


def lines_of(predictions: Predictions, by: Callable[[Predictions], Any]) -> Lines:
    """Groups of the rows, as divided by `by`."""
    scores: RowScores = row_scores(predictions)
    found: tuple[Group, ...] = groups(predictions, by(predictions))
    lines = tuple(Line(one.name, one.count, one.score, one.conditions) for one in found)
    return Lines(lines, scores.name, scores.higher_is_better)


def token_lines(predictions: Predictions, by: Callable[[Predictions], Any]) -> Lines:
    """Groups of masked tokens with their mean loss, and short names."""
    measured, losses = lines_of(predictions, by), figure(predictions, "loss")
    lines = tuple(
        replace(
            line,
            name=short_name(line.conditions),
            loss=float(losses[mask(predictions, line.conditions)].mean()),
        )
        for line in measured.lines
    )
    return replace(measured, lines=lines)


def short_name(conditions: Conditions) -> str:
    """A range of whole numbers as “10 – 99”, a label as it is."""
    match conditions:
        case (CellBetween(least=least, most=most),):
            low = int(least or 0)
            if most is None:
                return f"≥ {numbers.count(low)}"
            high = math.ceil(most) - 1
            ends = dict.fromkeys((numbers.count(low), numbers.count(high)))
            return " – ".join(ends)
        case (LabelIs(label=label),):
            return label
    return str(sentence(conditions))


class GroupPicture(ResultPicture):
    """A table of groups; subclasses define the groups."""

    count_title = marked("Rows")

    def __init__(self) -> None:
        super().__init__()
        self.measured = Lines(())
        self.model = ColumnsModel[Line](parent=self)
        self.table = ChoosingTable()
        self.table.setModel(self.model)
        apply_style(self.table, in_language(self.title))
        self.table.setTextElideMode(Qt.TextElideMode.ElideMiddle)  # many have a common beginning
        self.table.verticalHeader().hide()
        self.table.setItemDelegateForColumn(COUNT, CountBar(self.table))
        header = self.table.horizontalHeader()
        header.setHighlightSections(False)
        self.note = Text("", "small")
        self.column = layouts.column((self.table, 1), self.note, parent=self, spacing=2 * SPACE)
        self.table.chosen.connect(self._on_pressed)

    def show_measured(self, measured: Lines) -> None:
        self.measured = measured
        self.model.show_rows(measured.lines, self._columns())
        header = self.table.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(NAME, QHeaderView.ResizeMode.Stretch)
        self.table.setColumnHidden(SCORE, not measured.score_name)
        self.table.setColumnHidden(LOSS, not measured.has_losses)
        self.note.setText(self.note_text(measured))

    def _columns(self) -> list[Column[Line]]:
        is_share = self.measured.is_share
        most = max((line.count for line in self.measured.lines), default=0) or 1
        return [
            Column(
                self.tr("Where"),
                lambda line: visible(translated(line.name)).replace("\n", " "),
                tooltip=lambda line: translated(line.name),
            ),
            Column(
                self.tr("Score"), lambda line: score_text(line.score, is_share), align_right=True
            ),
            Column(
                in_language(self.count_title),
                lambda line: numbers.count(line.count),
                roles={SHARE: lambda line: line.count / most},
            ),
            Column(
                self.tr("Loss"),
                lambda line: "" if math.isnan(line.loss) else numbers.decimal(line.loss, 3),
                align_right=True,
            ),
        ]

    def note_text(self, measured: Lines) -> str:
        """The note below the table."""
        if not measured.lines:
            return self.tr("There is nothing to tell apart here.")
        if not measured.score_name:
            return self.tr("Click a line to list its rows.")
        name = translated(measured.score_name)
        return self.tr("Score: {0}, with a 95 % interval. Click a line to list its rows.").format(
            name
        )

    def show_chosen(self, conditions: Conditions) -> None:
        if not conditions:
            self.table.clearSelection()

    def figure(self) -> Figure | None:
        measured = self.measured
        if not measured.lines:
            return None
        shown = [c for n, c in enumerate(self._columns()) if not self.table.isColumnHidden(n)]
        drawn = ColumnsModel(shown)
        drawn.show_rows(measured.lines)
        rows = [(str(one.name), *one.score, one.count, one.loss) for one in measured.lines]
        return table_figure(
            drawn,
            self.key,
            in_language(self.title),
            translated(measured.score_name),
            lambda: Table(("where", "score", "low", "high", "rows", "loss"), rows),
        )

    def _on_pressed(self, index: Index) -> None:
        self.chosen.emit(self.measured.lines[index.row()].conditions)


class CountBar(QStyledItemDelegate):
    """Paints a count over a bar."""

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(16 * SPACE, option.fontMetrics.height() + 2 * SPACE)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        box = QRectF(option.rect).adjusted(SPACE, 4, -SPACE, -4)
        bar = QRectF(box)
        bar.setWidth(max(2.0, box.width() * float(index.data(SHARE) or 0)))
        painter.save()
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(colour(Role.CHART_1, 0.3))
        painter.drawRoundedRect(bar, 2, 2)
        painter.setPen(colour(Role.TEXT))
        painter.setFont(option.font)
        middle = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight
        painter.drawText(box.adjusted(0, 0, -SPACE, 0), middle, str(index.data()))
        painter.restore()


def score_text(score: Interval, is_share: bool) -> str:
    """82.1 (79.0 to 85.0) in per cent, or plain numbers; “–” without rows."""
    return with_ends(score, per_cent if is_share else partial(numbers.decimal, places=3))


# ── the groups ───────────────────────────────────────────────────────────────────────────────


def _measure(by: Callable[[Predictions], Any]) -> Any:
    return staticmethod(lambda predictions: lines_of(predictions, by))


class LengthPicture(GroupPicture):
    """By number of words."""

    key = "length"
    title = marked("By length")
    measure: ClassVar[Any] = _measure(lambda predictions: by_figure(predictions, "words"))


class FirstWordPicture(GroupPicture):
    """By the first word of the text, a question."""

    key = "question"
    title = marked("By kind of question")
    measure: ClassVar[Any] = _measure(
        lambda predictions: by_first_word(predictions, text_columns(predictions)[0])
    )


class PositionPicture(GroupPicture):
    """By the position of the correct choice."""

    key = "position"
    title = marked("By position of the correct choice")
    measure: ClassVar[Any] = _measure(by_label)


class MarginPicture(GroupPicture):
    """By the margin of the best choice over the next."""

    key = "margin"
    title = marked("By margin")
    measure: ClassVar[Any] = _measure(lambda predictions: by_figure(predictions, "margin"))


class FrequencyPicture(GroupPicture):
    """By the frequency of the masked token in the training text."""

    key = "frequency"
    title = marked("By frequency in the training text")
    measure: ClassVar[Any] = staticmethod(
        lambda found: token_lines(found, lambda one: by_powers(one, OCCURRENCES))
    )


class TokenPositionPicture(GroupPicture):
    """By the position of the masked token in its input."""

    key = "token-position"
    title = marked("By position in the input")
    measure: ClassVar[Any] = staticmethod(
        lambda found: token_lines(found, lambda one: by_quantile(one, POSITION))
    )


class WorstTokensPicture(GroupPicture):
    """The tokens with the highest loss among those that occur several times."""

    key = "worst-tokens"
    title = marked("Tokens with the highest loss")
    measure: ClassVar[Any] = staticmethod(
        lambda found: token_lines(
            found, lambda one: worst_labels(one, LEAST_OF_A_TOKEN, SHOWN_TOKENS)
        )
    )


def _kinds(predictions: Predictions) -> Lines:
    counted = kind_counts(predictions)
    return Lines(
        tuple(
            Line(ERROR_NAMES[kind], count, UNKNOWN, kind_conditions(kind))
            for kind, count in counted.items()
            if count
        )
    )


class SpanErrorsPicture(GroupPicture):
    """Spans that are missed, spurious, or have a wrong boundary or type."""

    key = "errors"
    title = marked("Kinds of error")
    count_title = marked("Spans")
    measure: ClassVar[Any] = staticmethod(_kinds)
