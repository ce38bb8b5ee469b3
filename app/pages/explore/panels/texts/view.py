"""Source of the texts, the button that scores them, and their table."""

from collections.abc import Callable
from functools import partial

import numpy as np
from PySide6.QtCore import QItemSelection, QItemSelectionModel, QModelIndex, QRectF, QSize, Qt
from PySide6.QtGui import QPainter
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QPlainTextEdit

from app.notices import Notices
from app.pages.explore.captions import source
from app.pages.explore.choice_box import ChoiceBox
from app.pages.explore.panel import MakePanel, Panel, PanelContext, PanelDescription
from app.pages.explore.panels.texts.state import MAX_TYPED, TextsState
from app.pages.explore.paper import RIGHT, draw_elided
from app.pages.explore.set_bar import Results, SetBar
from app.pages.explore.state import TYPING_PAUSE_MS
from app.resources import mono_font
from app.theme import SPACE, Role, print_color, px
from app.timers import debounced
from app.translation import tr
from app.widgets import layouts
from app.widgets.charts.bars import percentage
from app.widgets.charts.chart import Axis, Bars, Chart
from app.widgets.charts.figure import Figure, Table, print_font
from app.widgets.charts.figure_menu import FigureButton
from app.widgets.charts.painting import Frame
from app.widgets.charts.painting import paint as paint_chart
from app.widgets.tables import Column, ColumnsModel, make_table
from app.widgets.text.labels import Text, visible
from app.widgets.text.numbers import count, decimal, percent
from engine.config.dataset import SplitName
from engine.messages.explore.text_set import MAX_TEXTS, TextScore

TYPED = ""  # box entry for typed texts
MIN_LABEL_WIDTH = 24 * SPACE  # px, also of a prediction
MAX_CELL = 300  # characters
TEXT, PAIR, LABEL, PREDICTION, PROBABILITY, LOSS, TOKENS = range(7)
BINS, LEFT, PLOT_HEIGHT, PLOT_WIDTH = 30, 48, 260, 560
MAX_HARDEST, ROW_HEIGHT = 10, 20  # texts below the bars, and px


def panel() -> PanelDescription:
    title = tr("Texts")
    return PanelDescription(
        "texts", title, icon="scroll-text", help="texts", make=_make, works_on_texts=True
    )


def _make(context: PanelContext) -> MakePanel:
    state = TextsState(context.explore, context.home, context.one_time_worker)
    return lambda: TextsView(state, context.notices)


class TextsView(Panel):
    """Texts with their scores; other panels use the rows that are selected in the table."""

    def __init__(self, state: TextsState, notices: Notices) -> None:
        super().__init__()
        self._state = state
        self.source = ChoiceBox(self.tr("Source of the texts"))
        self.part = ChoiceBox(self.tr("Split of the data set"))
        self.source.setMaximumWidth(px(60 * SPACE))
        self.typed = QPlainTextEdit()
        self.typed.setAccessibleName(self.tr("Typed texts"))
        self.typed.setPlaceholderText(
            self.tr("One text per line; after a tab, its label or the second text of a pair")
        )
        self.typed.setTabChangesFocus(True)
        self.typed.setMinimumWidth(px(50 * SPACE))
        self.bar = SetBar(
            state.work,
            state.explore,
            self.tr("Score &texts"),
            state.score,
            all_texts=lambda: state.all_texts,
        )
        self.figure_button = FigureButton(partial(make_figure, state), notices)
        self.rows = ColumnsModel[int](text_columns(state), self)
        self.table = make_table(self.tr("Texts"), self.rows)
        self.figure_button.offer_on(self.table)
        self.table.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.table.setMinimumHeight(px(24 * SPACE))
        self.table.setSortingEnabled(True)
        header = self.table.horizontalHeader()
        header.setSectionsClickable(True)
        header.setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
        self.note = Text("", "small")
        self._lay_out()
        self._scored_count = 0  # scores that the order includes
        self._rows: list[tuple[str, str | None]] | None = None  # displayed
        self._is_sorting = False
        self._pause = debounced(self, 2 * TYPING_PAUSE_MS, self._on_typed)
        self.typed.textChanged.connect(self._pause.start)
        self.source.chosen.connect(self._on_source)
        self.part.chosen.connect(state.use_part)
        self.table.activated.connect(self._on_activated)
        self.table.selectionModel().selectionChanged.connect(lambda *_: self._on_selected())
        state.sources_changed.connect(self._show_sources)
        state.changed.connect(self.show_state)
        self._show_sources()
        self.show_state()

    def _lay_out(self) -> None:
        line = self.bar.line
        label = Text(self.tr("L&ist"), "strong", wraps=False)
        label.setBuddy(self.source)
        for index, widget in enumerate((label, self.source, self.part)):
            line.insertWidget(index, widget)
        line.addWidget(self.figure_button)
        self.results = Results(
            self.table,
            "scroll-text",
            self.tr("Texts with their predictions and losses"),
            self.tr("Hardest first; other panels use the selected rows."),
        )
        below = layouts.row((self.typed, 2), (self.results, 5), spacing=4 * SPACE)
        layouts.column(
            self.bar, (below, 1), self.note, parent=self, spacing=SPACE, margins=(0, SPACE, 0, 0)
        )

    def set_active(self, active: bool) -> None:
        super().set_active(active)
        if active:
            self._state.read_sources()

    # ── user actions ─────────────────────────────────────────────────────────────────────────

    def _on_typed(self) -> None:
        self._state.set_typed(self.typed.toPlainText())

    def _on_source(self, folder: str) -> None:
        entry = next((e for e in self._state.sources if str(e.folder) == folder), None)
        if entry is None:
            self._state.use_typed()
        else:
            self._state.use_data(entry)

    def _on_activated(self, index: QModelIndex) -> None:
        self._state.show_input(self.rows.order[index.row()])

    def _on_selected(self) -> None:
        if not self._is_sorting:
            chosen = self.table.selectionModel().selectedRows()
            self._state.select([self.rows.order[index.row()] for index in chosen])

    # ── contents ─────────────────────────────────────────────────────────────────────────────

    def _show_sources(self) -> None:
        state = self._state
        name = self.tr("{0}, version {1}")
        entries = [(str(e.folder), visible(name.format(e.name, e.version))) for e in state.sources]
        self.source.show_entries([(TYPED, self.tr("Typed list")), *entries])
        self.source.choose(str(state.source.folder) if state.source is not None else TYPED)

    def show_state(self) -> None:
        state = self._state
        parts = state.parts()
        self.part.show_entries((p, f"{self._part_name(p)} ({count(n)})") for p, n in parts.items())
        self.part.choose(state.part)
        self.part.setVisible(len(parts) > 0)
        self.typed.setVisible(state.source is None)
        if not self.typed.hasFocus() and self.typed.toPlainText() != state.typed:
            self.typed.setPlainText(state.typed)
        self.results.show_results(bool(state.rows))
        self._show_rows()
        self.bar.show_state()
        self.note.setText(self._note())

    def _part_name(self, part: SplitName) -> str:
        names = {
            "train": self.tr("training"),
            "validation": self.tr("validation"),
            "test": self.tr("test"),
        }
        return names[part]

    def _show_rows(self) -> None:
        state, header = self._state, self.table.horizontalHeader()
        self._is_sorting = True
        if self._rows is not state.rows:
            self._rows, self._scored_count = state.rows, 0
            self.rows.sort(-1)
            self.rows.show_rows(range(len(state.rows)), text_columns(state))
            header.setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
            self._size_columns()
        elif self._scored_count and not state.scores:
            self._scored_count = 0
            header.setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
            self._size_columns()
        self.rows.columns = text_columns(state)  # the loss may have another name
        if len(state.scores) != self._scored_count:
            is_first, self._scored_count = not self._scored_count, len(state.scores)
            if is_first and np.isfinite(state.losses).any():
                header.setSortIndicator(LOSS, Qt.SortOrder.DescendingOrder)
            self.rows.sort(header.sortIndicatorSection(), header.sortIndicatorOrder())
            if is_first:
                self._size_columns()
        self._follow()
        self._is_sorting = False
        self.figure_button.refresh()

    def _follow(self) -> None:
        model = self.table.selectionModel()
        shown = sorted(self.rows.order[index.row()] for index in model.selectedRows())
        if tuple(shown) == self._state.selected:
            return
        rows = {text: row for row, text in enumerate(self.rows.order)}
        selection = QItemSelection()
        for text in self._state.selected:
            index = self.rows.index(rows[text], 0)
            selection.select(index, index)
        flag = QItemSelectionModel.SelectionFlag
        model.select(selection, flag.ClearAndSelect | flag.Rows)

    def _size_columns(self) -> None:
        state, table = self._state, self.table
        table.setColumnHidden(PAIR, not any(pair for _, pair in state.rows))
        has_labels = bool(state.labels) or any(score.label for score in state.scores)
        table.setColumnHidden(LABEL, not has_labels)
        has_predictions = bool(state.scores) and state.loss == "task"
        table.setColumnHidden(PREDICTION, not has_predictions)
        has_probabilities = any(score.probability is not None for score in state.scores)
        table.setColumnHidden(PROBABILITY, not has_probabilities)
        header = table.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        for column in (TEXT, PAIR):
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.Stretch)
        header.setMaximumSectionSize(100 * SPACE)
        for column in (LABEL, PREDICTION):  # may hold a tag per word, and can be widened
            width = max(table.sizeHintForColumn(column), header.sectionSizeHint(column))
            header.setSectionResizeMode(column, QHeaderView.ResizeMode.Interactive)
            header.resizeSection(column, min(max(width, MIN_LABEL_WIDTH), table.width() // 4))

    def _note(self) -> str:
        state = self._state
        if state.problem:
            return state.problem
        if state.is_reading:
            return self.tr("Reading …")
        if not state.rows:
            return ""
        parts = self._statistics()
        if state.is_truncated:
            limit = MAX_TYPED if state.source is None else MAX_TEXTS
            parts.append(self.tr("Only the first {0} texts are used.").format(count(limit)))
        if state.selected:
            parts.append(
                self.tr("Other panels use the %Ln selected text(s).", "", len(state.selected))
            )
        else:
            parts.append(
                self.tr("Press Enter to show a text above; select rows to use only these.")
            )
        return " ".join(parts)

    def _statistics(self) -> list[str]:
        state = self._state
        if not state.scores:
            return []
        if state.loss == "none":
            return [self.tr("This model has no task head and no MLM head, so there is no loss.")]
        losses = state.losses[np.isfinite(state.losses)]
        if not len(losses):
            return [self.tr("Without labels there is no loss.")]
        mean = decimal(float(losses.mean()), 3)
        parts = [self.tr("Mean loss of %Ln text(s): {0}.", "", len(losses)).format(mean)]
        if state.loss == "pseudo":
            parts = [
                self.tr(
                    "Mean pseudo-loss of %Ln text(s): {0}; each token is masked in turn.",
                    "",
                    len(losses),
                ).format(mean)
            ]
        right = [score.right for score in state.scores if score.right is not None]
        if right:
            parts.append(self.tr("{0} correct.").format(percent(sum(right) / len(right))))
        return parts


def text_columns(state: TextsState) -> list[Column[int]]:
    """Columns in the order of the constants above; missing numbers are sorted last."""
    is_pseudo = state.loss == "pseudo"
    return [
        _text_column(tr("Text"), lambda n: state.rows[n][0]),
        _text_column(tr("Second text"), lambda n: state.rows[n][1] or ""),
        _name_column(tr("Label"), partial(_label, state)),
        _name_column(
            tr("Prediction"),
            lambda n: visible(state.scores[n].prediction) if n < len(state.scores) else "",
        ),
        _number_column(
            state,
            tr("p"),
            tr("Probability of the prediction"),
            lambda score: score.probability,
            percentage,
        ),
        _number_column(
            state,
            tr("Pseudo-loss") if is_pseudo else tr("Loss"),
            tr("Loss of the task; without a task: mean −log P of each token, masked in turn"),
            lambda score: score.loss,
            lambda loss: decimal(loss, 3),
            descending_first=True,
        ),
        _number_column(
            state,
            tr("Tokens"),
            tr("Number of tokens of the text, including special tokens"),
            lambda score: score.tokens,
            lambda tokens: count(int(tokens)),
            descending_first=True,
        ),
    ]


def _text_column(title: str, text: Callable[[int], str]) -> Column[int]:
    def one_line(n: int) -> str:
        return visible(" ".join(text(n)[:MAX_CELL].split()))

    return Column(
        title, one_line, text, tooltip=text, sort_key=lambda n: one_line(n).casefold() or None
    )


def _name_column(title: str, text: Callable[[int], str]) -> Column[int]:
    return Column(title, text, tooltip=text, sort_key=lambda n: text(n).casefold() or None)


def _number_column(
    state: TextsState,
    title: str,
    meaning: str,
    value: Callable[[TextScore], float | None],
    text: Callable[[float], str],
    descending_first: bool = False,
) -> Column[int]:
    def number(n: int) -> float | None:
        return value(state.scores[n]) if n < len(state.scores) else None

    def shown(n: int) -> str:
        known = number(n)
        return "" if known is None else text(known)

    return Column(
        title,
        shown,
        font=lambda _: mono_font(),
        align_right=True,
        meaning=meaning,
        sort_key=number,
        descending_first=descending_first,
    )


def _label(state: TextsState, n: int) -> str:
    score = state.scores[n] if n < len(state.scores) else None
    typed = state.labels[n] if n < len(state.labels) else ""
    return visible((score.label if score is not None and score.label else typed)[:MAX_CELL])


def make_figure(state: TextsState) -> Figure | None:
    """Histogram of the losses and the hardest texts; None until a loss is known."""
    losses = state.losses
    known = losses[np.isfinite(losses)]
    if not len(known):
        return None
    counts, edges = np.histogram(known, BINS)
    order = [int(n) for n in np.argsort(-np.nan_to_num(losses, nan=-np.inf), kind="stable")]
    hardest = [
        (decimal(losses[n], 3), visible(" ".join(state.rows[n][0][:90].split())))
        for n in order[: min(MAX_HARDEST, len(known))]
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
    meaning = tr("Loss of the task.")
    if state.loss == "pseudo":
        meaning = tr("Mean −log P of each token, masked in turn (Salazar et al. 2020).")
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
        Axis(tr("Texts"), (0, float(counts.max())), integer=True),
        (bars,),
    )
    return Figure(
        name="losses",
        title=tr("The hardest texts of {0}").format(state.name),
        caption=f"{meaning} {counts_text} {source(state.explore)}",
        size=QSize(LEFT + PLOT_WIDTH, PLOT_HEIGHT + ROW_HEIGHT * len(hardest)),
        paint=lambda painter, _: _paint(painter, chart, hardest),
        array=losses,
        table=table,
    )


def _paint(painter: QPainter, chart: Chart, hardest: list[tuple[str, str]]) -> None:
    label_font = print_font(11)
    frame = Frame(QRectF(0, 0, LEFT + PLOT_WIDTH, PLOT_HEIGHT), chart, label_font)
    paint_chart(painter, frame, print_color, label_font)
    painter.setPen(print_color(Role.TEXT))
    for index, (loss, text) in enumerate(hardest):
        top = PLOT_HEIGHT + index * ROW_HEIGHT
        painter.drawText(QRectF(0, top, LEFT - 6, ROW_HEIGHT), RIGHT, loss)
        draw_elided(painter, QRectF(LEFT, top, PLOT_WIDTH, ROW_HEIGHT), text)
