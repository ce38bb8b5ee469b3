"""Lineage of a node: the graph, and a list of its results and requirements."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QListWidget, QListWidgetItem, QScrollArea, QWidget

from app.pages.runs.lineage.picture import LineagePicture, layout_graph
from app.pages.runs.lineage.state import MAX_SHOWN, LineageState, kind_text
from app.theme import SPACE, px
from app.translation import tr, translated
from app.widgets import buttons, layouts
from app.widgets.charts.figure_menu import FigureButton
from app.widgets.text import numbers
from app.widgets.text.labels import OneLine, Text, TextView, visible
from engine.runs.lineage import Edge

KEY = Qt.ItemDataRole.UserRole
MAX_LISTED = 500  # results in the list
SIDE_WIDTH = 340  # px


class LineageView(QWidget):
    """The graph on the left, details of the current node on the right.

    Signals:
        closed: go back to all runs.
    """

    closed = Signal()

    def __init__(self, state: LineageState) -> None:
        super().__init__()
        self.state = state
        state.setParent(self)
        self.title = OneLine("", "title")
        self.picture = LineagePicture()
        self.picture.selected.connect(state.select)
        self.picture.opened.connect(state.open)
        self.figure_button = FigureButton(self.picture.figure, state.studio.notices)
        self.figure_button.offer_on(self.picture)
        head = layouts.row(
            buttons.quiet(tr("B&ack"), self.closed.emit, "arrow-left"),
            (self.title, 1),
            self.figure_button,
            spacing=2 * SPACE,
        )
        self.summary = Text("", "muted")
        self.area = QScrollArea()
        self.area.setWidget(self.picture)
        self.area.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.area.setFrameShape(QScrollArea.Shape.NoFrame)
        self.area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        sizes = [2 * SIDE_WIDTH, SIDE_WIDTH]
        split = layouts.splitter(self.area, self._side(), sizes=sizes, stretch=0)
        layouts.column(head, self.summary, (split, 1), parent=self, spacing=2 * SPACE)
        state.changed.connect(self._show)
        state.selected.connect(self._show_current)
        state.requirements_read.connect(self._show_requirements)

    def _side(self) -> QWidget:
        self.name = OneLine("", "strong")
        self.kind = Text("", "muted")
        self.open = buttons.plain(tr("&Open"), lambda: self.state.open(self.state.current))
        self.centre = buttons.plain(
            tr("Show &lineage"), lambda: self.state.centre(self.state.current), "git-branch"
        )
        row = layouts.row(self.open, self.centre, layouts.STRETCH, spacing=2 * SPACE)
        self.results_title = Text("", "strong")
        self.results = QListWidget()
        self.results.setAccessibleName(tr("Derived items"))
        self.results.itemActivated.connect(lambda item: self.state.centre(str(item.data(KEY))))
        self.needed = TextView(tr("Requirements to reproduce"))
        self.copy = buttons.plain(tr("&Copy"), self._on_copy, "copy")
        self.copy.setAccessibleName(tr("Copy the requirements"))
        needed_head = layouts.row((Text(tr("Requirements to reproduce"), "strong"), 1), self.copy)
        side = layouts.page(
            self.name,
            self.kind,
            row,
            self.results_title,
            (self.results, 1),
            needed_head,
            (self.needed, 2),
            spacing=2 * SPACE,
            margins=(2 * SPACE, 0, 0, 0),
        )
        side.setMinimumWidth(px(SIDE_WIDTH - 20 * SPACE))
        return side

    def _show(self) -> None:
        state = self.state
        if not state.exists:
            self.title.setText(tr("Lineage"))
            self.summary.setText(tr("This no longer exists."))
            return
        keys, total = state.nearest_nodes()
        self.title.setText(tr("Lineage of {0}").format(visible(state.lineage.nodes[keys[0]].title)))
        text = tr("The sources of an item are on its left, the results on its right.")
        if total > MAX_SHOWN:
            template = tr("The nearest {0} of {1} are shown.")
            text = f"{text} {template.format(numbers.count(MAX_SHOWN), numbers.count(total))}"
        self.summary.setText(text)
        self.picture.show_graph(layout_graph(state.lineage, keys), state.focus, state.current)

    def _show_current(self) -> None:
        node = self.state.node()
        if node is None:
            return
        self.picture.set_current(node.key)
        self._reveal(node.key)
        self.name.setText(visible(node.title))
        self.kind.setText(kind_text(node))
        self.open.setEnabled(node.exists)
        self.centre.setEnabled(node.key != self.state.focus)
        edges = {edge.target: edge for edge in self.state.lineage.targets(node.key)}
        after = self.state.lineage.descendants(node.key)
        title = tr("Derived items: {0}").format(numbers.count(len(after)))
        self.results_title.setText(title if after else tr("No derived items"))
        self.results.clear()
        self.results.setVisible(bool(after))
        for key in after[:MAX_LISTED]:
            item = QListWidgetItem(self._line(key, edges.get(key)))
            item.setData(KEY, key)
            self.results.addItem(item)
        self.needed.setPlainText(tr("Reading…"))
        self.copy.setEnabled(False)

    def _line(self, key: str, edge: Edge | None) -> str:
        node = self.state.lineage.nodes[key]
        text = f"{visible(node.title)} ({kind_text(node)})"
        return f"{text}: {translated(edge.label)}" if edge is not None and edge.label else text

    def _reveal(self, key: str) -> None:
        if self.picture.graph is not None and key in self.picture.graph.boxes:
            centre = self.picture.graph.boxes[key].center().toPoint()
            self.area.ensureVisible(centre.x(), centre.y(), 120, 60)

    def _show_requirements(self, lines: list[str]) -> None:
        self.needed.setPlainText("\n".join(lines))
        self.copy.setEnabled(bool(lines))

    def _on_copy(self) -> None:
        QGuiApplication.clipboard().setText(self.needed.toPlainText())
        self.state.studio.notices.info(tr("Copied."))
