"""Attention panel: the head grid, next to lines and matrix, a table or a pair."""

from PySide6.QtCore import QPointF, QSignalBlocker, Qt
from PySide6.QtWidgets import QHBoxLayout, QSizePolicy, QSplitter, QWidget

from app.notices import Notices
from app.pages.explore.panel import MakePanel, Panel, PanelContext, PanelDescription
from app.pages.explore.panels.attention import description
from app.pages.explore.panels.attention.figure import (
    grid_figure,
    heads_figure,
    links_figure,
    maps_figure,
    pair_figure,
)
from app.pages.explore.panels.attention.heads import HeadsState
from app.pages.explore.panels.attention.lines import AxisTitles, Lines
from app.pages.explore.panels.attention.matrix import Matrix
from app.pages.explore.panels.attention.overview import LinkFilters, Overview, scroll_area
from app.pages.explore.panels.attention.pair import PairView
from app.pages.explore.panels.attention.state import AttentionState
from app.pages.explore.panels.attention.tables import HeadsTable, LinkTable
from app.theme import SPACE
from app.translation import tr
from app.widgets import buttons, layouts
from app.widgets.charts.figure import Figure
from app.widgets.charts.figure_menu import FigureButton
from app.widgets.forms.controls import SpinBox
from app.widgets.help import HelpButton
from app.widgets.page import EmptyState, Stack
from app.widgets.text import numbers
from app.widgets.text.labels import OneLine, Text
from app.widgets.text.wrapping import Wrapping

TABLE, PAIR, HEADS = 1, 2, 3  # forms: links, query and key, heads


class AttentionView(Panel):
    def __init__(self, state: AttentionState, notices: Notices) -> None:
        super().__init__()
        self._state = state
        self.overview, self.filters = Overview(state), LinkFilters(state)
        self.lines, self.matrix, self.table = Lines(state), Matrix(state), LinkTable(state)
        self.pair = PairView(state)
        self.heads = HeadsState(state)
        self.heads_table = HeadsTable(self.heads)
        self.readout, self.note = OneLine(""), Text("", "small", wraps=False)
        self._is_scrolling = False
        self.keep = FigureButton(self.figure, notices)
        self.keep.offer_on(self.lines, self.matrix, self.table, self.pair, self.heads_table)
        self.keep_grid = FigureButton(self.overview_figure, notices)
        self.keep_grid.offer_on(self.overview.grid)
        buttons.style_icon_button(
            self.keep_grid, "image-down", self.tr("Copy or save the overview of all heads")
        )
        self.overview.foot.addWidget(self.keep_grid)
        self.halves = QSplitter(Qt.Orientation.Horizontal)
        self.halves.setChildrenCollapsible(False)
        self.halves.addWidget(self.overview)
        self.forms = self._pictures()
        self.halves.addWidget(self.forms)
        self.halves.setSizes([340, 800])
        self.halves.setStretchFactor(1, 1)
        self.problem = EmptyState("circle-alert", self.tr("No result"), "")
        self.waiting = EmptyState("loader-circle", self.tr("Running the model …"), "")
        self.stack = Stack()
        for page in (self._all(), self.problem, self.waiting):
            self.stack.addWidget(page)
        layouts.column(self.stack, parent=self, margins=(0, SPACE, 0, 0))
        state.head_changed.connect(self._on_head)
        state.links_changed.connect(self._say)
        state.pointed_changed.connect(self._say)
        state.maps.query_changed.connect(self._on_query_changed)
        self.heads.column_changed.connect(self._tint)
        self.heads.changed.connect(self._tint)
        self._on_head()
        self._on_query_changed()

    def set_seen(self, seen: bool) -> None:
        self._state.set_seen(seen)

    # ── parts ────────────────────────────────────────────────────────────────────────────────

    def _all(self) -> QWidget:
        """Controls, read-out, and the pictures below."""
        page = QWidget()
        column = layouts.column(self._controls(), parent=page, spacing=SPACE)
        said = layouts.row(
            (self.readout, 1), (self.filters.left_out, 1), (self.note, 0), spacing=4 * SPACE
        )
        column.addLayout(said)
        column.addWidget(self.halves, 1)
        return page

    def _pictures(self) -> Stack:
        pictures = QSplitter(Qt.Orientation.Horizontal)
        pictures.setChildrenCollapsible(False)
        self.lines_area, self.titles = scroll_area(self.lines), AxisTitles(self.lines)
        bar = self.lines_area.verticalScrollBar().sizeHint().width()
        self.lines_area.setMinimumWidth(self.lines.minimumSizeHint().width() + bar)
        left = QWidget()
        layouts.column(self.titles, (self.lines_area, 1), parent=left, spacing=0)
        pictures.addWidget(left)
        self.matrix.moved.connect(self._align)
        self.lines_area.verticalScrollBar().valueChanged.connect(self._on_scrolled)
        pictures.addWidget(self.matrix)
        pictures.setSizes([500, 500])
        self.pictures = pictures
        forms = Stack()
        for form in (pictures, self.table, self.pair, self.heads_table):
            forms.addWidget(form)
        forms.setContentsMargins(2 * SPACE, 0, 0, 0)
        return forms

    def _controls(self) -> QHBoxLayout:
        overview, filters = self.overview, self.filters
        self.layer, self.head = SpinBox(), SpinBox()
        self.head_label = Text(self.tr("&Head"), wraps=False)
        layer_label = Text(self.tr("&Layer"), wraps=False)
        for label, box in ((layer_label, self.layer), (self.head_label, self.head)):
            label.setBuddy(box)
            box.setAccessibleName(label.text().replace("&", ""))
            box.setMinimum(1)
            box.setAlignment(Qt.AlignmentFlag.AlignHCenter)
            box.valueChanged.connect(self._on_boxes)
        self.form = buttons.Segments(
            [self.tr("Maps"), self.tr("Table"), self.tr("Query and key")], self.tr("View")
        )
        self.form.choose(0)
        self.form.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.form.chosen.connect(self.show_form)
        overview.list.toggled.connect(lambda on: self.show_form(HEADS if on else 0))
        controls = Wrapping()
        controls.add(overview.measure, overview.help)
        controls.add(layer_label, self.layer)
        controls.add(self.head_label, self.head)
        controls.add(self.form, HelpButton("query-key"))
        controls.add(filters.threshold, filters.said)
        controls.add(filters.special)
        controls.add(filters.block)
        controls.add(overview.legend)
        controls.add(overview.models)
        self.corner = layouts.row(self.keep, spacing=0)
        row = layouts.row((controls, 1), self.corner, spacing=2 * SPACE)
        row.setAlignment(self.corner, Qt.AlignmentFlag.AlignTop)
        return row

    def _align(self) -> None:
        """Align the rows of lines and matrix, also while one is scrolled."""
        matrix = self.matrix
        self.titles.setFixedHeight(max(1, matrix.field().top()))
        height = matrix.cell_size() if matrix.is_named else 0.0
        self.lines.align(height)
        if height and not self._is_scrolling:
            self._is_scrolling = True
            bar, place = self.lines_area.verticalScrollBar(), round(matrix.first.y() * height)
            bar.setMaximum(max(bar.maximum(), place))  # the lines resize a moment later
            bar.setValue(place)
            self._is_scrolling = False

    def _on_scrolled(self, value: int) -> None:
        matrix = self.matrix
        if matrix.is_named and matrix.zoom > 1 and not self._is_scrolling:
            self._is_scrolling = True
            matrix.show_from(QPointF(matrix.first.x(), value / matrix.cell_size()))
            self._is_scrolling = False

    # ── what changes ─────────────────────────────────────────────────────────────────────────

    def show_form(self, form: int) -> None:
        """Show maps, links, query and key, or heads."""
        self.form.choose(form)  # no segment for HEADS
        with QSignalBlocker(self.overview.list):
            self.overview.list.setChecked(form == HEADS)
        self.forms.setCurrentIndex(form)
        self._state.see_pair(form == PAIR)
        self.heads.set_seen(form == HEADS)

    def _tint(self) -> None:
        """Tint the head grid by the sorting column."""
        is_shown = self.heads.is_seen
        self.overview.grid.show_tint(self.heads.values(self.heads.column) if is_shown else None)

    def _on_query_changed(self) -> None:
        query = self._state.maps.query
        if query.refusal is not None:
            self.problem.title.setText(query.refusal.problem)
            self.problem.text.setText(query.refusal.advice)
            self.stack.setCurrentIndex(1)
        else:
            self.stack.setCurrentIndex(2 if self._state.maps.weights is None else 0)

    def _on_head(self) -> None:
        state = self._state
        layers, heads = state.maps.size
        for box, most, value in ((self.layer, layers, state.layer), (self.head, heads, state.head)):
            box.blockSignals(True)
            box.setMaximum(max(1, most))
            box.setValue(value + 1)
            box.setSuffix(self.tr(" of {0}").format(max(1, most)))
            box.blockSignals(False)
        for part in (self.head, self.head_label):
            part.setVisible(state.maps.has_heads)
        self._say()

    def _on_boxes(self) -> None:
        self._state.selection.pick(self.layer.value() - 1, self.head.value() - 1)

    def _say(self) -> None:
        """Describe what the mouse points at, and count the links."""
        state = self._state
        hint = self.tr("Hover over a token or a cell to see its values; click to select the token.")
        if state.maps.weights is not None and not state.is_current_there:
            hint = self.tr("Computing layer {0} …").format(state.layer + 1)
        self.readout.setText(description.describe_pointed(state) or hint)
        self.note.setText(self._drawn())
        self.filters.left_out.setVisible(
            bool(self.filters.sentence())
        )  # otherwise the read-out has the space

    def _drawn(self) -> str:
        """Number of links drawn, and in all if there are too many."""
        drawn = self._state.drawn
        count = sum(len(links.weights) for links in drawn)
        if any(links.is_cut for links in drawn):
            text = self.tr("{0} of {1} links")
            wanted = sum(links.wanted for links in drawn)
            return text.format(numbers.count(count), numbers.count(wanted))
        return self.tr("%Ln link(s)", "", count)

    # ── figures ──────────────────────────────────────────────────────────────────────────────

    def figure(self) -> Figure | None:
        """Figure of the form that is shown."""
        state = self._state
        if state.maps.weights is None:
            return None
        if self.forms.currentIndex() == PAIR:
            return pair_figure(state)
        if self.forms.currentIndex() == HEADS:
            return heads_figure(self.heads, self.heads_table.rows)
        if not state.drawn:
            return None
        make = links_figure if self.forms.currentIndex() == TABLE else maps_figure
        return make(state, self.filters.sentence(), self._drawn())

    def overview_figure(self) -> Figure | None:
        """Figure of the head grid."""
        return grid_figure(self._state)


def panel() -> PanelDescription:
    return PanelDescription(
        id="attention",
        title=tr("Attention"),
        icon="scan-search",
        help="attention",
        make=_make,
    )


def _make(context: PanelContext) -> MakePanel:
    state = AttentionState(context.explore, context.explorer)

    def view() -> Panel:
        made = AttentionView(state, context.notices)
        context.settings.remember(made.halves, "explore.heads")
        context.settings.remember(made.pictures, "explore.pictures")
        return made

    return view
