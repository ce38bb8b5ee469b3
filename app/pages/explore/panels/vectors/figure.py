"""Figures of the cosines at one layer and of the nearest words."""

import numpy as np
from PySide6.QtCore import QSize, QSizeF
from PySide6.QtGui import QPainter

from app.pages.explore.captions import source
from app.pages.explore.panels.vectors.state import VectorsState, around
from app.pages.explore.paper import bars_size, paint_bars, paint_matrix
from app.theme import Role, print_color
from app.translation import tr
from app.widgets.charts.figure import Figure, Table
from app.widgets.text.chips import token_text
from app.widgets.text.numbers import decimal

NAME, CELL, ROW = 340, 52, 24  # px


def make_figure(state: VectorsState) -> Figure | None:
    """None if there is no answer."""
    answer, shown = state.answer, state.shown
    if state.showing != "cosines":
        return _make_nearest_figure(state)
    if answer is None or shown is None:
        return None
    names = [token_text(name) for name in state.names()]
    cosines = np.array(shown.cosines, dtype=np.float32)  # [N, N]
    every = np.array([layer.cosines for layer in answer.layers], dtype=np.float32)

    def paint(painter: QPainter, _size: QSizeF) -> None:
        paint_matrix(
            painter,
            [f"{number}  {name}" for number, name in enumerate(names, 1)],
            [str(number) for number in range(1, len(names) + 1)],
            cosines,
            lambda value: print_color(Role.ACCENT, 0.5 * max(0.0, value) ** 2),
            lambda value: f"{value:.2f}",
            (NAME, CELL, ROW),
        )

    def table() -> Table:
        rows = [
            (number, a + 1, names[a], b + 1, names[b], layer.cosines[a][b], layer.random)
            for number, layer in enumerate(answer.layers)
            for a in range(len(names))
            for b in range(a)
        ]
        header = ("layer", "number", "place", "other number", "other place", "cosine", "random")
        return Table(header, rows)

    text = tr(
        "Cosines of the vectors of “{0}”, means of its tokens, at layer {1} (0: embeddings). Mean "
        "of 1,000 random pairs of tokens: {2}. The array (.npy) has all layers."
    ).format(token_text(answer.word), state.layer, decimal(shown.random, 3))
    return Figure(
        name=f"word-vectors-layer-{state.layer}",
        title=tr("“{0}” in {1} places").format(token_text(answer.word), len(names)),
        caption=f"{text} {source(state.explore)}",
        size=QSize(NAME + CELL * len(names), ROW * (len(names) + 1)),
        paint=paint,
        array=every,
        table=table,
    )


def _make_nearest_figure(state: VectorsState) -> Figure | None:
    table = _tokens_table(state) if state.showing == "tokens" else _words_table(state)
    answer, place = state.answer, state.chosen_place
    if table is None or answer is None or place is None:
        return None
    names = [token_text(str(row[1])) for row in table.rows]
    cosines = np.array([row[-1] for row in table.rows], dtype=np.float32)
    word = token_text(around(answer.texts[place.text], place.start, place.end))

    bars = [
        (name, cosine, f"{cosine:.2f}")
        for name, cosine in zip(names, cosines.tolist(), strict=True)
    ]
    text = tr("Cosines with the vector of {0}, the mean of its tokens, at layer {1}.")
    caption = text.format(word, state.layer)
    if state.showing == "words" and state.of is not None:
        among = tr("Among the words of {0}.").format(state.of.name)
        caption = f"{caption} {among}"
    return Figure(
        name=f"nearest-{state.showing}-layer-{state.layer}",
        title=tr("Nearest to {0}").format(word),
        caption=f"{caption} {source(state.explore)}",
        size=bars_size(len(names), NAME),
        paint=lambda painter, _: paint_bars(painter, bars, NAME, ("", tr("cosine, 0 to 1"))),
        array=cosines,
        table=lambda: table,
    )


def _tokens_table(state: VectorsState) -> Table | None:
    nearest = state.near_tokens
    if nearest is None:
        return None
    rows = [(n, one.token, one.cosine) for n, one in enumerate(nearest.tokens, 1)]
    return Table(("rank", "token", "cosine"), rows)


def _words_table(state: VectorsState) -> Table | None:
    """None if the nearest words belong to another word or layer."""
    nearest = state.near_words
    if nearest is None or not state.is_current:
        return None
    rows = [
        (n, around(one.text, one.start, one.end), one.row + 1, one.text, one.cosine)
        for n, one in enumerate(nearest.words, 1)
    ]
    return Table(("rank", "word", "number", "text", "cosine"), rows)
