"""Head grid of differences, similarity by layer, and the texts that changed most."""

from functools import partial

from PySide6.QtCore import QModelIndex

from app.notices import Notices
from app.pages.explore.captions import layer_title
from app.pages.explore.choice_box import ChoiceBox
from app.pages.explore.head_heatmap import HeadHeatmap
from app.pages.explore.panel import MakePanel, Panel, PanelContext, PanelDescription
from app.pages.explore.panels.difference.figure import (
    make_cka_figure,
    make_figure,
    make_texts_figure,
)
from app.pages.explore.panels.difference.state import COLUMNS, DIGITS, FEW_VECTORS, DifferenceState
from app.pages.explore.set_bar import SetBar
from app.theme import SPACE
from app.translation import tr
from app.widgets import layouts
from app.widgets.charts.figure_menu import FigureButton
from app.widgets.tables import NumbersTable
from app.widgets.text.labels import Text, visible
from app.widgets.text.numbers import count, decimal
from engine.visible import shorten

MAX_ROWS = 200  # texts in the table
MAX_CELL = 120  # characters
MAX_LABEL = 13  # characters


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
            state.work, state.explore, self.tr("Compar&e"), state.compare, lambda: state.why_not
        )
        self.column = ChoiceBox(
            self.tr("Difference of"), [(key, state.name(key)) for key in COLUMNS]
        )
        self.figure_button = FigureButton(partial(make_figure, state), notices)
        self.grid = HeadHeatmap(self.tr("Grid of differences"))
        self.grid.describe = state.describe
        self.figure_button.offer_on(self.grid)
        self.cka_button = FigureButton(partial(make_cka_figure, state), notices)
        self.layers = NumbersTable(self.tr("Similarity by layer"), 1)
        self.cka_button.offer_on(self.layers)
        self.texts = NumbersTable(self.tr("Texts that changed most"), 1)
        self.texts_button = FigureButton(partial(make_texts_figure, state), notices)
        self.texts_button.offer_on(self.texts)
        self.no_predictions = Text(
            self.tr(
                "No predictions to compare: the two models do not predict the same labels, or one"
                " of them is an encoder alone."
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
        alike = Text(self.tr("How alike, by layer"), "strong", wraps=False)
        middle = layouts.column(
            layouts.row((alike, 1), self.cka_button), (self.layers, 1), spacing=SPACE
        )
        self.layers.setMinimumWidth(46 * SPACE)  # fits “Embeddings”
        changed = Text(self.tr("Predictions that changed most"), "strong", wraps=False)
        right = layouts.column(
            layouts.row((changed, 1), self.texts_button),
            self.no_predictions,
            (self.texts, 1),
            layouts.STRETCH,
            spacing=SPACE,
        )
        below = layouts.row((left, 6), (middle, 3), (right, 9), spacing=4 * SPACE)
        layouts.column(
            self.bar, (below, 1), self.note, parent=self, spacing=SPACE, margins=(0, SPACE, 0, 0)
        )

    def _on_activated(self, index: QModelIndex) -> None:
        self._state.show_input(self.order[index.row()])

    def show_state(self) -> None:
        state = self._state
        self.grid.show_values(state.values, state.is_signed)
        self.grid.setEnabled(state.values is not None)
        self.column.setEnabled(state.values is not None)
        self.layers.show_rows(*self._layer_rows())
        self.order = state.changed_most()[:MAX_ROWS]
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
        for text in self.order:
            shown = state.rows[text][0] if text < len(state.rows) else str(text + 1)
            cells = [visible(" ".join(shown[:MAX_CELL].split()))]
            if has_predictions:
                cells += [shorten(visible(one), MAX_LABEL) for one in predictions[text]]
            rows.append([*cells, decimal(float(state.arrays["kl"][text]), DIGITS)])
        return (header, rows) if rows else ([], [])

    def _note(self, layer: int, head: int) -> str:
        state = self._state
        answer = state.answer
        if answer is None:
            return self.tr("Press Compare to see where B, the second model, differs from A.")
        parts = []
        if answer.comparable:
            parts.append(f"{state.describe(layer, head)}. {state.meaning(state.column)}.")
        else:
            parts.append(
                self.tr(
                    "Neither model came from the other, so their heads do not correspond; only how "
                    "alike their vectors are is shown."
                )
            )
        if answer.is_final:
            number = count(answer.vectors)
            if answer.of_words:
                parts.append(self.tr("CKA of {0} words.").format(number))
            else:
                parts.append(self.tr("CKA of {0} tokens.").format(number))
            if answer.vectors < FEW_VECTORS:
                parts.append(
                    self.tr("Below {0} it is uncertain: choose more texts.").format(
                        count(FEW_VECTORS)
                    )
                )
        return " ".join(parts)
