"""The wall of all heads, and beside it the picked one: lines and matrix, or a table."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QCheckBox,
    QFileDialog,
    QFrame,
    QHBoxLayout,
    QMenu,
    QScrollArea,
    QSizePolicy,
    QSlider,
    QSpinBox,
    QSplitter,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from app import background
from app.notices import Notices
from app.pages.explore.chips import painted
from app.pages.explore.panel import Panel
from app.pages.explore.panels.attention import figure
from app.pages.explore.panels.attention.legend import Legend
from app.pages.explore.panels.attention.lines import Lines
from app.pages.explore.panels.attention.links import MOST
from app.pages.explore.panels.attention.matrix import Matrix
from app.pages.explore.panels.attention.state import AttentionState
from app.pages.explore.panels.attention.table import LinkTable
from app.pages.explore.panels.attention.wall import Wall
from app.theme import SPACE
from app.widgets import buttons, numbers
from app.widgets.page import EmptyState
from app.widgets.text import OneLine, Text
from engine.durable import write_file

STEP = 5  # % of the mass, between two places of the slider


class AttentionView(Panel):
    """Shows an AttentionState."""

    def __init__(
        self, state: AttentionState, notices: Notices, parent: QWidget | None = None
    ) -> None:
        super().__init__((state.asking,), parent)
        self._state, self._notices = state, notices
        self.wall = Wall()
        self.lines, self.matrix, self.table = Lines(state), Matrix(state), LinkTable(state)
        self.wall_said = OneLine("", "small")
        self.readout, self.note = OneLine(""), OneLine("", "small")
        self.left_out = Text("", "small")
        self.note.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.halves = QSplitter(Qt.Orientation.Horizontal)
        self.halves.setChildrenCollapsible(False)
        self.halves.addWidget(self._all_heads())
        self.halves.addWidget(self._one_head())
        self.halves.setSizes([340, 800])
        self.halves.setStretchFactor(1, 1)
        self.problem = EmptyState("circle-alert", self.tr("No answer"), "")
        self.waiting = EmptyState("loader-circle", self.tr("Asking the model …"), "")
        self.stack = QStackedWidget()
        for page in (self.halves, self.problem, self.waiting):
            self.stack.addWidget(page)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 3 * SPACE, 0, 0)
        column.addWidget(self.stack)
        self.wall.picked.connect(state.pick_head)
        self.wall.pointed.connect(self._on_wall_pointed)
        state.wall_changed.connect(lambda: self.wall.show_heads(state.wall))
        state.head_changed.connect(self._on_head)
        state.links_changed.connect(self._say)
        state.pointed_changed.connect(self._say)
        state.told.connect(self._on_told)
        self._on_head()
        self._on_told()

    # ── parts ────────────────────────────────────────────────────────────────────────────────

    def _all_heads(self) -> QWidget:
        area = _area(self.wall)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        part = QWidget()
        column = QVBoxLayout(part)
        column.setContentsMargins(0, 0, 3 * SPACE, 0)
        column.setSpacing(SPACE)
        column.addWidget(Text(self.tr("All heads"), "strong"))
        column.addWidget(
            Text(self.tr("Layers from top to bottom, heads from left to right."), "small")
        )
        column.addWidget(area, 1)
        column.addWidget(self.wall_said)
        column.addWidget(Legend())
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
        self.forms.addWidget(pictures)
        self.forms.addWidget(self.table)
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
        row = QHBoxLayout()
        row.setSpacing(2 * SPACE)
        for name, box in ((self.tr("&Layer"), self.layer), (self.tr("&Head"), self.head)):
            label = Text(name, "strong", wraps=False)
            label.setBuddy(box)
            box.setAccessibleName(name.replace("&", ""))
            box.setMinimum(1)
            box.setAlignment(Qt.AlignmentFlag.AlignHCenter)
            box.valueChanged.connect(self._on_boxes)
            row.addWidget(label)
            row.addWidget(box)
        self.form = buttons.Segments(
            [self.tr("Pictures"), self.tr("Table")], self.tr("Show the head as")
        )
        self.form.choose(0)
        self.form.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.form.chosen.connect(self.forms_changed)
        self.save = buttons.plain(self.tr("&Save"), icon="save")
        self.save.setMenu(self._save_menu())
        row.addStretch()
        row.addWidget(self.form)
        row.addWidget(self.save)
        return row

    def _second_row(self) -> QHBoxLayout:
        self.share = QSlider(Qt.Orientation.Horizontal)
        self.share.setRange(1, 100 // STEP)
        self.share.setValue(round(self._state.share * 100 / STEP))
        self.share.setFixedWidth(40 * SPACE)
        self.share.setAccessibleName(self.tr("Share of the attention that is shown"))
        self.share.valueChanged.connect(self._on_share)
        self.share_said = Text("", wraps=False)
        self.special = QCheckBox(self.tr("Hide [CLS] and [SEP]"))
        self.special.setAccessibleName(self.tr("Hide [CLS] and [SEP]"))
        self.special.toggled.connect(self._state.hide_special)
        row = QHBoxLayout()
        row.setSpacing(2 * SPACE)
        row.addWidget(self.share)
        row.addWidget(self.share_said)
        row.addStretch()
        row.addWidget(self.special)
        return row

    def _save_menu(self) -> QMenu:
        menu = QMenu(self)
        for text, suffix, make in (
            (self.tr("Picture of this head (PNG) …"), "png", self._png),
            (self.tr("Drawing of this head (SVG) …"), "svg", self._svg),
            (self.tr("Numbers of all heads (.npy) …"), "npy", self._npy),
        ):
            action = menu.addAction(text)
            action.triggered.connect(lambda _=False, s=suffix, m=make: self._ask_where(s, m))
        return menu

    # ── what changes ─────────────────────────────────────────────────────────────────────────

    def forms_changed(self, form: int) -> None:
        """Pictures or table."""
        self.forms.setCurrentIndex(form)

    def _on_told(self) -> None:
        asking = self._state.asking
        if asking.refusal is not None:
            self.problem.title.setText(asking.refusal.problem)
            self.problem.text.setText(asking.refusal.advice)
            self.stack.setCurrentIndex(1)
        else:
            self.stack.setCurrentIndex(2 if self._state.weights is None else 0)

    def _on_head(self) -> None:
        layers, heads = self._state.size
        for box, most, value in (
            (self.layer, layers, self._state.layer),
            (self.head, heads, self._state.head),
        ):
            box.blockSignals(True)
            box.setMaximum(max(1, most))
            box.setValue(value + 1)
            box.setSuffix(self.tr(" of {0}").format(max(1, most)))
            box.blockSignals(False)
        self.wall.choose(self._state.layer, self._state.head)
        self._say()

    def _on_boxes(self) -> None:
        self._state.pick_head(self.layer.value() - 1, self.head.value() - 1)

    def _on_share(self, value: int) -> None:
        self._state.set_share(value * STEP / 100)
        self._say()

    def _on_wall_pointed(self, layer: int, head: int) -> None:
        text = self.tr("Layer {0}, head {1}").format(layer + 1, head + 1)
        self.wall_said.setText(text if layer >= 0 else self.tr("A click picks a head."))

    def _say(self) -> None:
        """What is shown, what is left out, and what the mouse is over, in words."""
        state = self._state
        share = numbers.percent(self.share.value() * STEP / 100, 0)
        self.share_said.setText(self.tr("The strongest {0} of the attention").format(share))
        hint = self.tr("Point at a token or a cell to see its numbers; a click picks the token.")
        self.readout.setText(state.readout() or hint)
        self.note.setText(self._drawn())
        self.left_out.setText(self._left_out())
        self.left_out.setVisible(state.hides_special)
        if not self.wall_said.whole():
            self._on_wall_pointed(-1, -1)

    def _drawn(self) -> str:
        """How many links are drawn, and of how many where they are too many."""
        links = self._state.links
        if links.is_cut:
            text = self.tr("{0} of {1} links")
            return text.format(numbers.count(MOST), numbers.count(links.wanted))
        return self.tr("%Ln link(s)", "", len(links.weights))

    def _left_out(self) -> str:
        """What hidden special tokens had; empty where none are hidden."""
        if not self._state.hides_special:
            return ""
        text = self.tr(
            "[CLS] and [SEP] are hidden; {0} of this head’s attention goes to them. "
            "The other values are not rescaled."
        )
        return text.format(numbers.percent(self._state.hidden_mass, 0))

    # ── saving ───────────────────────────────────────────────────────────────────────────────

    def _ask_where(self, suffix: str, make: Callable[[], Callable[[], bytes]]) -> None:
        """Ask for a file without stopping the program, then write it off the window's thread."""
        if self._state.weights is None:
            return
        state = self._state
        name = f"attention-layer-{state.layer + 1}-head-{state.head + 1}.{suffix}"
        if suffix == "npy":
            name = "attention.npy"
        dialog = QFileDialog(self.window(), self.tr("Save"), name)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix(suffix)
        dialog.setNameFilter(f"*.{suffix}")
        dialog.fileSelected.connect(lambda path: self.write(Path(path), make()))
        dialog.open()

    def write(self, path: Path, content: Callable[[], bytes]) -> None:
        """Make `content` and write it to `path`, whole or not at all, and say so."""
        told = self.tr("Saved as {0}.").format(path)
        background.run(
            self,
            lambda: write_file(path, content()),
            lambda _: self._notices.say(told),
            self._notices.show,
        )

    def _png(self) -> Callable[[], bytes]:
        drawn = self.figure()
        return lambda: figure.png(drawn)

    def _svg(self) -> Callable[[], bytes]:
        drawn = self.figure()
        return lambda: figure.svg(drawn)

    def _npy(self) -> Callable[[], bytes]:
        weights = self._state.weights
        assert weights is not None
        return lambda: figure.npy(weights)

    def figure(self) -> figure.Figure:
        """The head as it is shown now, with its caption."""
        state = self._state
        model = state.study.model
        title = self.tr("{0}: layer {1} of {2}, head {3} of {4}").format(
            model.name if model else "",
            state.layer + 1,
            state.size[0],
            state.head + 1,
            state.size[1],
        )
        caption = self.tr(
            "Lines: the strongest {0} of the attention ({1}). Matrix: rows look at columns, "
            "square-root scale from 0 to 1. {2}"
        ).format(numbers.percent(state.share, 0), self._drawn(), self._left_out())
        return figure.Figure(
            title=title,
            caption=caption.strip(),
            tokens=tuple(painted(token.text) for token in state.tokens),
            weights=state.map,
            links=state.links,
        )


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
