"""Figure of the tokens with the norms of their vectors."""

from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import QRectF, QSize, QSizeF, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QPainter, QPen

from app.pages.explore.captions import source
from app.pages.explore.panels.tokens.state import Row, TokensState
from app.pages.explore.panels.tokens.table import ADDENDS, DIGITS
from app.resources import mono_font
from app.theme import Role, print_color
from app.translation import tr
from app.widgets.charts.figure import Figure, Table, paper_font
from app.widgets.text.chips import AS_STORED, token_text

ROW = 20  # px
HEAD = 26  # px of the header line
NUMBER, BAR = 60, 90  # px of a number, and of a bar with its number
NAME = 130  # px of a token, at most
LETTERS = 12  # px


def make_figure(state: TokensState, side: int) -> Figure | None:
    """The table of one side with its bars; None until the norms are known."""
    rows, tables = state.rows(side), state.tables(side)
    if not rows or not rows[0].norms:
        return None
    names = [*tables, "sum", "input"]
    texts = tuple(token_text(row.name) for row in rows)
    wide = max(map(QFontMetricsF(_mono()).horizontalAdvance, texts)) + 8
    left = round(min(NAME, wide))
    width = left + 3 * NUMBER + BAR * len(tables) + 2 * NUMBER
    shown = list(rows)

    def paint(painter: QPainter, _size: QSizeF) -> None:
        _paint(painter, shown, texts, names, left)

    return Figure(
        name="tokens",
        title=tr("{0}: tokens and the norms of their embeddings").format(
            state.explore.both[side].model_name
        ),
        caption=tr(
            "Euclidean norms of the embeddings that are summed, of their sum,"
            " and of the input to the first layer. Columns of the table: {0}. {1}"
        ).format(", ".join(names), source(state.explore, side)),
        size=QSize(width, HEAD + ROW * len(rows)),
        paint=paint,
        array=np.array([row.norms for row in rows], dtype=np.float32),  # [T, addends + 2]
        table=lambda: make_table(shown, names),
    )


def make_table(rows: Sequence[Row], names: Sequence[str]) -> Table:
    """All columns with every digit."""
    header = ("token", "id", "segment", "position", *(f"norm of {name}" for name in names))
    return Table(header, [(r.name, r.id, r.token.segment, r.position, *r.norms) for r in rows])


def _paint(
    painter: QPainter, rows: Sequence[Row], texts: Sequence[str], names: Sequence[str], left: int
) -> None:
    addends = len(names) - 2
    widths = [NUMBER] * 3 + [BAR] * addends + [NUMBER] * 2
    lefts = [left + sum(widths[:n]) for n in range(len(widths))]
    right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
    heads = ("id", "segment", "position", *(f"‖{name}‖" for name in names))
    painter.setFont(paper_font(11))
    painter.setPen(print_color(Role.MUTED))
    for head, x, wide in zip(heads, lefts, widths, strict=True):
        painter.drawText(QRectF(x, 0, wide - 6, HEAD), right, head)
    painter.setPen(QPen(print_color(Role.BORDER), 1))
    painter.drawLine(0, HEAD - 2, lefts[-1] + widths[-1], HEAD - 2)
    painter.setFont(_mono())
    most = max((max(row.norms[:addends]) for row in rows), default=1.0) or 1.0
    for number, (row, text) in enumerate(zip(rows, texts, strict=True)):
        top = HEAD + number * ROW
        painter.setPen(print_color(Role.MUTED if row.token.special else Role.TEXT))
        shown = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, left - 4)
        align = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter | AS_STORED
        painter.drawText(QRectF(0, top, left, ROW), align, shown)
        cells = (row.id, row.token.segment, row.position)
        texts_of = [*map(str, cells), *(f"{norm:.{DIGITS}f}" for norm in row.norms)]
        for column, (cell, x, wide) in enumerate(zip(texts_of, lefts, widths, strict=True)):
            if 0 <= column - 3 < addends:
                share = row.norms[column - 3] / most
                tint = print_color(tuple(ADDENDS.values())[column - 3], 0.3)
                long = (wide - 12) * share
                painter.fillRect(QRectF(x + wide - 4 - long, top + 3, long, ROW - 6), tint)
            painter.drawText(QRectF(x, top, wide - 6, ROW), right, cell)


def _mono() -> QFont:
    font = mono_font()
    font.setPixelSize(LETTERS)
    return font
