"""The cosines of one height, as a figure to keep."""

import numpy as np
from PySide6.QtCore import QRectF, QSize, QSizeF, Qt
from PySide6.QtGui import QPainter

from app.pages.explore.captions import source
from app.pages.explore.panels.vectors.state import VectorsState
from app.theme import Role
from app.translation import tr
from app.widgets.chips import AS_STORED, painted
from app.widgets.figure import Figure, Table, ink, paper_font
from app.widgets.numbers import decimal

NAME, CELL, ROW = 340, 52, 24  # px


def figure_of(state: VectorsState) -> Figure | None:
    """None while there is no answer."""
    answer, shown = state.answer, state.shown
    if answer is None or shown is None:
        return None
    names = [painted(name) for name in state.names()]
    cosines = np.array(shown.cosines, dtype=np.float32)  # [N, N]
    every = np.array([height.cosines for height in answer.heights], dtype=np.float32)

    def paint(painter: QPainter, _size: QSizeF) -> None:
        _paint(painter, names, cosines)

    def table() -> Table:
        rows = [
            (number, a + 1, names[a], b + 1, names[b], height.cosines[a][b], height.random)
            for number, height in enumerate(answer.heights)
            for a in range(len(names))
            for b in range(a)
        ]
        header = ("layer", "number", "place", "other number", "other place", "cosine", "random")
        return Table(header, rows)

    text = tr(
        "Cosines of the vectors of “{0}”, means of its tokens, at layer {1} (0: embeddings). Mean "
        "of 1,000 random pairs of tokens: {2}. The array (.npy) has all layers."
    ).format(painted(answer.word), state.height, decimal(shown.random, 3))
    return Figure(
        name=f"word-vectors-layer-{state.height}",
        title=tr("“{0}” in {1} places").format(painted(answer.word), len(names)),
        caption=f"{text} {source(state.study)}",
        size=QSize(NAME + CELL * len(names), ROW * (len(names) + 1)),
        paint=paint,
        array=every,
        table=table,
    )


def _paint(painter: QPainter, names: list[str], cosines: np.ndarray) -> None:
    middle = Qt.AlignmentFlag.AlignVCenter
    painter.setFont(paper_font(11))
    for row, name in enumerate(names):
        top = (row + 1) * ROW
        painter.setPen(ink(Role.TEXT))
        shown = painter.fontMetrics().elidedText(
            f"{row + 1}  {name}", Qt.TextElideMode.ElideRight, NAME - 8
        )
        left = Qt.AlignmentFlag.AlignLeft | middle | AS_STORED
        painter.drawText(QRectF(0, top, NAME, ROW), left, shown)
        number = QRectF(NAME + row * CELL, 0, CELL, ROW)
        painter.drawText(number, Qt.AlignmentFlag.AlignCenter, str(row + 1))
        for column, value in enumerate(cosines[row].tolist()):
            box = QRectF(NAME + column * CELL, top, CELL, ROW)
            painter.fillRect(box, ink(Role.ACCENT, 0.5 * max(0.0, value) ** 2))
            painter.drawText(box, Qt.AlignmentFlag.AlignCenter, f"{value:.2f}")
