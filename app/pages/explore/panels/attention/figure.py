"""Figures of the Attention panel: maps, links, a pair, and all heads.

Shapes: S tokens that are shown.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, QSizeF, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QPainter, QPen

from app.pages.explore.captions import source
from app.pages.explore.panels.attention import pixels
from app.pages.explore.panels.attention.description import (
    csv_header,
    csv_rows,
    texts_of,
    value_name,
)
from app.pages.explore.panels.attention.drawing import dashed, head_dashes, head_role, paint_links
from app.pages.explore.panels.attention.heads import HeadsState
from app.pages.explore.panels.attention.links import Links
from app.pages.explore.panels.attention.state import AttentionState
from app.pages.explore.panels.attention.tables import HeadRows
from app.resources import mono_font
from app.theme import SIGNS, Role, print_color
from app.translation import in_language, tr
from app.widgets.charts.figure import Figure, Table, paper_font
from app.widgets.text import numbers
from app.widgets.text.chips import AS_STORED, token_text
from app.widgets.text.numbers import decimal

GAP = 24.0
LINES_WIDTH = 260.0
LARGEST_CELL = 20
MATRIX_SIDE = 960  # px of a matrix of many tokens
READABLE = 8  # px of a cell from which tokens are labelled
AS_SHAPES = 128  # up to as many tokens, cells are shapes
SCALE_WIDTH, SCALE_HEIGHT, BAR = 220.0, 44.0, 10.0  # px of the colour scale and its bar
KEY_ROW = 18.0  # px of a head's name
SMALL = 11  # px of its font
TICKS = (0.0, 0.1, 0.5, 1.0)  # fractions of the largest value


@dataclass(frozen=True)
class Drawing:
    """Lines of several heads, and the matrix of the last one."""

    tokens: tuple[str, ...]
    weights: np.ndarray  # float32 [S, S]
    drawn: Sequence[Links]
    most: float = 1.0  # value of the strongest colour
    value: str = ""  # name of the values
    heads: tuple[str, ...] = ("",)  # names of the heads

    @property
    def cell(self) -> float:
        return min(LARGEST_CELL, max(2.0, MATRIX_SIDE / max(1, len(self.tokens))))

    @property
    def label_width(self) -> float:
        if self.cell < READABLE:
            return 4.0
        metrics = QFontMetricsF(_tokens(self.cell))
        return max((metrics.horizontalAdvance(token) for token in self.tokens), default=0.0) + 8

    @property
    def size(self) -> QSize:
        side = self.cell * len(self.tokens)
        width = GAP + 3 * self.label_width + LINES_WIDTH + side
        return QSize(round(width), round(self.label_width + side + GAP + self._foot()))

    def paint(self, painter: QPainter, _: QSizeF) -> None:
        painter.setFont(_tokens(self.cell))
        left, top = self.label_width, self.label_width
        for number, links in enumerate(self.drawn):
            count = len(self.drawn)
            painter.save()
            painter.translate(left, top)
            hue = print_color(head_role(number, count), count**-0.5)
            dashes = head_dashes(number, count)
            paint_links(painter, links, LINES_WIDTH, self.cell, hue, self.most, dashes)
            painter.restore()
        self._paint_column(painter, 0, Qt.AlignmentFlag.AlignRight)
        self._paint_column(painter, left + LINES_WIDTH, Qt.AlignmentFlag.AlignLeft)
        right = left + LINES_WIDTH + self.label_width
        self._paint_matrix(painter, right + GAP + self.label_width)
        foot = top + self.cell * len(self.tokens) + GAP
        paint_scale(painter, QPointF(right + GAP, foot), self.value, self.most)
        self._paint_key(painter, left, foot)

    def _foot(self) -> float:
        """px below the maps for the colour scale and the head names."""
        return max(SCALE_HEIGHT, KEY_ROW * len(self.heads) if len(self.heads) > 1 else 0.0)

    def _paint_key(self, painter: QPainter, left: float, top: float) -> None:
        """Legend of the heads, if there are several."""
        count = len(self.heads)
        if count == 1:
            return
        painter.setFont(paper_font(SMALL))
        for number, name in enumerate(self.heads):
            y = top + KEY_ROW * (number + 0.5)
            pen = QPen(print_color(head_role(number, count)), 2)
            painter.setPen(dashed(pen, head_dashes(number, count)))
            painter.drawLine(QPointF(left, y), QPointF(left + 36, y))
            painter.setPen(print_color(Role.TEXT))
            box = QRectF(left + 44, y - KEY_ROW / 2, LINES_WIDTH, KEY_ROW)
            painter.drawText(box, Qt.AlignmentFlag.AlignVCenter, name)

    def _paint_matrix(self, painter: QPainter, left: float) -> None:
        side, top = self.cell * len(self.tokens), self.label_width
        paint_map(painter, self.weights, QRectF(left, top, side, side), self.most)
        self._paint_column(painter, left - self.label_width, Qt.AlignmentFlag.AlignRight)
        if self.cell < READABLE:
            return
        painter.setPen(print_color(Role.TEXT))
        for number, token in enumerate(self.tokens):
            painter.save()
            painter.translate(QPointF(left + number * self.cell, top - 4))
            painter.rotate(-90)
            box = QRectF(0, 0, self.label_width, self.cell)
            painter.drawText(box, Qt.AlignmentFlag.AlignVCenter | AS_STORED, token)
            painter.restore()

    def _paint_column(self, painter: QPainter, left: float, align: Qt.AlignmentFlag) -> None:
        if self.cell < READABLE:
            return
        painter.setPen(print_color(Role.TEXT))
        for number, token in enumerate(self.tokens):
            top = self.label_width + number * self.cell
            box = QRectF(left + 4, top, self.label_width - 8, self.cell)
            painter.drawText(box, align | Qt.AlignmentFlag.AlignVCenter | AS_STORED, token)


def paint_map(painter: QPainter, weights: np.ndarray, field: QRectF, most: float) -> None:
    """Paint float32 [S, S] as squares, or as an image if there are many tokens."""
    levels = pixels.levels(weights, most)
    low, high = print_color(Role.SURFACE), print_color(Role.ACCENT)
    if len(levels) > AS_SHAPES:
        painter.drawImage(field, pixels.picture(np.ascontiguousarray(levels), low, high))
    else:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        side = field.width() / max(1, len(levels))
        for row, column, count, level in _runs(levels):
            box = QRectF(column * side, row * side, count * side, side)
            shade = pixels.between(low, high, level / pixels.TOP)
            painter.fillRect(box.translated(field.topLeft()), shade)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(print_color(Role.BORDER))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawRect(field)


def _runs(levels: np.ndarray) -> Iterator[tuple[int, int, int, int]]:
    """Row, column, length and level of equal neighbours in a row, without white ones."""
    for row, line in enumerate(levels):
        starts = np.flatnonzero(np.append(True, line[1:] != line[:-1])).tolist()
        for start, end in zip(starts, [*starts[1:], len(line)], strict=True):
            if line[start]:
                yield row, start, end - start, int(line[start])


def paint_scale(painter: QPainter, at: QPointF, name: str, most: float) -> None:
    """Paint a colour bar from 0 to the largest value, on a square-root scale."""
    bar = QRectF(at.x(), at.y() + KEY_ROW, SCALE_WIDTH, BAR)
    painter.setFont(paper_font(SMALL))
    painter.setPen(print_color(Role.TEXT))
    painter.drawText(QRectF(at.x(), at.y(), SCALE_WIDTH, KEY_ROW), Qt.AlignmentFlag.AlignLeft, name)
    low, high = print_color(Role.SURFACE), print_color(Role.ACCENT)
    steps = 64
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
    for step in range(steps):
        box = QRectF(bar.left() + step * bar.width() / steps, bar.top(), bar.width() / steps, BAR)
        painter.fillRect(box, pixels.between(low, high, step / (steps - 1)))
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(print_color(Role.BORDER))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    painter.drawRect(bar)
    painter.setPen(print_color(Role.MUTED))
    for tick in TICKS:
        x = bar.left() + bar.width() * tick**0.5
        box = QRectF(x - 30, bar.bottom() + 2, 60, KEY_ROW)
        text = decimal(tick * most, 2) if tick else "0"
        painter.drawText(box, Qt.AlignmentFlag.AlignHCenter, text)


def _tokens(cell: float) -> QFont:
    font = mono_font()
    font.setPixelSize(max(1, round(cell * 0.7)))
    return font


ROW = 20.0  # px of a table row
MOST_ROWS = 60  # drawn rows of the table
COLUMN = 170.0  # px
CELL = 56.0  # px of a head with its value
HEAD_SIDE, HEAD_GAP = 64, 4  # px of a head of the grid, and of a gap
MARGIN = 24.0  # px for layer and head numbers
BAND, NAME = 60.0, 20.0  # px of a row of elements, and of its name
ELEMENTS = 640.0  # px of a row of elements


def maps_figure(state: AttentionState, left_out: str, drawn: str) -> Figure:
    """Lines of the chosen heads, and the matrix of the current one."""
    drawing = Drawing(
        state.names, state.map, state.drawn, state.maps.largest, value_name(state), state.head_names
    )
    text = tr(
        "{0}. Lines: the strongest {1} of the attention shown ({2}). Matrix of {3}: query tokens "
        "(rows) attend to key tokens (columns), square-root colour scale from 0 to {4}."
    ).format(
        in_language(texts_of(state).name),
        numbers.percent(state.strongest.threshold, 0),
        drawn,
        state.head_names[-1],
        numbers.decimal(state.maps.largest, 2),
    )
    return _of_links(state, "attention", f"{text} {left_out}", drawing.size, drawing.paint)


def links_figure(state: AttentionState, left_out: str, drawn: str) -> Figure:
    """Table of the strongest links."""
    header, rows = csv_header(state), csv_rows(state)
    shown = [
        (f"{a}", f"{n}  {b}", f"{m}  {c}", numbers.decimal(value))
        for a, b, c, n, m, value in rows[:MOST_ROWS]
    ]

    def paint(painter: QPainter, _: QSizeF) -> None:
        _paint_table(painter, (header[0], *header[1:3], value_name(state)), shown)

    text = tr("{0}. The {1} strongest links that hold {2} of the attention shown ({3}).").format(
        in_language(texts_of(state).name),
        numbers.count(len(shown)),
        numbers.percent(state.strongest.threshold, 0),
        drawn,
    )
    size = QSize(round(4 * COLUMN), round(ROW * (len(shown) + 1)))
    return _of_links(state, "attention-links", f"{text} {left_out}", size, paint)


def _of_links(state: AttentionState, name: str, caption: str, size: QSize, paint: object) -> Figure:
    header, rows = csv_header(state), csv_rows(state)
    counted = tr("Tokens are numbered from 1, in the array (.npy) of all heads and tokens from 0.")
    return Figure(
        name=f"{name}-layer-{state.layer + 1}-head-{state.head + 1}",
        title=tr("Attention: {0}").format(", ".join(state.head_names)),
        caption=f"{caption.strip()} {counted} {_source(state)}",
        size=size,
        paint=paint,  # type: ignore[arg-type]
        array=state.maps.weights,
        table=lambda: Table(header, rows),
    )


def pair_figure(state: AttentionState) -> Figure | None:
    """Query and key of the selected pair; None without one."""
    shown = state.query_key
    side = state.maps.side
    if shown is None or max(shown.query_token, shown.key_token) >= len(side.tokens):
        return None
    ends = [token_text(side.model_token(n)) for n in (shown.query_token, shown.key_token)]
    values = np.array([shown.query, shown.key, shown.products], np.float32)  # [3, K]
    names = ("query", "key", "query × key ÷ √K")
    head = state.head_name(shown.layer, shown.head)
    text = tr(
        "Elements of the query of “{0}” (token {1}) and the key of “{2}” (token {3}), and their "
        "products divided by √K, which sum to the attention score {4}; attention weight {5}."
    ).format(
        ends[0],
        shown.query_token + 1,
        ends[1],
        shown.key_token + 1,
        numbers.decimal(shown.score),
        numbers.decimal(shown.weight),
    )
    return Figure(
        name=f"query-key-layer-{shown.layer + 1}-head-{shown.head + 1}",
        title=tr("Query and key: {0}, “{1}” to “{2}”").format(head, *ends),
        caption=f"{text} {_source(state)}",
        size=QSize(round(ELEMENTS), round(3 * (BAND + NAME))),
        paint=lambda painter, _: _paint_elements(painter, names, values),
        array=values,
        table=lambda: Table(
            ("element", "query", "key", "product"),
            [(n + 1, *map(float, column)) for n, column in enumerate(values.T)],
        ),
    )


def heads_figure(state: HeadsState, rows: HeadRows) -> Figure | None:
    """Heat map of the column by which heads are sorted, with all columns as a table."""
    values = state.values(state.column)
    if values is None or not rows.keys:
        return None
    layers, count = values.shape
    name, most = state.name(state.column), float(values.max())

    def paint(painter: QPainter, _: QSizeF) -> None:
        _paint_values(painter, values)

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
    ).format(name, state.meaning(state.column), numbers.decimal(most, 3))
    wide, high = MARGIN + count * (CELL + HEAD_GAP), MARGIN + layers * (CELL / 2 + HEAD_GAP)
    return Figure(
        name=f"attention-heads-{state.column.replace('_', '-')}",
        title=tr("Attention heads: {0}").format(name),
        caption=f"{text} {_source(state.of)}",
        size=QSize(round(wide), round(high)),
        paint=paint,
        array=values,
        table=lambda: Table(header, table_rows),
    )


def grid_figure(state: AttentionState) -> Figure | None:
    """Grid of all heads; None while there are none."""
    levels, weights = state.maps.thumbnails, state.maps.weights
    if levels is None or weights is None:
        return None
    layers, heads = levels.shape[:2]
    step = HEAD_SIDE + HEAD_GAP
    name, most = value_name(state), state.maps.largest

    def paint(painter: QPainter, _: QSizeF) -> None:
        _paint_grid(painter, levels)
        paint_scale(painter, QPointF(MARGIN, MARGIN + layers * step + HEAD_GAP), name, most)

    def rows() -> Table:
        table_rows = []
        for layer in range(len(weights)):
            for head in range(heads):
                one = np.asarray(weights[layer, head])
                row, column = np.unravel_index(int(one.argmax()), one.shape)
                strongest = float(one[row, column])
                table_rows.append((layer + 1, head + 1, int(row) + 1, int(column) + 1, strongest))
        header = ("layer", "head", "query number", "key number", f"strongest {name.lower()}")
        return Table(header, table_rows)

    text = tr(
        "{0} of all heads: layers from top to bottom, heads from left to right, query tokens over "
        "key tokens, all tokens; square-root colour scale from 0 to {1}. Of more than {2} tokens "
        "the strongest of each block is shown."
    ).format(in_language(texts_of(state).name), numbers.decimal(most, 2), pixels.POOLED)
    wide, high = MARGIN + heads * step, MARGIN + layers * step + SCALE_HEIGHT + HEAD_GAP
    return Figure(
        name="attention-grid",
        title=tr("Attention: all heads"),
        caption=f"{text} {_source(state)}",
        size=QSize(round(wide), round(high)),
        paint=paint,
        array=weights,
        table=rows,
    )


def _source(state: AttentionState) -> str:
    return source(state.explore, state.maps.side.index)


# ── drawings ─────────────────────────────────────────────────────────────────────────────────


def _paint_table(painter: QPainter, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    middle = Qt.AlignmentFlag.AlignVCenter | AS_STORED
    for number, cells in enumerate([header, *rows]):
        painter.setFont(paper_font(12, bold=not number))
        painter.setPen(print_color(Role.TEXT))
        for column, cell in enumerate(cells):
            last = column == len(cells) - 1
            box = QRectF(column * COLUMN, number * ROW, COLUMN - 8, ROW)
            side = Qt.AlignmentFlag.AlignRight if last else Qt.AlignmentFlag.AlignLeft
            painter.drawText(box, side | middle, cell)


def _paint_elements(painter: QPainter, names: Sequence[str], values: np.ndarray) -> None:
    """Float32 [3, K]: positive elements rise, negative ones hang."""
    wide = ELEMENTS / values.shape[1]
    for number, (name, row) in enumerate(zip(names, values, strict=True)):
        top = number * (BAND + NAME)
        most = float(np.abs(row).max()) or 1.0
        painter.setFont(paper_font(11))
        painter.setPen(print_color(Role.MUTED))
        text = tr("{0}: up to ±{1}").format(name, numbers.decimal(most, 2))
        box = QRectF(0, top, ELEMENTS, NAME)
        painter.drawText(box, Qt.AlignmentFlag.AlignVCenter, text)
        middle = top + NAME + BAND / 2
        for place, value in enumerate(row.tolist()):
            high = (BAND / 2 - 2) * abs(value) / most
            bar = QRectF(place * wide, middle if value < 0 else middle - high, wide * 0.85, high)
            painter.fillRect(bar, print_color(SIGNS[value < 0]))
        painter.setPen(print_color(Role.BORDER))
        painter.drawLine(QPointF(0, middle), QPointF(ELEMENTS, middle))


def _paint_values(painter: QPainter, values: np.ndarray) -> None:
    """float [L, H], a cell with its value for each head."""
    low, high = float(values.min()), float(values.max())
    for layer, row in enumerate(values.tolist()):
        for head, value in enumerate(row):
            left = MARGIN + head * (CELL + HEAD_GAP)
            top = MARGIN + layer * (CELL / 2 + HEAD_GAP)
            box = QRectF(left, top, CELL, CELL / 2)
            share = (value - low) / (high - low) if high > low else 0.0
            painter.fillRect(box, print_color(Role.ACCENT, 0.5 * share))
            painter.setPen(print_color(Role.BORDER))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(box)
            painter.setFont(paper_font(11))
            painter.setPen(print_color(Role.TEXT))
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, f"{value:.2f}")
            painter.setPen(print_color(Role.MUTED))
            if not layer:
                above = QRectF(box.left(), 0, CELL, MARGIN - 4)
                painter.drawText(above, Qt.AlignmentFlag.AlignCenter, str(head + 1))
            if not head:
                beside = QRectF(0, box.top(), MARGIN - 6, CELL / 2)
                right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
                painter.drawText(beside, right, str(layer + 1))


def _paint_grid(painter: QPainter, levels: np.ndarray) -> None:
    """Levels uint8 [L, H, P, P], with a frame around each head."""
    low, high = print_color(Role.SURFACE), print_color(Role.ACCENT)
    step = HEAD_SIDE + HEAD_GAP
    painter.setFont(paper_font(11))
    for layer, row in enumerate(levels):
        for head, one in enumerate(row):
            box = QRectF(MARGIN + head * step, MARGIN + layer * step, HEAD_SIDE, HEAD_SIDE)
            painter.drawImage(box, pixels.picture(np.ascontiguousarray(one), low, high))
            painter.setPen(print_color(Role.BORDER))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRect(box)
            painter.setPen(print_color(Role.MUTED))
            if not layer:
                above = QRectF(box.left(), 0, HEAD_SIDE, MARGIN - 4)
                painter.drawText(above, Qt.AlignmentFlag.AlignCenter, str(head + 1))
            if not head:
                beside = QRectF(0, box.top(), MARGIN - 6, HEAD_SIDE)
                right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
                painter.drawText(beside, right, str(layer + 1))
