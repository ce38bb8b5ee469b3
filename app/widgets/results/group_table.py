"""Groups of rows with their scores as a table with bars; a line selects the rows of its group."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QHeaderView, QStyledItemDelegate, QStyleOptionViewItem

from app.theme import SPACE, Role, colour, px
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
MIN_TOKEN_COUNT, MAX_TOKENS = 5, 50


class Line(NamedTuple):
    """One group and its name in the table; `loss` is the mean of its rows or NaN."""

    group: Group
    name: str
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


def group_lines(predictions: Predictions, by: Iterable[Conditions]) -> Lines:
    """Return the groups of rows with these conditions."""
    scores = row_scores(predictions)
    lines = tuple(Line(group, group.name) for group in groups(predictions, by))
    return Lines(lines, scores.name, scores.higher_is_better)


def token_lines(predictions: Predictions, by: Iterable[Conditions]) -> Lines:
    """Groups of masked tokens with their mean loss, and short names."""
    measured, losses = group_lines(predictions, by), figure(predictions, "loss")
    lines = tuple(
        Line(
            line.group,
            short_name(line.group.conditions),
            float(losses[mask(predictions, line.group.conditions)].mean()),
        )
        for line in measured.lines
    )
    return replace(measured, lines=lines)


def short_name(conditions: Conditions) -> str:
    """A range of whole numbers as “10 – 99”, a label unchanged."""
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
        self.table.setItemDelegateForColumn(COUNT, CountBarDelegate(self.table))
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
        most = max((line.group.count for line in self.measured.lines), default=0) or 1
        return [
            Column(
                self.tr("Where"),
                lambda line: visible(translated(line.name)).replace("\n", " "),
                tooltip=lambda line: translated(line.name),
            ),
            Column(
                self.tr("Score"),
                lambda line: score_text(line.group.score, is_share),
                align_right=True,
            ),
            Column(
                in_language(self.count_title),
                lambda line: numbers.count(line.group.count),
                roles={SHARE: lambda line: line.group.count / most},
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
            return self.tr("There are no groups to compare.")
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
        rows = [
            (str(name), *group.score, group.count, loss) for group, name, loss in measured.lines
        ]
        name = translated(measured.score_name)
        template = self.tr("Score: {0} in %, with the 95 % interval.")
        return table_figure(
            drawn,
            self.key,
            in_language(self.title),
            template.format(name) if name and measured.is_share else name,
            lambda: Table(("where", "score", "low", "high", "rows", "loss"), rows),
        )

    def _on_pressed(self, index: Index) -> None:
        self.chosen.emit(self.measured.lines[index.row()].group.conditions)


class CountBarDelegate(QStyledItemDelegate):
    """Paints a count over a bar."""

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(px(16 * SPACE), option.fontMetrics.height() + 2 * SPACE)

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


# ── groups ───────────────────────────────────────────────────────────────────────────────────


def group_picture(
    key: str,
    title: str,
    measure: Callable[[Predictions], Lines],
    count_title: str = GroupPicture.count_title,
) -> type[GroupPicture]:
    """A kind of picture with the groups that `measure` returns."""
    attributes = {"key": key, "title": title, "count_title": count_title}
    return type("GroupPicture", (GroupPicture,), attributes | {"measure": staticmethod(measure)})


LengthPicture = group_picture(
    "length",
    marked("By length"),
    lambda predictions: group_lines(predictions, by_figure(predictions, "words")),
)
FirstWordPicture = group_picture(
    "question",
    marked("By kind of question"),
    lambda predictions: group_lines(
        predictions, by_first_word(predictions, text_columns(predictions)[0])
    ),
)
PositionPicture = group_picture(
    "position",
    marked("By position of the correct choice"),
    lambda predictions: group_lines(predictions, by_label(predictions)),
)
MarginPicture = group_picture(
    "margin",
    marked("By margin"),
    lambda predictions: group_lines(predictions, by_figure(predictions, "margin")),
)
FrequencyPicture = group_picture(
    "frequency",
    marked("By frequency in the training text"),
    lambda predictions: token_lines(predictions, by_powers(predictions, OCCURRENCES)),
)
TokenPositionPicture = group_picture(
    "token-position",
    marked("By position in the input"),
    lambda predictions: token_lines(predictions, by_quantile(predictions, POSITION)),
)
WorstTokensPicture = group_picture(
    "worst-tokens",
    marked("Tokens with the highest loss"),
    lambda predictions: token_lines(
        predictions, worst_labels(predictions, MIN_TOKEN_COUNT, MAX_TOKENS)
    ),
)


def error_kinds(predictions: Predictions) -> Lines:
    """Spans that are missed, spurious, or have a wrong boundary or type."""
    counts = {kind: count for kind, count in kind_counts(predictions).items() if count}
    return Lines(
        tuple(
            Line(Group(kind_conditions(kind), count, UNKNOWN), ERROR_NAMES[kind])
            for kind, count in counts.items()
        )
    )


SpanErrorsPicture = group_picture(
    "errors", marked("Kinds of error"), error_kinds, count_title=marked("Spans")
)
