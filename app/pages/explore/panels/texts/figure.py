"""Figure of the loss distribution with the hardest texts."""

import numpy as np
from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter

from app.pages.explore.captions import source
from app.pages.explore.panels.texts.state import TextsState
from app.theme import Role, print_color
from app.translation import tr
from app.widgets.charts.figure import Figure, Table, paper_font
from app.widgets.text.labels import visible
from app.widgets.text.numbers import count, decimal

BINS, LEFT, BOTTOM, HIGH, WIDE = 30, 48, 40, 220, 560
HARDEST, ROW = 10, 20  # texts below the bars, and px of each


def make_figure(state: TextsState) -> Figure | None:
    """None until a loss is known."""
    losses = state.losses
    known = losses[np.isfinite(losses)]
    if not len(known):
        return None
    counts, edges = np.histogram(known, BINS)
    order = [int(n) for n in np.argsort(-np.nan_to_num(losses, nan=-np.inf), kind="stable")]
    hardest = [
        (decimal(losses[n], 3), visible(" ".join(state.rows[n][0][:90].split())))
        for n in order[: min(HARDEST, len(known))]
    ]
    rows, scores, labels = list(state.rows), list(state.scores), state.labels

    def table() -> Table:
        header = (
            *("number", "text", "second text", "label", "prediction"),
            *("probability", "loss", "right", "tokens"),
        )
        return Table(
            header,
            [
                (
                    n + 1,
                    *(rows[n][0], rows[n][1] or ""),
                    score.label or (labels[n] if n < len(labels) else ""),
                    score.prediction,
                    *("" if v is None else v for v in (score.probability, score.loss)),
                    "" if score.right is None else int(score.right),
                    score.tokens,
                )
                for n, score in enumerate(scores)
            ],
        )

    axis = tr("Pseudo-loss") if state.loss == "pseudo" else tr("Loss")
    meant = tr("Loss of the task.")
    if state.loss == "pseudo":
        meant = tr("Mean −log P of each token while it alone is masked (Salazar et al. 2020).")
    counts_text = tr("{0} of {1} texts of {2} have a loss; mean {3}, median {4}.").format(
        count(len(known)),
        count(len(rows)),
        state.name,
        decimal(float(known.mean()), 3),
        decimal(float(np.median(known)), 3),
    )
    return Figure(
        name="losses",
        title=tr("The hardest texts of {0}").format(state.name),
        caption=f"{meant} {counts_text} {source(state.explore)}",
        size=QSize(LEFT + WIDE, HIGH + BOTTOM + ROW * len(hardest)),
        paint=lambda painter, _: _paint(painter, counts, edges, hardest, axis),
        array=losses,
        table=table,
    )


def _paint(
    painter: QPainter,
    counts: np.ndarray,
    edges: np.ndarray,
    hardest: list[tuple[str, str]],
    axis: str,
) -> None:
    right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
    middle = Qt.AlignmentFlag.AlignCenter
    painter.setFont(paper_font(11))
    most, width = max(1, int(counts.max())), WIDE / len(counts)
    for number, value in enumerate(counts.tolist()):
        high = (HIGH - 16) * value / most
        painter.fillRect(
            QRectF(LEFT + number * width + 1, HIGH - high, width - 2, high),
            print_color(Role.ACCENT),
        )
    painter.setPen(print_color(Role.BORDER))
    painter.drawLine(LEFT, HIGH, LEFT + WIDE, HIGH)
    painter.setPen(print_color(Role.TEXT))
    painter.drawText(QRectF(0, 8, LEFT - 6, 16), right, count(most))
    painter.drawText(QRectF(0, HIGH - 8, LEFT - 6, 16), right, "0")
    for share in (0.0, 0.5, 1.0):
        x = LEFT + share * WIDE
        value = float(edges[0] + share * (edges[-1] - edges[0]))
        painter.drawText(QRectF(x - 30, HIGH + 3, 60, 14), middle, decimal(value, 2))
    painter.drawText(QRectF(LEFT, HIGH + 18, WIDE, 16), middle, axis)
    painter.drawText(QRectF(LEFT + 4, 0, 200, 16), Qt.AlignmentFlag.AlignLeft, tr("Texts"))
    for number, (loss, text) in enumerate(hardest):
        top = HIGH + BOTTOM + number * ROW
        painter.drawText(QRectF(0, top, LEFT - 6, ROW), right, loss)
        shown = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, WIDE)
        left = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(QRectF(LEFT, top, WIDE, ROW), left, shown)
