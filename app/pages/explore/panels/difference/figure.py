"""Figures of the differences."""

from dataclasses import replace
from functools import partial

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSizeF
from PySide6.QtGui import QPainter

from app.pages.explore.captions import source
from app.pages.explore.head_heatmap import grid_size, paint_grid
from app.pages.explore.panels.difference.state import COLUMNS, DIVERGENCE, DifferenceState
from app.pages.explore.paper import bars_size, paint_bars
from app.theme import print_color
from app.translation import tr
from app.widgets.charts.figure import Figure, Table, paper_font
from app.widgets.charts.table_figure import table_figure
from app.widgets.tables import Column, ColumnsModel
from app.widgets.text.labels import visible
from app.widgets.text.numbers import count, decimal
from engine.messages.explore.head_measures import KEYS

NAME = 90  # px
MAX_ROWS, MAX_CELL = 20, 120  # rows drawn; characters of a cell


def make_figure(state: DifferenceState) -> Figure | None:
    """The head grid, or the CKA if the heads do not correspond."""
    values, answer = state.values, state.answer
    if answer is None or state.of is None:
        return None
    if values is None:
        return make_cka_figure(state)
    arrays, is_signed = dict(state.arrays), state.is_signed

    def paint(painter: QPainter, size: QSizeF) -> None:
        painter.setFont(paper_font(11))
        paint_grid(painter, QRectF(QPointF(), size), values, print_color, is_signed)

    def table() -> Table:
        layers, heads = arrays[DIVERGENCE].shape
        return Table(
            ("layer", "head", *COLUMNS),
            [
                (
                    layer + 1,
                    head + 1,
                    float(arrays[DIVERGENCE][layer, head]),
                    *(float(v) for v in arrays["columns"][layer, head]),
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


def make_cka_figure(state: DifferenceState) -> Figure | None:
    """CKA by layer; None until known."""
    answer, cka = state.answer, state.arrays.get("cka", np.zeros(0))
    if answer is None or state.of is None or not len(cka):
        return None
    layers = state.arrays["layers"]
    names = [f"{a} – {b}" for a, b in layers.T.tolist()]

    bars = [
        (name, value, decimal(value, 3)) for name, value in zip(names, cka.tolist(), strict=True)
    ]
    header = (tr("Layer A – B"), tr("Linear CKA, 0 to 1"))
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
        size=bars_size(len(names), NAME),
        paint=lambda painter, _: paint_bars(painter, bars, NAME, header),
        array=cka,
        table=lambda: Table(
            ("layer of A", "layer of B", "cka"),
            [(a, b, float(v)) for (a, b), v in zip(layers.T.tolist(), cka, strict=True)],
        ),
    )


def make_texts_figure(state: DifferenceState) -> Figure | None:
    """The texts whose predictions changed most; None if predictions cannot be compared."""
    answer, of, order = state.answer, state.of, state.changed_most()
    if answer is None or of is None or not order:
        return None
    kl, predictions, rows = state.arrays["kl"].copy(), answer.predictions, list(state.rows)

    def cells(text: int) -> tuple[str, str, str]:
        shown = rows[text][0] if text < len(rows) else str(text + 1)
        return (shown, *(predictions[text] if text < len(predictions) else ("", "")))

    def one_line(column: int, text: int) -> str:
        return visible(" ".join(cells(text)[column][:MAX_CELL].split()))

    columns = [
        Column[int](title, partial(one_line, index))
        for index, title in enumerate((tr("Text"), tr("A"), tr("B")))
    ]
    kl_column = Column[int]("KL", lambda n: decimal(kl[n], 3), align_right=True)
    model = ColumnsModel([*columns, kl_column])
    model.show_rows(order[:MAX_ROWS])
    text = tr("The {0} of {1} texts of {2} whose predictions changed most: KL(A ‖ B).").format(
        count(model.rowCount()), count(len(order)), of.name
    )
    figure = table_figure(
        model,
        "difference-texts",
        tr("Predictions that changed most"),
        f"{text} {_models(state)} {source(state.explore)}",
        lambda: Table(
            ("number", "text", "prediction of A", "prediction of B", "kl"),
            [(n + 1, *cells(n), float(kl[n])) for n in order],
        ),
    )
    return replace(figure, array=kl)


def _models(state: DifferenceState) -> str:
    return tr("A: {0}. B: {1}.").format(*state.names)
