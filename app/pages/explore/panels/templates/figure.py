"""Figure of the fillers × targets grid."""

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, QSizeF
from PySide6.QtGui import QColor, QPainter

from app.pages.explore.captions import source
from app.pages.explore.head_heatmap import BAR, BAR_LEFT, TICKS, ends_of, paint_bar
from app.pages.explore.panels.templates.state import Measure, TemplatesState
from app.pages.explore.paper import paint_matrix
from app.theme import print_color, shade
from app.translation import tr
from app.widgets.charts.figure import Figure, Table
from app.widgets.text.chips import token_text
from app.widgets.text.labels import visible
from app.widgets.text.numbers import decimal

NAME, CELL, ROW = 150, 84, 26  # px


def measure_names() -> dict[Measure, str]:
    return {
        "association": tr("Association"),
        "given": tr("ln p(target | filler)"),
        "prior": tr("ln p(target | masked filler)"),
    }


def make_figure(state: TemplatesState) -> Figure | None:
    """None until a number is known."""
    if not state.rows:
        return None
    fillers = [token_text(word) for word in state.fillers]
    targets = [token_text(word) for word in state.targets]
    values, measure = state.shown, state.measure
    every = np.stack([state.numbers(key) for key in measure_names()])  # [3, S, F, G]
    is_signed = measure == "association"

    def paint(painter: QPainter, _size: QSizeF) -> None:
        _paint(painter, fillers, targets, values, is_signed)

    def table() -> Table:
        rows = [
            (
                state_templates[row.template],
                fillers[row.filler],
                " ".join(row.tokens),
                targets[column],
                " ".join(target.tokens),
                target.given,
                target.prior,
                target.association,
                str(target.problem),
            )
            for row in rows_shown
            for column, target in enumerate(row.targets)
        ]
        return Table(
            (
                *("template", "filler", "filler tokens", "target", "target tokens"),
                *("ln p(target | filler)", "ln p(target | masked filler)"),
                *("association", "note"),
            ),
            rows,
        )

    rows_shown, state_templates = state.rows, tuple(visible(one) for one in state.templates)
    if state.template >= 0:
        where = tr("In “{0}”.").format(state_templates[state.template])
    else:
        listed = " ".join(f"“{one}”" for one in state_templates)
        where = tr("Mean of %Ln template(s): {0}", len(state_templates)).format(listed)
    how = tr(
        "Association: ln p(target | filler) − ln p(target | masked filler), natural logarithms; "
        "a target of several tokens is the chain over as many masks."
    )
    return Figure(
        name=f"templates-{measure}",
        title=tr("{0} of fillers and targets").format(measure_names()[measure]),
        caption=f"{where} {how} {source(state.explore)}",
        size=QSize(
            NAME + CELL * len(targets) + BAR_LEFT + BAR + TICKS, max(ROW * (len(fillers) + 1), 110)
        ),
        paint=paint,
        array=every,
        table=table,
    )


def _paint(
    painter: QPainter, fillers: list[str], targets: list[str], values: np.ndarray, is_signed: bool
) -> None:
    low, high = ends_of(values, is_signed)
    if not is_signed:
        known = values[np.isfinite(values)]
        low, high = (float(known.min()), 0.0) if len(known) else (-1.0, 0.0)

    def fill(value: float) -> QColor:
        fraction = (value - low) / (high - low) if high > low else 1.0
        return shade(fraction, print_color, is_signed, pale=True)

    sizes = (NAME, CELL, ROW)
    paint_matrix(painter, fillers, targets, values, fill, lambda v: decimal(v, 2), sizes)
    height = max(ROW * len(fillers), 110 - ROW)
    area = QRectF(QPointF(NAME, ROW), QSizeF(CELL * len(targets), height))
    paint_bar(painter, area, (low, high), print_color, is_signed, pale=True)
