"""Statistics of every head in this text, and its value for the selected pair, as a table.

The sorting column tints the head grid. Shapes: L layers, H heads.
"""

import re
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from PySide6.QtCore import QModelIndex, QObject, QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QStaticText
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QTableView, QWidget

from app import background
from app.pages.explore.captions import source
from app.pages.explore.head_columns import MEASURES
from app.pages.explore.panels.attention.maps import read_mapped
from app.pages.explore.panels.attention.state import AttentionState, Head
from app.pages.explore.paper import paint_matrix
from app.resources import mono_font
from app.theme import SPACE, Role, colour, print_color, shade
from app.translation import in_language, tr
from app.widgets import layouts
from app.widgets.charts.figure import Figure, Table
from app.widgets.forms.controls import SearchField
from app.widgets.tables import Column, ColumnsModel, Index, make_table
from app.widgets.text import numbers
from app.widgets.text.chips import token_text
from app.widgets.text.labels import Text
from engine.messages.explore.head_measures import KEYS, HeadFigures, head_figures, pair_values

PAIR = "pair"  # column of the selected pair
PAIRS = "pairs"  # column of the sum of typed pairs
ARROW = re.compile(r"→|->|>")
DIGITS = 3
HEAD, PATTERN, FIRST = 0, 1, 2  # table columns
PADDING = 2 * SPACE  # px on either side of a cell
MAX_CACHED_TEXTS = 4000
FIGURE_SIZES = (36, 60, 30)  # px: widths of a layer's number and of a cell, row height
Pair = tuple[tuple[int, ...], tuple[int, ...]]  # query tokens and key tokens


class HeadsState(QObject):
    """Head statistics of the shown maps, as far as they are computed.

    Signals:
        changed: the statistics, or the selected pair; only while visible.
        column_changed: the sorting column.
    """

    changed = Signal()
    column_changed = Signal()

    def __init__(self, attention: AttentionState) -> None:
        super().__init__(attention)
        self.attention = attention
        self.figures: HeadFigures | None = None
        self.column = KEYS[0]
        self.typed_pairs = ""  # e.g. “it → cat, sat → cat”
        self.is_active = False
        self._work: background.Job | None = None
        attention.maps.replaced.connect(self._on_replaced)
        attention.maps.grown.connect(lambda _: self._compute())
        attention.explore.picked_changed.connect(self._emit_if_active)
        attention.explore.target_changed.connect(self._emit_if_active)

    @property
    def pair(self) -> tuple[int, int] | None:
        query, key = self.attention.pair_tokens
        count = len(self.attention.maps.tokens)
        return (query, key) if 0 <= query < count and 0 <= key < count else None

    @property
    def keys(self) -> tuple[str, ...]:
        """Columns of values. Norms do not sum to 1 and have no statistics, only the pair."""
        pair = (PAIR,) if self.pair is not None else ()
        typed = (PAIRS,) if self.pairs()[0] else ()
        return typed + pair + (() if self.attention.maps.shown_measure == "norms" else KEYS)

    @property
    def size(self) -> tuple[int, int]:
        """Computed layers, and heads."""
        weights = self.attention.maps.weights
        if weights is None:
            return 0, 0
        if self.attention.maps.shown_measure == "norms":
            return weights.shape[0], weights.shape[1]
        return (0, 0) if self.figures is None else self.figures.values.shape[:2]

    def values(self, key: str) -> np.ndarray | None:
        """A column, float64 [L, H]; None if it is missing."""
        layers, weights = self.size[0], self.attention.maps.weights
        if weights is None or not layers or key not in self.keys:
            return None
        if key == PAIR:
            assert self.pair is not None
            query, key_token = self.pair
            return read_mapped(lambda read: pair_values(read, query, key_token), weights[:layers])
        if key == PAIRS:
            pairs = self.pairs()[0]
            return read_mapped(lambda read: pairs_values(read, pairs), weights[:layers])
        return self.figures.get(key) if self.figures is not None else None

    def pattern(self, layer: int, head: int) -> str:
        """Name of a positional head's pattern, with its fraction of the tokens; else “”."""
        figures = self.figures
        if figures is None or self.attention.maps.shown_measure == "norms":
            return ""
        if not figures.positional[layer, head]:
            return ""
        percentage = numbers.percent(figures.get("offset_share")[layer, head], 0)
        offset = int(figures.offsets[layer, head])
        names = {
            -1: self.tr("previous token ({0})"),
            0: self.tr("itself ({0})"),
            1: self.tr("next token ({0})"),
        }
        if offset in names:
            return names[offset].format(percentage)
        sign = "+" if offset > 0 else "−"
        return self.tr("offset {1} ({0})").format(percentage, f"{sign}{abs(offset)}")

    def set_pairs(self, typed: str) -> None:
        """Set the pairs of words or token numbers to add up."""
        if typed != self.typed_pairs:
            self.typed_pairs = typed
            self.changed.emit()

    def pairs(self) -> tuple[list[Pair], list[str]]:
        """Tokens of both ends of each typed pair, and the ends that are not in the text."""
        pairs: list[Pair] = []
        missing: list[str] = []
        for part in filter(None, (part.strip() for part in self.typed_pairs.split(","))):
            ends = [end.strip() for end in ARROW.split(part)]
            if len(ends) != 2:
                missing.append(part)
                continue
            query, key = (self._find_tokens(end) for end in ends)
            missing += [end for end, tokens in zip(ends, (query, key), strict=True) if not tokens]
            if query and key:
                pairs.append((query, key))
        return pairs, missing

    def _find_tokens(self, end: str) -> tuple[int, ...]:
        """Tokens of the first such word, or the token of this name or number."""
        side, tokens = self.attention.maps.side, self.attention.maps.tokens
        if not end or tuple(side.tokens) != tuple(tokens):
            return ()
        for index, token in enumerate(tokens):
            word = () if token.special else side.word_tokens(index)
            if word:
                first, last = tokens[word[0]], tokens[word[-1]]
                word_text = side.texts[token.segment][first.start : last.end]
                if word_text.casefold() == end.casefold():
                    return tuple(word)
        for index, token in enumerate(tokens):
            if token.text.casefold() == end.casefold():
                return (index,)
        is_number = end.isdecimal() and 0 < int(end) <= len(tokens)
        return (int(end) - 1,) if is_number else ()

    def name(self, key: str) -> str:
        if key == PAIRS:
            return self.tr("Typed pairs")
        if key != PAIR:
            return in_language(MEASURES[KEYS.index(key)].name)
        query, key_token = self._pair_names()
        return f"{query} → {key_token}"

    def meaning(self, key: str) -> str:
        if key == PAIRS:
            text = self.tr(
                "{0}, summed over the pairs {1}; words of several tokens: the sum over key tokens, "
                "the mean over query tokens"
            )
            return text.format(in_language(self.attention.texts.value), self._format_pairs())
        if key != PAIR:
            return in_language(MEASURES[KEYS.index(key)].meaning)
        text = self.tr("{0} of the selected pair: from “{1}” to “{2}”")
        return text.format(in_language(self.attention.texts.value), *self._pair_names())

    def set_active(self, active: bool) -> None:
        """Set if the table is visible; computes the statistics."""
        if active != self.is_active:
            self.is_active = active
            self._emit_if_active()
            self._compute()
            self.column_changed.emit()

    def _emit_if_active(self) -> None:
        if self.is_active:
            self.changed.emit()

    def sort_by(self, key: str) -> None:
        if key != self.column:
            self.column = key
            self.column_changed.emit()

    def _format_pairs(self) -> str:
        """Format typed pairs as “it → cat, sat → cat”."""
        side = self.attention.maps.side
        texts = []
        for ends in self.pairs()[0]:
            names = ("".join(token_text(side.model_token(n)) for n in end) for end in ends)
            texts.append(" → ".join(names))
        return ", ".join(texts)

    def _pair_names(self) -> tuple[str, str]:
        side = self.attention.maps.side
        ends = self.pair or (0, 0)
        query, key = (token_text(side.model_token(n)) if n < len(side.tokens) else "" for n in ends)
        return query, key

    def _on_replaced(self) -> None:
        self.figures = None
        if self._work is not None:
            self._work.cancel()
            self._work = None
        self._emit_if_active()
        self._compute()

    def _compute(self) -> None:
        maps = self.attention.maps
        weights, done = maps.weights, 0 if self.figures is None else len(self.figures.values)
        is_due = self.is_active and self._work is None and maps.shown_measure != "norms"
        if not is_due or weights is None or done >= len(weights):
            return
        tokens, model = maps.tokens, maps.side.model
        causal = bool(model and model.info and model.info.causal)
        more = weights[done:]
        self._work = background.run(
            self,
            lambda: read_mapped(lambda layers: head_figures(layers, tokens, causal), more),
            self._on_figures,
        )

    def _on_figures(self, more: HeadFigures) -> None:
        self._work, before = None, self.figures
        if before is not None:
            more = HeadFigures(
                np.concatenate((before.values, more.values)),
                np.concatenate((before.offsets, more.offsets)),
                more.queries,
            )
        self.figures = more
        self.changed.emit()
        self._compute()


def pairs_values(weights: np.ndarray, pairs: Sequence[Pair]) -> np.ndarray:
    """Sum of typed pairs for every head, float64 [L, H], from float [L, H, T, T].

    A pair is the mean over its query tokens of the sum over its key tokens (Clark et al. 2019,
    section 4.1).
    """
    sums = np.zeros(weights.shape[:2])
    for queries, keys in pairs:
        block = np.asarray(weights[:, :, list(queries)][..., list(keys)], dtype=np.float64)
        sums += block.sum(-1).mean(-1)
    return sums


class HeadsModel(ColumnsModel[Head]):
    """Table model of the heads, in the order of the sorting column."""

    def __init__(self, state: HeadsState) -> None:
        super().__init__(parent=state)
        self._state = state
        self.keys: tuple[str, ...] = ()
        self._values: dict[str, np.ndarray] = {}
        self._sorting = FIRST, Qt.SortOrder.DescendingOrder
        state.changed.connect(self._update)
        self._update()

    @property
    def sorted_by(self) -> tuple[int, Qt.SortOrder]:
        return self._sorting

    def text(self, row: int, column: int) -> str:
        return self.columns[column].text(self.row(row)) or ""

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Sort; equal values by layer and head, patterns by their fraction of the tokens."""
        super().sort(column, order)
        self._follow_column()

    def find_row(self, layer: int, head: int) -> int:
        target = (layer, head)
        return next((n for n in range(len(self.order)) if self.row(n) == target), -1)

    def _follow_column(self) -> None:
        column = self._sorting[0]
        if FIRST <= column < len(self.columns):
            self._state.sort_by(self.keys[column - FIRST])
        elif column == PATTERN:
            self._state.sort_by("offset_share")

    def _update(self) -> None:
        keys = self._state.keys
        self._values = {k: v for k in keys if (v := self._state.values(k)) is not None}
        shown = tuple(key for key in keys if key in self._values)
        rows: list[Head] = list(np.ndindex(*self._state.size)) if shown else []
        same_shape = shown == self.keys and len(rows) == len(self.rows)
        if keys != self.keys and shown and shown[0] in (PAIR, PAIRS):
            self._sorting = FIRST, Qt.SortOrder.DescendingOrder  # a selected pair sorts the heads
        if not same_shape:
            self.beginResetModel()
        self.keys, self.rows = shown, rows
        self.columns = self._columns()
        self.order = self._sorted_order()
        if not same_shape:
            self.endResetModel()
        elif rows:  # another pair: a reset would take one more frame
            last = self.index(len(rows) - 1, len(self.columns) - 1)
            self.dataChanged.emit(self.index(0, 0), last)
            pair_columns = sum(key in (PAIR, PAIRS) for key in shown)
            if pair_columns:  # other headings stay
                horizontal = Qt.Orientation.Horizontal
                self.headerDataChanged.emit(horizontal, FIRST, FIRST + pair_columns - 1)
        if self._sorting[0] >= FIRST:
            self._follow_column()

    def _columns(self) -> list[Column[Head]]:
        column, state = partial(Column[Head], font=lambda _: mono_font()), self._state
        fractions = self._values.get("offset_share")
        head_column = column(
            self.tr("Head"),
            lambda head: f"{head[0] + 1}.{head[1] + 1}",
            meaning=self.tr("Layer and head, counted from 1"),
            sort_key=lambda head: head,
        )
        pattern_column = column(
            self.tr("Pattern"),
            lambda head: state.pattern(*head),
            meaning=self.tr("Positional head: at least 90 % of its largest weights at one offset"),
            sort_key=lambda head: 0 if fractions is None else fractions[head],
            descending_first=True,
        )

        def value_column(key: str) -> Column[Head]:
            values = self._values[key]
            return column(
                state.name(key),
                lambda head: f"{values[head]:.{DIGITS}f}",
                align_right=True,
                meaning=state.meaning(key),
                sort_key=lambda head: values[head],
                descending_first=True,
            )

        return [head_column, pattern_column, *map(value_column, self.keys)]


class HeadsTable(QWidget):
    """Table of heads with a note; the current row is the current head."""

    def __init__(self, state: HeadsState) -> None:
        super().__init__()
        self._state = state
        self.rows = HeadsModel(state)
        self.table = make_table(self.tr("Attention heads"), self.rows)
        self.table.setItemDelegate(HeadCellDelegate(self.rows.text, FIRST, self.table))
        header = self.table.horizontalHeader()
        header.setSectionsClickable(True)
        header.setSortIndicator(FIRST, Qt.SortOrder.DescendingOrder)
        header.setMinimumSectionSize(14 * SPACE)
        self.table.setSortingEnabled(True)
        self.note = Text("", "small")
        self.pairs = SearchField(
            self.tr("Pairs to sum: it → cat, sat → cat (or it > cat)"),
            self.tr("Pairs to sum"),
        )
        self.pairs.textChanged.connect(self._on_pairs)
        layouts.column(self.pairs, (self.table, 1), self.note, parent=self, spacing=SPACE)
        self._is_following = False
        self._widths: dict[str, int] = {}  # last px of each value column
        self.rows.modelAboutToBeReset.connect(self._save_widths)
        self.rows.modelReset.connect(self._on_reset)
        self.rows.layoutChanged.connect(self._follow)
        self.rows.dataChanged.connect(self._follow)
        self.table.selectionModel().currentRowChanged.connect(self._on_current)
        state.attention.head_changed.connect(self._follow)
        state.column_changed.connect(self._update_note)
        state.changed.connect(self._update_note)
        self._on_reset()
        self._update_note()

    def _on_pairs(self, typed: str) -> None:
        self._state.set_pairs(typed)
        self.table.scrollToTop()

    def _on_reset(self) -> None:
        header = self.table.horizontalHeader()
        with QSignalBlocker(header):
            header.setSortIndicator(*self.rows.sorted_by)
        min_width = QFontMetrics(mono_font()).horizontalAdvance("000.000") + 4 * SPACE
        for column, key in enumerate(self.rows.keys, FIRST):  # measuring rows takes 60 ms
            width = max(header.sectionSizeHint(column), min_width)
            header.resizeSection(column, self._widths.get(key, width))
        self.table.resizeColumnToContents(HEAD)
        width = max(header.sectionSize(PATTERN), self.table.sizeHintForColumn(PATTERN))
        header.resizeSection(PATTERN, width)
        self._follow()

    def _save_widths(self) -> None:
        header = self.table.horizontalHeader()
        sizes = {key: header.sectionSize(n) for n, key in enumerate(self.rows.keys, FIRST)}
        self._widths |= sizes

    def _follow(self) -> None:
        row = self.rows.find_row(self._state.attention.layer, self._state.attention.head)
        self._is_following = True
        if row >= 0:
            self.table.selectRow(row)
        self._is_following = False

    def _on_current(self, now: QModelIndex) -> None:
        if now.isValid() and not self._is_following:
            self._state.attention.selection.pick(*self.rows.row(now.row()))

    def _update_note(self) -> None:
        state = self._state
        if state.attention.maps.shown_measure == "norms" and not state.keys:
            self.note.setText(
                self.tr(
                    "Value-weighted norms do not sum to 1. Select a pair of tokens to rank the "
                    "heads by it, or choose attention weights."
                )
            )
            return
        if not self.rows.rows:
            self.note.setText(self.tr("Computing …"))
            return
        column = state.meaning(state.column) if state.column in state.keys else ""
        count = state.figures.queries if state.figures is not None else 0
        text = self.tr("{0}. The overview dims heads with smaller values.").format(column)
        if count and state.column not in (PAIR, PAIRS):
            mean = self.tr("Means over %Ln token(s), excluding special tokens.", "", count)
            text = f"{text} {mean}"
        missing = state.pairs()[1]
        if missing:
            names = ", ".join(f"“{token_text(word)}”" for word in missing)
            text = f"{self.tr('Not in the text: {0}.').format(names)} {text}"
        self.note.setText(text)


class HeadCellDelegate(QStyledItemDelegate):
    """Paints cells with cached text layouts.

    Qt would query nine roles of each cell and lay out its text again, too slow for one frame when
    the pair changes.
    """

    def __init__(self, text: Callable[[int, int], str], first: int, table: QTableView) -> None:
        """`text` takes a row and a column; columns from `first` on are right-aligned."""
        super().__init__(table)
        self._cell_text, self._first, self._table = text, first, table
        self._layouts: dict[str, tuple[QStaticText, float, float]] = {}  # width and height, px
        self._font = mono_font()

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        row, column, box = index.row(), index.column(), option.rect
        if row == self._table.currentIndex().row():
            self._paint_state(painter, option)
        width = box.width()
        text, text_width, height = self._text(self._cell_text(row, column), width - 2 * PADDING)
        left = box.x() + (width - PADDING - text_width if column >= self._first else PADDING)
        painter.setFont(self._font)
        painter.drawStaticText(int(left), int(box.y() + (box.height() - height) / 2), text)

    def _paint_state(self, painter: QPainter, option: QStyleOptionViewItem) -> None:
        if option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(option.rect, colour(Role.ACCENT_SOFT))
        if option.state & QStyle.StateFlag.State_HasFocus:
            pen = painter.pen()
            painter.setPen(colour(Role.ACCENT))
            painter.drawRect(option.rect.adjusted(0, 0, -1, -1))
            painter.setPen(pen)

    def _text(self, text: str, max_width: float) -> tuple[QStaticText, float, float]:
        """Lay out a text, elided to `max_width` px; returns it with its width and height."""
        laid_out = self._layouts.get(text)
        if laid_out is None:
            if len(self._layouts) >= MAX_CACHED_TEXTS:
                self._layouts.clear()
            static = QStaticText(text)
            static.setTextFormat(Qt.TextFormat.PlainText)
            static.prepare(font=self._font)
            laid_out = self._layouts[text] = static, static.size().width(), static.size().height()
        if laid_out[1] <= max_width or len(text) <= 1:
            return laid_out
        end = Qt.TextElideMode.ElideRight
        elided = QFontMetrics(self._font).elidedText(text, end, int(max_width))
        return self._text(elided, max_width)


def heads_figure(state: HeadsState, rows: HeadsModel) -> Figure | None:
    """Heat map of the column by which heads are sorted, with all columns as a table."""
    values = state.values(state.column)
    if values is None or not rows.keys:
        return None
    layers, heads = values.shape
    name, high = state.name(state.column), float(values.max())

    def paint(painter: QPainter, _size: object) -> None:
        layer_names, head_names = (tuple(map(str, range(1, n + 1))) for n in values.shape)
        low = float(values.min())

        def fill(value: float) -> QColor:
            return shade((value - low) / ((high - low) or 1.0), print_color, pale=True)

        paint_matrix(painter, layer_names, head_names, values, fill, "{:.2f}".format, FIGURE_SIZES)

    columns = [state.values(key) for key in rows.keys]
    table_rows = [
        (
            layer + 1,
            head + 1,
            state.pattern(layer, head),
            *(float(column[layer, head]) for column in columns if column is not None),
        )
        for layer, head in map(rows.row, range(len(rows.order)))
    ]
    header = ("layer", "head", "pattern", *(state.name(key) for key in rows.keys))
    text = tr(
        "{0}: {1}. Layers from top to bottom, heads from left to right; the stronger the colour, "
        "the larger the value, up to {2}. Means over the query tokens that are not special."
    ).format(name, state.meaning(state.column), numbers.decimal(high, 3))
    return Figure(
        name=f"attention-heads-{state.column.replace('_', '-')}",
        title=tr("Attention heads: {0}").format(name),
        caption=f"{text} {source(state.attention.explore, state.attention.maps.side.index)}",
        size=QSize(FIGURE_SIZES[0] + heads * FIGURE_SIZES[1], (layers + 1) * FIGURE_SIZES[2]),
        paint=paint,
        array=values,
        table=lambda: Table(header, table_rows),
    )
