"""Figure of the loss distribution with the hardest texts."""

import numpy as np
from PySide6.QtCore import QRectF, QSize
from PySide6.QtGui import QPainter

from app.pages.explore.captions import source
from app.pages.explore.panels.texts.state import TextsState
from app.pages.explore.paper import RIGHT, draw_elided
from app.theme import Role, print_color
from app.translation import tr
from app.widgets.charts.chart import Axis, Bars, Chart
from app.widgets.charts.figure import Figure, Table, paper_font
from app.widgets.charts.painting import Frame
from app.widgets.charts.painting import paint as paint_chart
from app.widgets.text.labels import visible
from app.widgets.text.numbers import count, decimal

BINS, LEFT, HIGH, WIDE = 30, 48, 260, 560
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
    bars = Bars("", (edges[:-1] + edges[1:]) / 2, counts, role=Role.ACCENT, widths=np.diff(edges))
    chart = Chart(
        Axis(axis, (float(edges[0]), float(edges[-1]))),
        Axis(tr("Texts"), (0, float(counts.max())), whole=True),
        (bars,),
    )
    return Figure(
        name="losses",
        title=tr("The hardest texts of {0}").format(state.name),
        caption=f"{meant} {counts_text} {source(state.explore)}",
        size=QSize(LEFT + WIDE, HIGH + ROW * len(hardest)),
        paint=lambda painter, _: _paint(painter, chart, hardest),
        array=losses,
        table=table,
    )


def _paint(painter: QPainter, chart: Chart, hardest: list[tuple[str, str]]) -> None:
    letters = paper_font(11)
    frame = Frame(QRectF(0, 0, LEFT + WIDE, HIGH), chart, letters)
    paint_chart(painter, frame, print_color, letters)
    painter.setPen(print_color(Role.TEXT))
    for number, (loss, text) in enumerate(hardest):
        top = HIGH + number * ROW
        painter.drawText(QRectF(0, top, LEFT - 6, ROW), RIGHT, loss)
        draw_elided(painter, QRectF(LEFT, top, WIDE, ROW), text)
