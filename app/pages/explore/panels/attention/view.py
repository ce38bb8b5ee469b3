"""Attention panel: the head grid, next to lines and matrix, a table or a pair.

Shapes: S shown tokens.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from PySide6.QtCore import QModelIndex, QObject, QPointF, QRectF, QSignalBlocker, QSize, QSizeF, Qt
from PySide6.QtGui import QFont, QFontMetricsF, QPainter, QPen
from PySide6.QtWidgets import (
    QCheckBox,
    QHBoxLayout,
    QHeaderView,
    QSizePolicy,
    QSlider,
    QSplitter,
    QTableView,
    QWidget,
)

from app.notices import Notices
from app.pages.explore.captions import source
from app.pages.explore.panel import MakePanel, Panel, PanelContext, PanelDescription
from app.pages.explore.panels.attention.head_grid import HeadGridView, grid_figure, scroll_area
from app.pages.explore.panels.attention.heads import HeadsState, HeadsTable, heads_figure
from app.pages.explore.panels.attention.lines import (
    LinesView,
    dashed,
    head_dashes,
    head_role,
    paint_links,
)
from app.pages.explore.panels.attention.links import Links
from app.pages.explore.panels.attention.matrix import Matrix, paint_map, paint_scale
from app.pages.explore.panels.attention.pair import PairView, pair_figure
from app.pages.explore.panels.attention.state import AttentionState, Block, Link, describe_hovered
from app.pages.explore.paper import LEFT, RIGHT, draw_upright
from app.resources import mono_font
from app.theme import SPACE, Role, print_color, px
from app.translation import in_language, tr
from app.widgets import buttons, layouts
from app.widgets.charts.figure import Figure, Table, print_font
from app.widgets.charts.figure_menu import FigureButton
from app.widgets.charts.table_figure import MAX_ROWS, table_figure
from app.widgets.forms.controls import ComboBox, SpinBox
from app.widgets.help import HelpButton
from app.widgets.page import EmptyState, Stack
from app.widgets.screen import set_shown
from app.widgets.tables import Column, ColumnsModel, apply_style
from app.widgets.text import numbers
from app.widgets.text.chips import token_text
from app.widgets.text.labels import OneLine, Text
from app.widgets.text.wrapping import WrapArea

THRESHOLD_STEP = 5  # %
BLOCKS: tuple[Block | None, ...] = (None, (0, 0), (0, 1), (1, 0), (1, 1))
GAP, LINES_WIDTH, MAX_CELL = 24.0, 260.0, 20  # px of a saved figure
MATRIX_SIDE = 960  # px of a matrix of many tokens
MIN_LABELLED_CELL = 8  # px
SCALE_WIDTH, SCALE_BAR, SCALE_HEIGHT = 220.0, 10.0, 44.0  # px of the colour scale and its bar
LEGEND_ROW, FONT_SIZE = 18.0, 11  # px
TABLE, PAIR, HEADS = 1, 2, 3  # forms: links, query and key, heads


class AttentionView(Panel):
    def __init__(self, state: AttentionState, notices: Notices) -> None:
        super().__init__()
        self._state = state
        self.overview, self.filters = HeadGridView(state), LinkFilters(state)
        self.lines, self.matrix, self.table = LinesView(state), Matrix(state), LinkTable(state)
        self.pair = PairView(state)
        self.heads = HeadsState(state)
        self.heads_table = HeadsTable(self.heads)
        self.readout, self.note = OneLine(""), Text("", "small", wraps=False)
        self._is_scrolling = False
        self.figure_button = FigureButton(self.figure, notices)
        for widget in (self.lines, self.matrix, self.table, self.pair, self.heads_table):
            self.figure_button.offer_on(widget)
        self.grid_button = FigureButton(lambda: grid_figure(state), notices)
        self.grid_button.offer_on(self.overview.grid)
        buttons.style_icon_button(
            self.grid_button, "image-down", self.tr("Copy or save the overview of all heads")
        )
        self.overview.footer.addWidget(self.grid_button)
        self.forms = self._pictures()
        self.halves = layouts.splitter(self.overview, self.forms, sizes=[340, 800])
        # not a ResultStack, which resizes its pages endlessly in the smallest window
        self.problem = EmptyState("circle-alert", self.tr("No result"), "")
        self.waiting = EmptyState("loader-circle", self.tr("Running the model …"), "")
        self.stack = Stack(self._content(), self.problem, self.waiting)
        layouts.column(self.stack, parent=self, margins=(0, SPACE, 0, 0))
        state.head_changed.connect(self._on_head)
        state.links_changed.connect(self._update_texts)
        state.hovered_changed.connect(self._update_texts)
        state.maps.query_changed.connect(self._on_query_changed)
        self.heads.column_changed.connect(self._tint)
        self.heads.changed.connect(self._tint)
        self._on_head()
        self._on_query_changed()

    def set_active(self, active: bool) -> None:
        self._state.set_active(active)

    # ── parts ────────────────────────────────────────────────────────────────────────────────

    def _content(self) -> QWidget:
        texts = layouts.row((self.readout, 1), (self.filters.note, 1), self.note, spacing=4 * SPACE)
        return layouts.page(self._controls(), texts, (self.halves, 1), spacing=SPACE)

    def _pictures(self) -> Stack:
        pictures = QSplitter(Qt.Orientation.Horizontal)
        pictures.setChildrenCollapsible(False)
        self.lines_area, self.titles = scroll_area(self.lines), QWidget()
        queries = OneLine(self.tr("Query tokens"), "small")
        keys = OneLine(self.tr("Key tokens"), "small")
        keys.setAlignment(Qt.AlignmentFlag.AlignRight)
        bottom, sides = Qt.AlignmentFlag.AlignBottom, (SPACE, 0, SPACE, 0)
        layouts.row((queries, 1, bottom), (keys, 1, bottom), parent=self.titles, margins=sides)
        bar = self.lines_area.verticalScrollBar().sizeHint().width()
        self.lines_area.setMinimumWidth(self.lines.minimumSizeHint().width() + bar)
        pictures.addWidget(layouts.page(self.titles, (self.lines_area, 1), spacing=0))
        self.matrix.moved.connect(self._align)
        self.lines_area.verticalScrollBar().valueChanged.connect(self._on_scrolled)
        pictures.addWidget(self.matrix)
        pictures.setSizes([500, 500])
        self.pictures = pictures
        forms = Stack(pictures, self.table, self.pair, self.heads_table)
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
        controls = WrapArea()
        controls.add(overview.measure, overview.help)
        controls.add(layer_label, self.layer)
        controls.add(self.head_label, self.head)
        controls.add(self.form, HelpButton("query-key"))
        controls.add(filters.threshold, filters.threshold_label)
        controls.add(filters.special)
        controls.add(filters.block)
        controls.add(overview.legend)
        controls.add(overview.models)
        self.corner = layouts.row(self.figure_button, spacing=0)
        row = layouts.row((controls, 1), self.corner, spacing=2 * SPACE)
        row.setAlignment(self.corner, Qt.AlignmentFlag.AlignTop)
        return row

    def _align(self) -> None:
        """Align the rows of lines and matrix, also while one is scrolled."""
        matrix = self.matrix
        self.titles.setFixedHeight(max(1, matrix.field().top()))
        height = matrix.cell_size() if matrix.has_labels else 0.0
        self.lines.set_row_height(height)
        if height and not self._is_scrolling:
            self._is_scrolling = True
            bar, offset = self.lines_area.verticalScrollBar(), round(matrix.first.y() * height)
            bar.setMaximum(max(bar.maximum(), offset))  # the lines resize a moment later
            bar.setValue(offset)
            self._is_scrolling = False

    def _on_scrolled(self, value: int) -> None:
        matrix = self.matrix
        if matrix.has_labels and matrix.zoom > 1 and not self._is_scrolling:
            self._is_scrolling = True
            matrix.show_from(QPointF(matrix.first.x(), value / matrix.cell_size()))
            self._is_scrolling = False

    # ── updates ─────────────────────────────────────────────────────────────────────────

    def show_form(self, form: int) -> None:
        self.form.choose(form)  # no segment for HEADS
        with QSignalBlocker(self.overview.list):
            self.overview.list.setChecked(form == HEADS)
        self.forms.setCurrentIndex(form)
        self._state.set_pair_active(form == PAIR)
        self.heads.set_active(form == HEADS)

    def _tint(self) -> None:
        is_shown = self.heads.is_active
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
        boxes = (self.layer, layers, state.layer), (self.head, heads, state.head)
        for box, count, value in boxes:
            with QSignalBlocker(box):
                box.setMaximum(max(1, count))
                box.setValue(value + 1)
                box.setSuffix(self.tr(" of {0}").format(max(1, count)))
        for part in (self.head, self.head_label):
            part.setVisible(state.maps.has_heads)
        self._update_texts()

    def _on_boxes(self) -> None:
        self._state.selection.pick(self.layer.value() - 1, self.head.value() - 1)

    def _update_texts(self) -> None:
        state = self._state
        hint = self.tr("Hover over a token or a cell to see its values; click to select the token.")
        if state.maps.weights is not None and not state.is_current_computed:
            hint = self.tr("Computing layer {0} …").format(state.layer + 1)
        self.readout.setText(describe_hovered(state) or hint)
        self.note.setText(self._link_count())
        # hidden to leave the space to the read-out
        self.filters.note.setVisible(bool(self.filters.sentence()))

    def _link_count(self) -> str:
        """Number of links drawn, with the total if there are too many."""
        drawn = self._state.drawn
        count = sum(len(links.weights) for links in drawn)
        if any(links.is_truncated for links in drawn):
            text = self.tr("{0} of {1} links")
            total = sum(links.total for links in drawn)
            return text.format(numbers.count(count), numbers.count(total))
        return self.tr("%Ln link(s)", "", count)

    # ── figures ──────────────────────────────────────────────────────────────────────────────

    def figure(self) -> Figure | None:
        """Figure of the displayed form."""
        state = self._state
        if state.maps.weights is None:
            return None
        if self.forms.currentIndex() == PAIR:
            return pair_figure(state)
        if self.forms.currentIndex() == HEADS:
            return heads_figure(self.heads, self.heads_table.rows)
        if not state.drawn:
            return None
        filter_note, link_count = self.filters.sentence(), self._link_count()
        if self.forms.currentIndex() == TABLE:
            return links_figure(state, self.table.rows, filter_note, link_count)
        return maps_figure(state, filter_note, link_count)


def panel() -> PanelDescription:
    return PanelDescription("attention", tr("Attention"), "scan-search", "attention", _make)


def _make(context: PanelContext) -> MakePanel:
    state = AttentionState(context.explore, context.explorer)

    def view() -> Panel:
        widget = AttentionView(state, context.notices)
        context.settings.remember(widget.halves, "explore.heads")
        context.settings.remember(widget.pictures, "explore.pictures")
        return widget

    return view


class LinkFilters(QObject):
    """Controls that filter links, and a sentence about what they hide."""

    def __init__(self, state: AttentionState) -> None:
        super().__init__(state)
        self._state = state
        self.threshold = QSlider(Qt.Orientation.Horizontal)
        self.threshold.setRange(1, 100 // THRESHOLD_STEP)
        self.threshold.setFixedWidth(px(30 * SPACE))
        self.threshold.setAccessibleName(self.tr("Attention threshold (cumulative mass)"))
        self.threshold_label, self.note = Text("", wraps=False), OneLine("", "small")
        self.block = ComboBox(self.tr("Filter links by text"))
        self.block.addItems(
            [
                self.tr("All links"),
                self.tr("Within the first text"),
                self.tr("First to second text"),
                self.tr("Second to first text"),
                self.tr("Within the second text"),
            ]
        )
        self.special = QCheckBox()
        self.threshold.valueChanged.connect(self._on_threshold)
        self.block.currentIndexChanged.connect(lambda n: state.show_block(BLOCKS[n]))
        self.special.toggled.connect(state.exclude_special)
        state.head_changed.connect(self.show_state)
        self.show_state()

    def show_state(self) -> None:
        state = self._state
        is_pair = any(token.segment for token in state.tokens)
        set_shown(self.block, is_pair or state.block is not None)
        names = ", ".join(
            dict.fromkeys(token_text(token.text) for token in state.maps.tokens if token.special)
        )
        self.special.setText(self.tr("Exclude {0}").format(names or "[CLS], [SEP]"))
        self.special.setAccessibleName(self.special.text())
        with QSignalBlocker(self.block), QSignalBlocker(self.special):
            self.block.setCurrentIndex(BLOCKS.index(state.block))
            self.special.setChecked(state.excludes_special)
        with QSignalBlocker(self.threshold):
            self.threshold.setValue(round(state.strongest_links.threshold * 100 / THRESHOLD_STEP))
        percentage = numbers.percent(state.strongest_links.threshold, 0)
        self.threshold_label.setText(self.tr("Threshold {0}").format(percentage))
        self.note.setText(self.sentence())

    def sentence(self) -> str:
        """Describe the filters and the fraction of attention that they hide; “” if none."""
        state = self._state
        hides_links = state.excludes_special or state.block is not None
        if state.maps.weights is None or not hides_links:
            return ""
        text = self.tr("{0} of this head’s attention is not shown; the rest is not rescaled.")
        caption = text.format(numbers.percent(state.hidden_mass, 0))
        if state.block is None:
            return caption
        return f"{caption} {self.tr('Only links between the selected texts are shown.')}"

    def _on_threshold(self, value: int) -> None:
        self._state.strongest_links.set_threshold(value * THRESHOLD_STEP / 100)
        self.show_state()


class LinkTable(QTableView):
    """Links of the chosen heads; the current row is highlighted in the maps."""

    def __init__(self, state: AttentionState) -> None:
        super().__init__()
        self._state = state
        self.rows: ColumnsModel[Link] = ColumnsModel(parent=state)
        self._show_links()
        self.setModel(self.rows)
        apply_style(self, self.tr("Strongest links"))
        self.verticalHeader().hide()
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        self.selectionModel().currentRowChanged.connect(self._on_current)
        state.links_changed.connect(self._show_links)

    def _show_links(self) -> None:
        state, font = self._state, mono_font()
        names, indices, heads = state.names, state.indices, state.head_names

        def token(index: int) -> str:
            return f"{indices[index] + 1:>3}  {names[index]}"

        columns = [
            Column[Link](self.tr("Query token"), lambda link: token(link.query), font=font),
            Column[Link](self.tr("Key token"), lambda link: token(link.key), font=font),
            Column[Link](
                in_language(state.texts.value),
                lambda link: numbers.decimal(link.value),
                font=font,
                align_right=True,
            ),
        ]
        if len(heads) > 1:
            columns.insert(
                0, Column[Link](self.tr("Head"), lambda link: heads[link.head], font=font)
            )
        self.rows.show_rows(state.link_rows(), columns)

    def _on_current(self, now: QModelIndex) -> None:
        if now.isValid():
            link = self.rows.row(now.row())
            self._state.hover(link.query, link.key)


# ── figures ──────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Drawing:
    """Lines of several heads, and the matrix of the last one."""

    tokens: tuple[str, ...]
    weights: np.ndarray  # float32 [S, S]
    links: Sequence[Links]
    vmax: float = 1.0  # value of the strongest colour
    value: str = ""  # name of the values
    heads: tuple[str, ...] = ("",)  # names of the heads

    @property
    def cell(self) -> float:
        return min(MAX_CELL, max(2.0, MATRIX_SIDE / max(1, len(self.tokens))))

    @property
    def label_width(self) -> float:
        if self.cell < MIN_LABELLED_CELL:
            return 4.0
        metrics = QFontMetricsF(_token_font(self.cell))
        return max((metrics.horizontalAdvance(token) for token in self.tokens), default=0.0) + 8

    @property
    def size(self) -> QSize:
        side = self.cell * len(self.tokens)
        width = GAP + 3 * self.label_width + LINES_WIDTH + side
        foot = max(SCALE_HEIGHT, LEGEND_ROW * len(self.heads))  # colour scale and head names
        return QSize(round(width), round(self.label_width + side + GAP + foot))

    def paint(self, painter: QPainter, _: QSizeF) -> None:
        painter.setFont(_token_font(self.cell))
        left, top = self.label_width, self.label_width
        for index, links in enumerate(self.links):
            count = len(self.links)
            painter.save()
            painter.translate(left, top)
            color = print_color(head_role(index, count), count**-0.5)
            dashes = head_dashes(index, count)
            paint_links(painter, links, LINES_WIDTH, self.cell, color, self.vmax, dashes)
            painter.restore()
        self._paint_column(painter, 0, RIGHT)
        self._paint_column(painter, left + LINES_WIDTH, LEFT)
        right = left + LINES_WIDTH + self.label_width
        self._paint_matrix(painter, right + GAP + self.label_width)
        foot = top + self.cell * len(self.tokens) + GAP
        self._paint_legend(painter, left, foot)
        painter.setFont(print_font(FONT_SIZE))
        painter.setPen(print_color(Role.TEXT))
        painter.drawText(QRectF(right + GAP, foot, LINES_WIDTH, LEGEND_ROW), LEFT, self.value)
        bar = QRectF(right + GAP, foot + LEGEND_ROW, SCALE_WIDTH, SCALE_BAR)
        paint_scale(painter, bar, self.vmax, print_color, print_font(FONT_SIZE))

    def _paint_legend(self, painter: QPainter, left: float, top: float) -> None:
        """Paint the legend of the heads, if there are several."""
        count = len(self.heads)
        if count == 1:
            return
        painter.setFont(print_font(FONT_SIZE))
        for index, name in enumerate(self.heads):
            y = top + LEGEND_ROW * (index + 0.5)
            pen = QPen(print_color(head_role(index, count)), 2)
            painter.setPen(dashed(pen, head_dashes(index, count)))
            painter.drawLine(QPointF(left, y), QPointF(left + 36, y))
            painter.setPen(print_color(Role.TEXT))
            box = QRectF(left + 44, y - LEGEND_ROW / 2, LINES_WIDTH, LEGEND_ROW)
            painter.drawText(box, LEFT, name)

    def _paint_matrix(self, painter: QPainter, left: float) -> None:
        side, top = self.cell * len(self.tokens), self.label_width
        paint_map(painter, self.weights, QRectF(left, top, side, side), self.vmax)
        self._paint_column(painter, left - self.label_width, RIGHT)
        if self.cell >= MIN_LABELLED_CELL:
            for index, token in enumerate(self.tokens):
                corner = QPointF(left + index * self.cell, top - 4)
                draw_upright(painter, corner, QSizeF(self.label_width, self.cell), token)

    def _paint_column(self, painter: QPainter, left: float, align: Qt.AlignmentFlag | int) -> None:
        painter.setPen(print_color(Role.TEXT))
        if self.cell >= MIN_LABELLED_CELL:
            for index, token in enumerate(self.tokens):
                top = self.label_width + index * self.cell
                box = QRectF(left + 4, top, self.label_width - 8, self.cell)
                painter.drawText(box, align, token)


def _token_font(cell: float) -> QFont:
    font = mono_font()
    font.setPixelSize(max(1, round(cell * 0.7)))
    return font


def maps_figure(state: AttentionState, filter_note: str, link_count: str) -> Figure:
    """Lines of the chosen heads, and the matrix of the current one."""
    value, largest = in_language(state.texts.value), state.maps.vmax
    drawing = Drawing(state.names, state.map, state.drawn, largest, value, state.head_names)
    text = tr(
        "{0}. Lines: the strongest {1} of the attention shown ({2}). Matrix of {3}: query tokens "
        "(rows) attend to key tokens (columns), square-root colour scale from 0 to {4}."
    ).format(
        in_language(state.texts.name),
        numbers.percent(state.strongest_links.threshold, 0),
        link_count,
        state.head_names[-1],
        numbers.decimal(largest, 2),
    )
    title, caption, table = _figure_parts(state, f"{text} {filter_note}")
    return Figure(
        name=f"attention-layer-{state.layer + 1}-head-{state.head + 1}",
        title=title,
        caption=caption,
        size=drawing.size,
        paint=drawing.paint,
        array=state.maps.weights,
        table=lambda: table,
    )


def links_figure(
    state: AttentionState, rows: ColumnsModel[Link], filter_note: str, link_count: str
) -> Figure:
    text = tr("{0}. The {1} strongest links that hold {2} of the attention shown ({3}).").format(
        in_language(state.texts.name),
        numbers.count(min(rows.rowCount(), MAX_ROWS)),
        numbers.percent(state.strongest_links.threshold, 0),
        link_count,
    )
    title, caption, table = _figure_parts(state, f"{text} {filter_note}")
    name = f"attention-links-layer-{state.layer + 1}-head-{state.head + 1}"
    figure = table_figure(rows, name, title, caption, lambda: table)
    return replace(figure, array=state.maps.weights)


def _figure_parts(state: AttentionState, caption: str) -> tuple[str, str, Table]:
    """Title, caption and numbers of a figure of links; tokens are counted from 1."""
    heads, names, value = state.head_names, state.names, state.texts.value.lower()
    header = ("head", "query token", "key token", "query number", "key number", value)
    rows = [
        (
            heads[link.head],
            names[link.query],
            names[link.key],
            int(state.indices[link.query]) + 1,
            int(state.indices[link.key]) + 1,
            link.value,
        )
        for link in state.link_rows()
    ]
    note = tr("Tokens are numbered from 1; the array (.npy) of all heads and tokens counts from 0.")
    end = source(state.explore, state.maps.side.index)
    title = tr("Attention: {0}").format(", ".join(heads))
    return title, f"{caption.strip()} {note} {end}", Table(header, rows)
