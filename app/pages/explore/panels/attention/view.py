"""The wall of all heads, and beside it the chosen ones: lines and matrix, table, or a pair."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFrame,
    QHBoxLayout,
    QScrollArea,
    QSizePolicy,
    QSlider,
    QSpinBox,
    QSplitter,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from app.notices import Notices
from app.pages.explore.captions import source
from app.pages.explore.panel import Panel
from app.pages.explore.panels.attention import readout
from app.pages.explore.panels.attention.figure import Drawing
from app.pages.explore.panels.attention.legend import Legend
from app.pages.explore.panels.attention.lines import Lines
from app.pages.explore.panels.attention.matrix import Matrix
from app.pages.explore.panels.attention.pair import PairView
from app.pages.explore.panels.attention.state import AttentionState, Block
from app.pages.explore.panels.attention.table import LinkTable
from app.pages.explore.panels.attention.wall import Wall
from app.theme import SPACE
from app.widgets import buttons, numbers
from app.widgets.chips import painted
from app.widgets.figure import Figure, Table
from app.widgets.figure_menu import FigureButton
from app.widgets.help import HelpButton
from app.widgets.page import EmptyState
from app.widgets.text import OneLine, Text
from engine.messages.explore.attention import Measure

STEP = 5  # % of the mass, between two places of the slider
MEASURES: tuple[Measure, ...] = ("weights", "norms", "head_average", "rollout")
CONCEPTS = ("attention", "norms", "attention", "attention-rollout")  # of the measures
COLUMNS = ("head", "query token", "key token", "query", "key", "value")  # of the figure's table
PAIR = 2  # the form that shows a query and a key
BLOCKS: tuple[Block | None, ...] = (None, (0, 0), (0, 1), (1, 0), (1, 1))


class AttentionView(Panel):
    """Shows an AttentionState."""

    def __init__(
        self, state: AttentionState, notices: Notices, parent: QWidget | None = None
    ) -> None:
        super().__init__((), parent)
        self._state = state
        self._is_seen = False
        self.wall = Wall()
        self.lines, self.matrix, self.table = Lines(state), Matrix(state), LinkTable(state)
        self.pair = PairView(state)
        self.legend = Legend()
        self.wall_said = OneLine("", "small")
        self.readout, self.note = OneLine(""), OneLine("", "small")
        self.left_out = Text("", "small")
        self.note.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.keep = FigureButton(self.figure, notices)
        self.keep.offer_on(self.wall, self.lines, self.matrix)
        self.halves = QSplitter(Qt.Orientation.Horizontal)
        self.halves.setChildrenCollapsible(False)
        self.halves.addWidget(self._all_heads())
        self.halves.addWidget(self._one_head())
        self.halves.setSizes([340, 800])
        self.halves.setStretchFactor(1, 1)
        self.problem = EmptyState("circle-alert", self.tr("No result"), "")
        self.waiting = EmptyState("loader-circle", self.tr("Running the model …"), "")
        self.stack = QStackedWidget()
        for page in (self.halves, self.problem, self.waiting):
            self.stack.addWidget(page)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 3 * SPACE, 0, 0)
        column.addWidget(self.stack)
        self.wall.toggled.connect(state.selection.toggle)
        self.wall.picked.connect(state.selection.pick)
        self.wall.pointed.connect(self._on_wall_pointed)
        state.maps.wall_changed.connect(self._on_wall)
        state.head_changed.connect(self._on_head)
        state.links_changed.connect(self._say)
        state.pointed_changed.connect(self._say)
        state.maps.told.connect(self._on_told)
        state.study.sides_changed.connect(self._on_sides)
        self._on_sides()
        self._on_head()
        self._on_told()

    def set_seen(self, seen: bool) -> None:
        self._is_seen = seen
        self._state.set_seen(seen)

    # ── parts ────────────────────────────────────────────────────────────────────────────────

    def _all_heads(self) -> QWidget:
        area = _area(self.wall)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        self.measure = QComboBox()
        self.measure.setAccessibleName(self.tr("Measure"))
        self.measure.addItems(
            [
                self.tr("Attention weights"),
                self.tr("Value-weighted norms"),
                self.tr("Head average"),
                self.tr("Attention rollout"),
            ]
        )
        self.measure.currentIndexChanged.connect(self._on_measure)
        self.help = QStackedWidget()
        self.help.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        for concept in CONCEPTS:
            self.help.addWidget(HelpButton(concept))
        head = QHBoxLayout()
        head.addWidget(self.measure, 1)
        head.addWidget(self.help)
        self.models = buttons.Segments(
            [self.tr("First model"), self.tr("Second model")], self.tr("Model")
        )
        self.models.choose(0)
        self.models.chosen.connect(lambda number: self._state.show_side(bool(number)))
        part = QWidget()
        column = QVBoxLayout(part)
        column.setContentsMargins(0, 0, 3 * SPACE, 0)
        column.setSpacing(SPACE)
        column.addWidget(self.models)
        column.addLayout(head)
        column.addWidget(
            Text(
                self.tr(
                    "Click: add or remove a head. Double-click: show this head only. Ctrl+wheel: "
                    "zoom."
                ),
                "small",
            )
        )
        column.addWidget(area, 1)
        column.addWidget(self.wall_said)
        column.addWidget(self.legend)
        part.setMinimumWidth(50 * SPACE)
        return part

    def _one_head(self) -> QWidget:
        pictures = QSplitter(Qt.Orientation.Horizontal)
        pictures.setChildrenCollapsible(False)
        self.lines_area = _area(self.lines)
        pictures.addWidget(self.lines_area)
        pictures.addWidget(self.matrix)
        pictures.setSizes([500, 500])
        self.pictures = pictures
        self.forms = QStackedWidget()
        for form in (pictures, self.table, self.pair):
            self.forms.addWidget(form)
        part = QWidget()
        column = QVBoxLayout(part)
        column.setContentsMargins(3 * SPACE, 0, 0, 0)
        column.setSpacing(2 * SPACE)
        column.addLayout(self._first_row())
        column.addLayout(self._second_row())
        column.addWidget(self.left_out)
        column.addWidget(self.forms, 1)
        said = QHBoxLayout()
        said.setSpacing(4 * SPACE)
        said.addWidget(self.readout, 4)
        said.addWidget(self.note, 1)
        column.addLayout(said)
        return part

    def _first_row(self) -> QHBoxLayout:
        self.layer, self.head = QSpinBox(), QSpinBox()
        self.head_label = Text(self.tr("&Head"), "strong", wraps=False)
        row = QHBoxLayout()
        row.setSpacing(2 * SPACE)
        layer_label = Text(self.tr("&Layer"), "strong", wraps=False)
        for label, box in ((layer_label, self.layer), (self.head_label, self.head)):
            label.setBuddy(box)
            box.setAccessibleName(label.text().replace("&", ""))
            box.setMinimum(1)
            box.setAlignment(Qt.AlignmentFlag.AlignHCenter)
            box.valueChanged.connect(self._on_boxes)
            row.addWidget(label)
            row.addWidget(box)
        self.form = buttons.Segments(
            [self.tr("Lines and matrix"), self.tr("Table"), self.tr("Query and key")],
            self.tr("View"),
        )
        self.form.choose(0)
        self.form.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.form.chosen.connect(self.show_form)
        row.addStretch()
        row.addWidget(self.form)
        row.addWidget(HelpButton("query-key"))
        row.addWidget(self.keep)
        return row

    def _second_row(self) -> QHBoxLayout:
        self.share = QSlider(Qt.Orientation.Horizontal)
        self.share.setRange(1, 100 // STEP)
        self.share.setValue(round(self._state.strongest.threshold * 100 / STEP))
        self.share.setFixedWidth(30 * SPACE)
        self.share.setAccessibleName(self.tr("Attention threshold (cumulative mass)"))
        self.share.valueChanged.connect(self._on_share)
        self.share_said = Text("", wraps=False)
        self.block = QComboBox()
        self.block.setAccessibleName(self.tr("Filter links by text"))
        self.block.addItems(
            [
                self.tr("All links"),
                self.tr("Within the first text"),
                self.tr("First to second text"),
                self.tr("Second to first text"),
                self.tr("Within the second text"),
            ]
        )
        self.block.currentIndexChanged.connect(lambda n: self._state.show_block(BLOCKS[n]))
        self.special = QCheckBox()
        self.special.toggled.connect(self._state.hide_special)
        row = QHBoxLayout()
        row.setSpacing(2 * SPACE)
        row.addWidget(self.share)
        row.addWidget(self.share_said)
        row.addStretch()
        row.addWidget(self.block)
        row.addWidget(self.special)
        return row

    # ── what changes ─────────────────────────────────────────────────────────────────────────

    def show_form(self, form: int) -> None:
        """Pictures, table, or query and key."""
        self.form.choose(form)
        self.forms.setCurrentIndex(form)
        self._state.see_pair(form == PAIR)

    def _on_measure(self, number: int) -> None:
        self.help.setCurrentIndex(number)
        self._state.maps.set_measure(MEASURES[number])
        self._on_told()

    def _on_sides(self) -> None:
        self.models.setVisible(self._state.study.is_compared)
        self.models.choose(int(self._state.maps.side.number))

    def _on_told(self) -> None:
        query = self._state.maps.query
        if query.refusal is not None:
            self.problem.title.setText(query.refusal.problem)
            self.problem.text.setText(query.refusal.advice)
            self.stack.setCurrentIndex(1)
        else:
            self.stack.setCurrentIndex(2 if self._state.maps.weights is None else 0)
        self._on_wall_pointed(-1, -1)

    def _on_wall(self) -> None:
        self.wall.show_heads(self._state.maps.wall)
        self.legend.show_most(self._state.maps.largest)
        self._on_wall_pointed(-1, -1)

    def _on_head(self) -> None:
        state = self._state
        layers, heads = state.maps.size
        for box, most, value in (
            (self.layer, layers, state.layer),
            (self.head, heads, state.head),
        ):
            box.blockSignals(True)
            box.setMaximum(max(1, most))
            box.setValue(value + 1)
            box.setSuffix(self.tr(" of {0}").format(max(1, most)))
            box.blockSignals(False)
        for part in (self.head, self.head_label):
            part.setVisible(state.maps.has_heads)
        self.wall.choose(state.heads)
        is_pair = any(token.segment for token in state.tokens)
        self.block.setVisible(is_pair or state.block is not None)
        self.block.blockSignals(True)
        self.block.setCurrentIndex(BLOCKS.index(state.block))
        self.block.blockSignals(False)
        names = _and(state.special_names) or "[CLS], [SEP]"
        self.special.setText(self.tr("Exclude {0}").format(names))
        self.special.setAccessibleName(self.special.text())
        self._on_wall_pointed(-1, -1)
        self._say()

    def _on_boxes(self) -> None:
        self._state.selection.pick(self.layer.value() - 1, self.head.value() - 1)

    def _on_share(self, value: int) -> None:
        self._state.strongest.set_threshold(value * STEP / 100)
        self._say()

    def _on_wall_pointed(self, layer: int, head: int) -> None:
        state = self._state
        if layer >= 0:
            text = self.tr("Layer {0}, head {1}") if state.maps.has_heads else self.tr("Layer {0}")
            self.wall_said.setText(text.format(layer + 1, head + 1))
        elif state.maps.query.is_waiting and state.maps.layers_there < state.maps.size[0]:
            text = self.tr("{0} of {1} layers computed …")
            self.wall_said.setText(text.format(state.maps.layers_there, state.maps.size[0]))
        elif state.maps.query.is_waiting:
            self.wall_said.setText(self.tr("Running the model …"))
        else:
            count = len(state.heads)
            heads = self.tr("%Ln head(s) selected.", "", count)
            self.wall_said.setText(
                heads if state.maps.has_heads else self.tr("%Ln layer(s) selected.", "", count)
            )

    def _say(self) -> None:
        """What is shown, what is left out, and what the mouse is over, in words."""
        state = self._state
        share = numbers.percent(self.share.value() * STEP / 100, 0)
        self.share_said.setText(self.tr("Threshold {0}").format(share))
        hint = self.tr("Hover over a token or a cell to see its values; click to select the token.")
        if state.maps.weights is not None and not state.is_current_there:
            hint = self.tr("Computing layer {0} …").format(state.layer + 1)
        self.readout.setText(readout.pointed(state) or hint)
        self.note.setText(self._drawn())
        said = self._left_out()
        self.left_out.setText(said)
        self.left_out.setVisible(bool(said))

    def _drawn(self) -> str:
        """How many links are drawn, and of how many where they are too many."""
        drawn = self._state.drawn
        count = sum(len(links.weights) for links in drawn)
        if any(links.is_cut for links in drawn):
            text = self.tr("{0} of {1} links")
            wanted = sum(links.wanted for links in drawn)
            return text.format(numbers.count(count), numbers.count(wanted))
        return self.tr("%Ln link(s)", "", count)

    def _left_out(self) -> str:
        """What is not shown, and how much of the current head goes there; empty where all is."""
        state = self._state
        if state.maps.weights is None:
            return ""
        parts = []
        if state.hides_special:
            parts.append(self.tr("{0} are excluded.").format(_and(state.special_names)))
        if state.block is not None:
            parts.append(self.tr("Only links between the selected texts are shown."))
        if not parts:
            return ""
        text = self.tr(
            "{0} of this head’s attention is not shown; the other values are not rescaled."
        )
        return " ".join([*parts, text.format(numbers.percent(state.hidden_mass, 0))])

    # ── figures ──────────────────────────────────────────────────────────────────────────────

    def figure(self) -> Figure | None:
        """The chosen heads as they are shown now, with the numbers of all heads."""
        state = self._state
        if state.maps.weights is None or not len(state.drawn):
            return None
        drawing = Drawing(
            tuple(painted(token.text) for token in state.tokens),
            state.map,
            state.drawn,
            state.maps.largest,
        )
        heads = [
            self.tr("layer {0}, head {1}").format(layer + 1, head + 1)
            if state.maps.has_heads
            else self.tr("layer {0}").format(layer + 1)
            for layer, head in state.heads
        ]
        rows = [
            [name, state.tokens[a].text, state.tokens[b].text, int(a), int(b), float(weight)]
            for name, links in zip(heads, state.drawn, strict=True)
            for a, b, weight in zip(*links[:3], strict=True)
        ]
        caption = self.tr(
            "{0}. Lines: the strongest {1} of the attention shown ({2}). Matrix: query "
            "tokens (rows) attend to key tokens (columns), square-root colour scale from "
            "0 to {3}. {4}"
        ).format(
            self.measure.currentText(),
            numbers.percent(state.strongest.threshold, 0),
            self._drawn(),
            numbers.decimal(state.maps.largest, 2),
            self._left_out(),
        )
        title = ", ".join(heads)
        return Figure(
            name=f"attention-layer-{state.layer + 1}-head-{state.head + 1}",
            title=self.tr("Attention: {0}").format(title),
            caption=f"{caption} {source(state.study, state.maps.side.number)}",
            size=drawing.size,
            paint=drawing.paint,
            array=state.maps.weights,
            table=lambda: Table(COLUMNS, rows),
        )


def _and(names: tuple[str, ...]) -> str:
    return ", ".join(painted(name) for name in names)


def _area(inner: QWidget) -> QScrollArea:
    area = QScrollArea()
    area.setWidgetResizable(True)
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    area.viewport().setAutoFillBackground(False)
    inner.setProperty("bare", True)
    area.setWidget(inner)
    return area
