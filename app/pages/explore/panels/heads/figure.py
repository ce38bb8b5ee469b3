"""Figure of one statistic of all heads."""

from PySide6.QtCore import QPointF, QRectF, QSizeF
from PySide6.QtGui import QPainter

from app.pages.explore.captions import source
from app.pages.explore.head_grid import grid_size, paint_grid
from app.pages.explore.panels.heads.state import OFFSET, HeadsState
from app.translation import tr
from app.widgets.charts.figure import Figure, Table, paper_font, print_color
from app.widgets.text.numbers import count, decimal
from engine.messages.explore.text_set import HeadsCounted, HeadsPruned


def figure_of(state: HeadsState) -> Figure | None:
    """None until there are numbers."""
    answer, of = state.answer, state.of
    if answer is None or of is None:
        return None
    keys = state.keys
    every = {key: state.ends(key).copy() for key in keys}
    offsets = None if state.counted is None else state.ends(OFFSET)[0].copy()
    values = every[state.column][0]
    layers, heads = state.size
    is_signed = state.is_signed

    def paint(painter: QPainter, size: QSizeF) -> None:
        painter.setFont(paper_font(11))
        paint_grid(painter, QRectF(QPointF(), size), values, print_color, is_signed)

    def table() -> Table:
        header = ["layer", "head", "offset"]
        for key in keys:
            header += [key, f"{key} low", f"{key} high"]
        return Table(
            tuple(header),
            [
                (
                    layer + 1,
                    head + 1,
                    "" if offsets is None else int(offsets[layer, head]),
                    *(float(v) for key in keys for v in every[key][:, layer, head]),
                )
                for layer in range(layers)
                for head in range(heads)
            ],
        )

    name = state.name(state.column)
    meant = f"{name}: {state.meaning(state.column)}."
    if isinstance(answer, HeadsCounted):
        text = tr("Means over {0} tokens that are not special, in {1} of {2} texts of {3}.").format(
            count(answer.tokens), count(answer.done), count(answer.total), of.name
        )
    elif isinstance(answer, HeadsPruned):
        text = tr("{0} texts of {1}: {2}").format(count(of.count), of.name, state.pruning())
    else:
        text = tr("Means over {0} of {1} texts of {2}; the mean loss is {3}.").format(
            count(answer.done), count(answer.total), of.name, decimal(answer.loss, 3)
        )
    title = tr("{0} of every head").format(name)
    ends = tr("The table has 95 % intervals by a bootstrap over texts.")
    if isinstance(answer, HeadsPruned):
        title = tr("Rounds in which heads were pruned")
        ends = tr("A tenth of the heads is pruned in each round, by their importance.")
    return Figure(
        name=f"heads-{state.column.replace(' ', '-')}",
        title=title,
        caption=f"{meant} {text} {ends} {source(state.study)}",
        size=grid_size(values),
        paint=paint,
        array=every[state.column],
        table=table,
    )
