"""What all panels of Explore have in common, and how one is described.

A panel is a widget over the `ExploreState`. It knows no other panel: a selection is shared through
`ExploreState.pick`, `pick_target`, `pick_head` and `point`, and what only the page can do is
requested with `model_wanted` and `input_wanted`. Each figure has a `FigureButton`, whose caption
ends with `captions.source(explore)`.

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
from engine.files.home import Home

Place = Literal["tab", "left", "right", "below", "float"]
MakePanel = Callable[[], "Panel"]


@dataclass(frozen=True)
class PanelContext:
    """What a panel is made from."""

    explore: ExploreState
    explorer: Explorer
    settings: Settings
    notices: Notices
    home: Home
    one_time_worker: StartWorker
    models_changed: Callable[[], object]  # to be called where a model was saved


class Panel(QWidget):
    """Asks only while it is on the screen."""

    def __init__(self, queries: Sequence[LiveQuery] = ()) -> None:
        super().__init__()
        self._queries = tuple(queries)
        self._heights: dict[int, int] = {}  # needed at some widths, until something in it changes
        self.corner: QHBoxLayout | None = None  # takes “?” and the menu, if it has room for them

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest:
            self._heights.clear()
        return super().event(event)

    def heightForWidth(self, width: int) -> int:
        """The least: an area that scrolls would else give a panel the height that it likes best."""
        layout = self.layout()
        if layout is None:
            return super().heightForWidth(width)
        if width not in self._heights:  # Qt asks again and again, and it takes milliseconds
            self._heights[width] = layout.totalMinimumHeightForWidth(width)
        return self._heights[width]

    def minimumSizeHint(self) -> QSize:
        """With lines broken at the width that the panel has, not at the least it could have."""
        hint, layout = super().minimumSizeHint(), self.layout()
        if layout is None or not layout.hasHeightForWidth():
            return hint
        return QSize(hint.width(), self.heightForWidth(max(hint.width(), self.width())))

    def set_seen(self, seen: bool) -> None:
        """Whether the panel is on the screen; what was put off is asked now."""
        for query in self._queries:
            query.set_seen(seen)


def always(_: ExploreState) -> bool:
    return True


def never(_: ExploreState) -> bool:
    return False


@dataclass(frozen=True)
class PanelDescription:
    """One panel: what it is called, how it is made, and where it starts."""

    id: str
    title: str
    icon: str
    help: str  # its page in resources/help
    make: Callable[[PanelContext], MakePanel]
    place: Place = "tab"
    is_open: bool = True  # at first; one that is not gets a button on top of the page
    is_offered: Callable[[ExploreState], bool] = (
        always  # whether it has something to show of this model
    )
    is_best: Callable[[ExploreState], bool] = (
        never  # whether this model is best explored in this panel
    )
    works_on_texts: bool = False  # whether it asks about a set of texts, when it is told to
