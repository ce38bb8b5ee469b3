"""Figures of the differences."""

from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, QSizeF, Qt
from PySide6.QtGui import QPainter

from app.pages.explore.captions import source
from app.pages.explore.head_heatmap import grid_size, paint_grid
from app.pages.explore.panels.difference.state import COLUMNS, DIVERGENCE, DifferenceState
from app.theme import Role
from app.translation import tr
from app.widgets.charts.figure import Figure, Table, paper_font, print_color
from app.widgets.text.chips import AS_STORED
from app.widgets.text.labels import visible
from app.widgets.text.numbers import count, decimal
from engine.messages.explore.head_measures import KEYS

ROW, NAME, BAR = 22, 90, 300  # px
WIDTHS = (380, 110, 110, 70)  # px of the columns of the text table
MOST_ROWS, MAX_CELL = 20, 120  # rows drawn; characters of a cell


def figure_of(state: DifferenceState) -> Figure | None:
    """The head grid, or the CKA if the heads do not correspond."""
    values, answer = state.values, state.answer
    if answer is None or state.of is None:
        return None
    if values is None:
        return cka_figure_of(state)
    found, is_signed = dict(state.found), state.is_signed

    def paint(painter: QPainter, size: QSizeF) -> None:
        painter.setFont(paper_font(11))
        paint_grid(painter, QRectF(QPointF(), size), values, print_color, is_signed)

    def table() -> Table:
        layers, heads = found[DIVERGENCE].shape
        return Table(
            ("layer", "head", *COLUMNS),
            [
                (
                    layer + 1,
                    head + 1,
                    float(found[DIVERGENCE][layer, head]),
                    *(float(v) for v in found["columns"][layer, head]),
                )
                for layer in range(layers)
                for head in range(heads)
            ],
        )

    name = state.name(state.column)
    text = tr("{0}: {1}. Means over the tokens that are not special, of {2} texts of {3}.").format(
        name, state.meaning(state.column), count(answer.done), state.of.name
    )
    column = DIVERGENCE if state.column == DIVERGENCE else KEYS[KEYS.index(state.column)]
    return Figure(
        name=f"difference-{column}",
        title=tr("{0} of every head").format(name),
        caption=f"{text} {_models(state)} {source(state.explore)}",
        size=grid_size(values),
        paint=paint,
        array=values,
        table=table,
    )


def cka_figure_of(state: DifferenceState) -> Figure | None:
    """CKA by layer; None until known."""
    answer, cka = state.answer, state.found.get("cka", np.zeros(0))
    if answer is None or state.of is None or not len(cka):
        return None
    heights = state.found["heights"]
    names = [f"{a} – {b}" for a, b in heights.T.tolist()]

    def paint(painter: QPainter, _size: QSizeF) -> None:
        painter.setFont(paper_font(11))
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        left = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        painter.setPen(print_color(Role.TEXT))
        painter.drawText(QRectF(0, 0, NAME - 8, ROW), right, tr("Layer A – B"))
        painter.drawText(QRectF(NAME, 0, BAR, ROW), left, tr("Linear CKA, 0 to 1"))
        for number, (name, value) in enumerate(zip(names, cka.tolist(), strict=True), start=1):
            top = number * ROW
            painter.drawText(QRectF(0, top, NAME - 8, ROW), right, name)
            share = min(max(value, 0.0), 1.0) if np.isfinite(value) else 0.0
            painter.fillRect(QRectF(NAME, top + 4, BAR * share, ROW - 8), print_color(Role.ACCENT))
            painter.drawText(QRectF(NAME + BAR + 6, top, 60, ROW), left, decimal(value, 3))

    text = tr("Linear CKA of the vectors of {0} tokens, unbiased (Nguyen et al. 2021).").format(
        count(answer.vectors)
    )
    if answer.of_words:
        text = tr("Linear CKA of the mean vectors of {0} words, unbiased (Nguyen et al. 2021).")
        text = text.format(count(answer.vectors))
    return Figure(
        name="cka",
        title=tr("How alike two models are, by layer"),
        caption=f"{text} {_models(state)} {source(state.explore)}",
        size=QSize(NAME + BAR + 70, ROW * (len(names) + 1)),
        paint=paint,
        array=cka,
        table=lambda: Table(
            ("layer of A", "layer of B", "cka"),
            [(a, b, float(v)) for (a, b), v in zip(heights.T.tolist(), cka, strict=True)],
        ),
    )


def texts_figure_of(state: DifferenceState) -> Figure | None:
    """The texts whose predictions changed most; None if predictions cannot be compared."""
    answer, of, order = state.answer, state.of, state.changed_most()
    if answer is None or of is None or not order:
        return None
    kl, said, rows = state.found["kl"].copy(), answer.predictions, list(state.rows)

    def cells(text: int) -> tuple[str, str, str]:
        shown = rows[text][0] if text < len(rows) else str(text + 1)
        return (shown, *(said[text] if text < len(said) else ("", "")))

    shown = [
        (*(visible(" ".join(cell[:MAX_CELL].split())) for cell in cells(n)), decimal(kl[n], 3))
        for n in order[:MOST_ROWS]
    ]

    def paint(painter: QPainter, _size: QSizeF) -> None:
        _paint_rows(painter, (tr("Text"), tr("A"), tr("B"), "KL"), shown)

    text = tr("The {0} of {1} texts of {2} whose predictions changed most: KL(A ‖ B).").format(
        count(len(shown)), count(len(order)), of.name
    )
    return Figure(
        name="difference-texts",
        title=tr("Predictions that changed most"),
        caption=f"{text} {_models(state)} {source(state.explore)}",
        size=QSize(sum(WIDTHS), ROW * (len(shown) + 1)),
        paint=paint,
        array=kl,
        table=lambda: Table(
            ("number", "text", "prediction of A", "prediction of B", "kl"),
            [(n + 1, *cells(n), float(kl[n])) for n in order],
        ),
    )


def _paint_rows(
    painter: QPainter, header: tuple[str, ...], rows: Sequence[tuple[str, ...]]
) -> None:
    for number, cells in enumerate([header, *rows]):
        painter.setFont(paper_font(11, bold=not number))
        painter.setPen(print_color(Role.TEXT))
        left = 0
        for column, (cell, wide) in enumerate(zip(cells, WIDTHS, strict=True)):
            box = QRectF(left, number * ROW, wide - 8, ROW)
            side = Qt.AlignmentFlag.AlignLeft if column < 3 else Qt.AlignmentFlag.AlignRight
            text = painter.fontMetrics().elidedText(cell, Qt.TextElideMode.ElideRight, wide - 8)
            painter.drawText(box, side | Qt.AlignmentFlag.AlignVCenter | AS_STORED, text)
            left += wide


def _models(state: DifferenceState) -> str:
    return tr("A: {0}. B: {1}.").format(*state.names)
