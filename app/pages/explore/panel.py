"""Common parts and description of the panels of Explore.

A panel is a widget over the `ExploreState`. It knows no other panel: a selection is shared through
`ExploreState.pick`, `pick_target`, `pick_head` and `hover`. Requests to the page are the signals
`model_requested` and `input_requested`. Each figure has a `FigureButton`, and its caption ends with
`captions.source(explore)`.

Each folder of `panels/` has a `panel()`, listed in `PANELS`. The state of a panel follows the page
from the start; its widgets are made when it is first shown.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from PySide6.QtCore import QEvent, QSize
from PySide6.QtWidgets import QHBoxLayout, QWidget

from app.explorer import Explorer
from app.notices import Notices
from app.pages.explore.live_query import LiveQuery
from app.pages.explore.set_work import StartWorker
from app.pages.explore.state import ExploreState
from app.settings import Settings
from app.widgets.page import EmptyState, Stack
from engine.files.home import Home

DockArea = Literal["tab", "left", "right", "below"]
PanelArea = DockArea | Literal["float"]
MakePanel = Callable[[], "Panel"]


@dataclass(frozen=True)
class PanelContext:
    explore: ExploreState
    explorer: Explorer
    settings: Settings
    notices: Notices
    home: Home
    one_time_worker: StartWorker
    models_changed: Callable[[], object]  # to call after saving a model


class Panel(QWidget):
    """A panel; its queries ask only while it is visible."""

    def __init__(self, queries: Sequence[LiveQuery] = ()) -> None:
        super().__init__()
        self._queries = tuple(queries)
        self._heights: dict[int, int] = {}  # minimum height by width, until the layout changes
        self.corner: QHBoxLayout | None = None  # holds “?” and the menu, if there is space

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest:
            self._heights.clear()
        return super().event(event)

    def heightForWidth(self, width: int) -> int:
        """Minimum height: a scroll area would otherwise use the preferred one."""
        layout = self.layout()
        if layout is None:
            return super().heightForWidth(width)
        if width not in self._heights:  # Qt asks repeatedly, and it takes milliseconds
            self._heights[width] = layout.totalMinimumHeightForWidth(width)
        return self._heights[width]

    def minimumSizeHint(self) -> QSize:
        """Minimum size with text wrapped at the present width, not at the smallest one."""
        hint, layout = super().minimumSizeHint(), self.layout()
        if layout is None or not layout.hasHeightForWidth():
            return hint
        return QSize(hint.width(), self.heightForWidth(max(hint.width(), self.width())))

    def set_active(self, active: bool) -> None:
        """Set if the panel is visible; asks pending questions."""
        for query in self._queries:
            query.set_active(active)


class ResultStack(Stack):
    def __init__(self, *contents: QWidget, waiting: QWidget | None = None) -> None:
        super().__init__()
        self.waiting = waiting or EmptyState("loader-circle", self.tr("Running the model …"), "")
        self.problem = EmptyState("circle-alert", self.tr("No result"), "")
        for page in (*contents, self.waiting, self.problem):
            self.addWidget(page)

    def show_query(self, query: LiveQuery, content: QWidget | None) -> None:
        """Show the refusal, else the content; None: the query is pending."""
        if query.refusal is not None:
            self.problem.title.setText(query.refusal.problem)
            self.problem.text.setText(query.refusal.advice)
            self.setCurrentWidget(self.problem)
        else:
            self.setCurrentWidget(content or self.waiting)


@dataclass(frozen=True)
class PanelDescription:
    """Name, factory and initial area of a panel."""

    id: str
    title: str
    icon: str
    help: str  # help topic
    make: Callable[[PanelContext], MakePanel]
    area: DockArea = "tab"
    is_open: bool = True  # initially; a closed panel has a button at the top of the page
    is_offered: Callable[[ExploreState], bool] = lambda _: True  # True if it suits the model
    is_best: Callable[[ExploreState], bool] = lambda _: False  # True if it suits best
    works_on_texts: bool = False  # asks about a set of texts, on demand
