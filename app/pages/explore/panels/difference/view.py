"""Head grid of differences, similarity by layer, and the texts that changed most."""

from dataclasses import replace
from functools import partial

import numpy as np
from PySide6.QtCore import QModelIndex, QPointF, QRectF, QSizeF
from PySide6.QtGui import QPainter

from app.notices import Notices
from app.pages.explore.captions import layer_title, source
from app.pages.explore.choice_box import ChoiceBox
from app.pages.explore.head_heatmap import HeadHeatmap, grid_size, paint_grid
from app.pages.explore.panel import MakePanel, Panel, PanelContext, PanelDescription
from app.pages.explore.panels.difference.state import (
    COLUMNS,
    DIGITS,
    DIVERGENCE,
    MIN_VECTORS,
    DifferenceState,
)
from app.pages.explore.set_bar import Results, SetBar
from app.theme import SPACE, print_color, px
from app.translation import tr
from app.widgets import layouts
from app.widgets.charts.bars import Bar, bars_figure
from app.widgets.charts.figure import Figure, Table, print_font
from app.widgets.charts.figure_menu import FigureButton
from app.widgets.charts.table_figure import table_figure
from app.widgets.tables import Column, ColumnsModel, NumbersTable
from app.widgets.text.labels import Text, visible
from app.widgets.text.numbers import count, decimal
from engine.messages.explore.head_measures import KEYS
from engine.visible import shorten

MAX_ROWS, DRAWN_ROWS = 200, 20  # texts in the table, and in its figure
MAX_CELL = 120  # characters
MAX_LABEL = 13  # characters
CKA_WIDTH = 420  # px


def panel() -> PanelDescription:
    title = tr("Difference")
    return PanelDescription(
        "difference", title, icon="columns-2", help="difference", make=_make, works_on_texts=True
    )


def _make(context: PanelContext) -> MakePanel:
    state = DifferenceState(context.explore, context.home, context.one_time_worker)
    return lambda: DifferenceView(state, context.notices)


class DifferenceView(Panel):
    def __init__(self, state: DifferenceState, notices: Notices) -> None:
        super().__init__()
        self._state, self._explore = state, state.explore
        self.bar = SetBar(
            state.work,
            state.explore,
            self.tr("Compar&e"),
            state.compare,
            lambda: state.obstacle,
            prepare=state.request_other,
        )
        self.column = ChoiceBox(
            self.tr("Difference of"), [(key, state.name(key)) for key in COLUMNS]
        )
        self.figure_button = FigureButton(partial(make_figure, state), notices)
        self.grid = HeadHeatmap(self.tr("Grid of differences"))
        self.grid.describe = state.describe
        self.figure_button.offer_on(self.grid)
        self.cka_button = FigureButton(partial(make_cka_figure, state), notices)
        self.layers = NumbersTable(self.tr("Representational similarity by layer"), 1)
        self.cka_button.offer_on(self.layers)
        self.texts = NumbersTable(self.tr("Texts whose predictions changed most"), 1)
        self.texts_button = FigureButton(partial(make_texts_figure, state), notices)
        self.texts_button.offer_on(self.texts)
        self.no_predictions = Text(
            self.tr(
                "No predictions to compare: the two models do not predict the same labels, or one"
                " of them has no output head."
            ),
            "muted",
        )
        self.note = Text("", "small")
        self._lay_out()
        self.order: list[int] = []  # indices of the texts in the table
        self.column.chosen.connect(state.show_column)
        self.grid.picked.connect(self._explore.pick_head)
        self.texts.activated.connect(self._on_activated)
        self._explore.head_changed.connect(lambda *_: self._follow())
        self._explore.sides_changed.connect(self.bar.show_state)
        self._explore.heads_off_changed.connect(self.bar.show_state)
        state.changed.connect(self.show_state)
        self.show_state()

    def _lay_out(self) -> None:
        head = layouts.row((self.column, 1), self.figure_button, spacing=2 * SPACE)
        left = layouts.column(head, (self.grid, 1), spacing=SPACE)
        similarity = Text(self.tr("Representational similarity by layer"), "strong")
        middle = layouts.column(
            layouts.row((similarity, 1), self.cka_button), (self.layers, 1), spacing=SPACE
        )
        self.layers.setMinimumWidth(px(46 * SPACE))  # fits “Embeddings”
        changed = Text(self.tr("Predictions that changed most"), "strong", wraps=False)
        right = layouts.column(
            layouts.row((changed, 1), self.texts_button),
            self.no_predictions,
            (self.texts, 1),
            layouts.STRETCH,
            spacing=SPACE,
        )
        self.results = Results(
            layouts.page(layouts.row((left, 6), (middle, 3), (right, 9), spacing=4 * SPACE)),
            "columns-2",
            self.tr("Differences between two models"),
            self.tr("By head, by layer, and the texts whose predictions changed most."),
        )
        layouts.column(
            self.bar,
            (self.results, 1),
            self.note,
            parent=self,
            spacing=SPACE,
            margins=(0, SPACE, 0, 0),
        )

    def _on_activated(self, index: QModelIndex) -> None:
        self._state.show_input(self.order[index.row()])

    def show_state(self) -> None:
        state = self._state
        self.results.show_results(state.answer is not None)
        self.grid.show_values(state.values, state.is_signed)
        self.grid.setEnabled(state.values is not None)
        self.column.setEnabled(state.values is not None)
        self.layers.show_rows(*self._layer_rows())
        self.order = state.most_changed_texts()[:MAX_ROWS]
        header, rows = self._text_rows()
        self.texts.show_rows(header, rows, numeric_from=max(0, len(header) - 1))
        answer = self._state.answer
        has_none = answer is not None and answer.is_final and not self.order
        self.no_predictions.setVisible(has_none)
        self.texts.setHidden(has_none)
        self._follow()
        self.figure_button.refresh()
        self.cka_button.refresh()
        self.texts_button.refresh()

    def _follow(self) -> None:
        values = self._state.values
        layer, head = self._explore.layer, self._explore.head
        if values is not None:
            layer, head = min(layer, values.shape[0] - 1), min(head, values.shape[1] - 1)
        self.grid.choose(layer, head)
        self.note.setText(self._note(layer, head))

    def _layer_rows(self) -> tuple[list[str], list[list[str]]]:
        arrays = self._state.arrays
        if "cka" not in arrays or not len(arrays["cka"]):
            return [], []
        rows = [
            [f"{a} – {b}" if a != b else layer_title(a), decimal(value, DIGITS)]
            for (a, b), value in zip(arrays["layers"].T.tolist(), arrays["cka"], strict=True)
        ]
        return [self.tr("Layer"), self.tr("CKA")], rows

    def _text_rows(self) -> tuple[list[str], list[list[str]]]:
        state = self._state
        predictions = state.answer.predictions if state.answer is not None else ()
        has_predictions = any(a or b for a, b in predictions)
        header = [self.tr("Text"), *([self.tr("A"), self.tr("B")] if has_predictions else []), "KL"]
        rows = []
        for index in self.order:
            shown = state.rows[index][0] if index < len(state.rows) else str(index + 1)
            cells = [visible(" ".join(shown[:MAX_CELL].split()))]
            if has_predictions:
                cells += [shorten(visible(label), MAX_LABEL) for label in predictions[index]]
            rows.append([*cells, decimal(float(state.arrays["kl"][index]), DIGITS)])
        return (header, rows) if rows else ([], [])

    def _note(self, layer: int, head: int) -> str:
        state = self._state
        answer = state.answer
        if answer is None:
            return ""
        parts = []
        if answer.comparable:
            parts.append(f"{state.describe(layer, head)}. {state.meaning(state.column)}.")
        else:
            parts.append(
                self.tr(
                    "Neither model was trained from the other, so their heads do not correspond; "
                    "only the similarity of their vectors is shown."
                )
            )
        if answer.is_final:
            number = count(answer.vectors)
            if answer.of_words:
                parts.append(self.tr("CKA of {0} words.").format(number))
            else:
                parts.append(self.tr("CKA of {0} tokens.").format(number))
            if answer.vectors < MIN_VECTORS:
                parts.append(
                    self.tr("CKA is uncertain with fewer than {0}: choose more texts.").format(
                        count(MIN_VECTORS)
                    )
                )
        return " ".join(parts)


def make_figure(state: DifferenceState) -> Figure | None:
    """Figure of the head grid, or of the CKA if the heads do not correspond."""
    values, answer = state.values, state.answer
    if answer is None or state.source is None:
        return None
    if values is None:
        return make_cka_figure(state)
    arrays, is_signed = dict(state.arrays), state.is_signed

    def paint(painter: QPainter, size: QSizeF) -> None:
        painter.setFont(print_font(11))
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
        name, state.meaning(state.column), count(answer.done), state.source.name
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
    """Figure of the CKA by layer; None until it is known."""
    answer, cka = state.answer, state.arrays.get("cka", np.zeros(0))
    if answer is None or state.source is None or not len(cka):
        return None
    layers = state.arrays["layers"]
    names = [f"{a} – {b}" for a, b in layers.T.tolist()]

    bars = [
        Bar(name, value, text=decimal(value, 3))
        for name, value in zip(names, cka.tolist(), strict=True)
    ]
    text = tr("Linear CKA of the vectors of {0} tokens, unbiased (Nguyen et al. 2021).").format(
        count(answer.vectors)
    )
    if answer.of_words:
        text = tr("Linear CKA of the mean vectors of {0} words, unbiased (Nguyen et al. 2021).")
        text = text.format(count(answer.vectors))
    rows = [(a, b, float(v)) for (a, b), v in zip(layers.T.tolist(), cka, strict=True)]
    return bars_figure(
        [(tr("Layer A – B: linear CKA, 0 to 1"), bars)],
        "cka",
        tr("Representational similarity of two models by layer"),
        f"{text} {_models(state)} {source(state.explore)}",
        Table(("layer of A", "layer of B", "cka"), rows),
        cka,
        width=CKA_WIDTH,
    )


def make_texts_figure(state: DifferenceState) -> Figure | None:
    """Figure of the most changed predictions; None if predictions cannot be compared."""
    answer, chosen, order = state.answer, state.source, state.most_changed_texts()
    if answer is None or chosen is None or not order:
        return None
    kl, predictions, rows = state.arrays["kl"].copy(), answer.predictions, list(state.rows)

    def cells(index: int) -> tuple[str, str, str]:
        shown = rows[index][0] if index < len(rows) else str(index + 1)
        return (shown, *(predictions[index] if index < len(predictions) else ("", "")))

    def one_line(column: int, index: int) -> str:
        return visible(" ".join(cells(index)[column][:MAX_CELL].split()))

    columns = [
        Column[int](title, partial(one_line, column))
        for column, title in enumerate((tr("Text"), tr("A"), tr("B")))
    ]
    kl_column = Column[int]("KL", lambda n: decimal(kl[n], 3), align_right=True)
    model = ColumnsModel([*columns, kl_column])
    model.show_rows(order[:DRAWN_ROWS])
    text = tr("The {0} of {1} texts of {2} whose predictions changed most: KL(A ‖ B).").format(
        count(model.rowCount()), count(len(order)), chosen.name
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
