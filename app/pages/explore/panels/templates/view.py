"""Templates, their words, and the grid of fillers and targets."""

from functools import partial

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, QSizeF
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import QComboBox, QLineEdit, QPlainTextEdit

from app.notices import Notices
from app.pages.explore.captions import source
from app.pages.explore.choice_box import ChoiceBox
from app.pages.explore.head_heatmap import BAR, BAR_LEFT, TICKS, paint_bar, value_range
from app.pages.explore.panel import MakePanel, Panel, PanelContext, PanelDescription
from app.pages.explore.panels.templates.state import Measure, TemplatesState
from app.pages.explore.paper import paint_matrix
from app.pages.explore.state import TYPING_PAUSE_MS
from app.theme import SPACE, print_color, px, shade
from app.timers import debounced
from app.translation import tr, translated
from app.widgets import layouts
from app.widgets.charts.figure import Figure, Table
from app.widgets.charts.figure_menu import FigureButton
from app.widgets.tables import NumbersTable
from app.widgets.text.chips import token_text
from app.widgets.text.labels import Text, visible
from app.widgets.text.numbers import count, decimal

DIGITS = 3
NAME_WIDTH, CELL_WIDTH, ROW_HEIGHT = 150, 84, 26  # px


def panel() -> PanelDescription:
    title = tr("Templates")
    return PanelDescription(
        "templates",
        title,
        icon="text",
        help="templates",
        make=_make,
        is_offered=lambda explore: explore.first.has_head("mlm"),
    )


def _make(context: PanelContext) -> MakePanel:
    state = TemplatesState(context.explore, context.explorer)
    return lambda: TemplatesView(state, context.notices)


class TemplatesView(Panel):
    def __init__(self, state: TemplatesState, notices: Notices) -> None:
        super().__init__([state.query])
        self._state = state
        self.templates = QPlainTextEdit("\n".join(state.templates))
        self.templates.setTabChangesFocus(True)
        self.templates.setMinimumHeight(px(12 * SPACE))
        self.templates.setPlaceholderText(
            self.tr("[TARGET] works as a [FILLER]. – one template per line")
        )
        self.fillers, self.targets = QLineEdit(", ".join(state.fillers)), QLineEdit()
        self.targets.setText(", ".join(state.targets))
        self.template = ChoiceBox(self.tr("Displayed template"))
        self.measure = ChoiceBox(self.tr("Displayed number"), measure_names().items())
        self.template.setSizePolicy(self.measure.sizePolicy())
        self.template.setMinimumContentsLength(12)
        self.template.setSizeAdjustPolicy(
            QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
        )
        self.figure_button = FigureButton(partial(make_figure, state), notices)
        self.grid = NumbersTable(self.tr("Fillers and targets"), 1)
        self.figure_button.offer_on(self.grid)
        self.note = Text("", "small")
        self._pause = debounced(self, 2 * TYPING_PAUSE_MS, self._on_typed)
        self._lay_out()
        self.templates.textChanged.connect(self._pause.start)
        for edit in (self.fillers, self.targets):
            edit.textEdited.connect(lambda _: self._pause.start())
            edit.returnPressed.connect(self._on_typed)
        for box in (self.template, self.measure):
            box.chosen.connect(lambda _: self._on_shown())
        state.changed.connect(self.show_state)
        state.shown_changed.connect(self.show_state)
        self._show_templates()
        self.show_state()

    def _lay_out(self) -> None:
        left = layouts.column(spacing=SPACE)
        for text, field, stretch in (
            (self.tr("&Templates"), self.templates, 1),
            (self.tr("F&illers"), self.fillers, 0),
            (self.tr("Tar&gets"), self.targets, 0),
        ):
            label = Text(text, "strong", wraps=False)
            label.setBuddy(field)
            field.setAccessibleName(text.replace("&", ""))
            left.addWidget(label)
            left.addWidget(field, stretch)
        head = layouts.row((self.template, 1), self.measure, self.figure_button, spacing=2 * SPACE)
        right = layouts.column(head, (self.grid, 1), self.note, spacing=SPACE)
        layouts.row((left, 4), (right, 5), parent=self, spacing=6 * SPACE, margins=(0, SPACE, 0, 0))

    def _on_typed(self) -> None:
        self._pause.stop()
        state = self._state
        state.set_templates(self.templates.toPlainText())
        state.set_fillers(self.fillers.text())
        state.set_targets(self.targets.text())
        self._show_templates()
        self.show_state()

    def _on_shown(self) -> None:
        self._state.show(self.template.currentData(), self.measure.currentData())

    def _show_templates(self) -> None:
        titles = [self.tr("Mean of all templates"), *map(visible, self._state.templates)]
        self.template.show_entries(enumerate(titles, start=-1))
        self.template.choose(self._state.template)

    def show_state(self) -> None:
        state = self._state
        values = state.shown_values
        rows = [
            [token_text(filler), *(_cell(value) for value in values[index])]
            for index, filler in enumerate(state.fillers)
        ]
        header = [self.tr("Filler"), *(token_text(target) for target in state.targets)]
        has_any = bool(state.rows)
        self.grid.show_rows(header if has_any else [], rows if has_any else [])
        self.note.setText(self._note())
        self.figure_button.refresh()

    def _note(self) -> str:
        state = self._state
        if state.query.problem:
            return state.query.problem
        if not (state.templates and state.fillers and state.targets):
            return self.tr("Type a template, fillers and targets.")
        if not state.rows:
            return self.tr("Running the model …")
        parts = []
        if not state.is_complete:
            text = self.tr("{0} of {1} rows are computed …")
            parts.append(text.format(count(len(state.rows)), count(state.total)))
        for reason, words in state.problems().items():
            names = ", ".join(f"“{token_text(word)}”" for word in words)
            parts.append(f"{translated(reason)} ({names})")
        parts.append(
            self.tr(
                "Association: ln p(target | filler) − ln p(target | masked filler); above 0 the "
                "filler makes the target more likely. A target of several tokens has one mask per "
                "token, filled from left to right; a masked filler also has one mask per token."
            )
        )
        return " ".join(parts)


def _cell(value: float) -> str:
    return decimal(float(value), DIGITS) if np.isfinite(value) else "–"


def measure_names() -> dict[Measure, str]:
    return {
        "association": tr("Association"),
        "given": tr("ln p(target | filler)"),
        "prior": tr("ln p(target | masked filler)"),
    }


def make_figure(state: TemplatesState) -> Figure | None:
    """Figure of the displayed values; None until one is known."""
    if not state.rows:
        return None
    fillers = [token_text(word) for word in state.fillers]
    targets = [token_text(word) for word in state.targets]
    values, measure = state.shown_values, state.measure
    array = np.stack([state.values(key) for key in measure_names()])  # [3, S, F, G]
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

    rows_shown = state.rows
    state_templates = tuple(visible(template) for template in state.templates)
    if state.template >= 0:
        scope = tr("In “{0}”.").format(state_templates[state.template])
    else:
        listed = " ".join(f"“{template}”" for template in state_templates)
        scope = tr("Mean of %Ln template(s): {0}", len(state_templates)).format(listed)
    method = tr(
        "Association: ln p(target | filler) − ln p(target | masked filler), natural logarithms; "
        "the tokens of a target are predicted one by one, from left to right."
    )
    return Figure(
        name=f"templates-{measure}",
        title=tr("{0} of fillers and targets").format(measure_names()[measure]),
        caption=f"{scope} {method} {source(state.explore)}",
        size=QSize(
            NAME_WIDTH + CELL_WIDTH * len(targets) + BAR_LEFT + BAR + TICKS,
            max(ROW_HEIGHT * (len(fillers) + 1), 110),
        ),
        paint=paint,
        array=array,
        table=table,
    )


def _paint(
    painter: QPainter, fillers: list[str], targets: list[str], values: np.ndarray, is_signed: bool
) -> None:
    low, high = value_range(values, is_signed)
    if not is_signed:
        known = values[np.isfinite(values)]
        low, high = (float(known.min()), 0.0) if len(known) else (-1.0, 0.0)

    def fill(value: float) -> QColor:
        fraction = (value - low) / (high - low) if high > low else 1.0
        return shade(fraction, print_color, is_signed, pale=True)

    sizes = (NAME_WIDTH, CELL_WIDTH, ROW_HEIGHT)
    paint_matrix(painter, fillers, targets, values, fill, lambda v: decimal(v, 2), sizes)
    height = max(ROW_HEIGHT * len(fillers), 110 - ROW_HEIGHT)
    area = QRectF(QPointF(NAME_WIDTH, ROW_HEIGHT), QSizeF(CELL_WIDTH * len(targets), height))
    paint_bar(painter, area, (low, high), print_color, is_signed, pale=True)
