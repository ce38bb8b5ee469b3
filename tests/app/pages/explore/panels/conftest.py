"""Pages and panels that several test files share."""

import numpy as np
import pytest

from app.pages.explore.panels.attention.state import AttentionState
from app.pages.explore.panels.attention.view import AttentionView
from app.pages.explore.view import ExplorePage


@pytest.fixture
def state(explore, explorer) -> AttentionState:
    state = AttentionState(explore, explorer)
    state.exclude_special(False)
    state.set_active(True)
    return state


@pytest.fixture
def view(qtbot, state, workshop) -> AttentionView:
    view = AttentionView(state, workshop.notices)
    qtbot.addWidget(view)
    view.resize(1100, 520)
    view.show()
    return view


@pytest.fixture
def weights(view, state, explorer, wait) -> np.ndarray:
    """The attention that is shown, float32 [3, 2, 5, 5]."""
    weights = explorer.attend(explorer.questions[-1])
    wait(lambda: state.maps.thumbnails is not None and len(state.links.weights))
    return weights


@pytest.fixture
def choose_texts(wait):
    """`choose_texts(page, *lines)` types lines into the panel Texts and waits for them."""

    def choose(page: ExplorePage, *lines: str) -> None:
        page.bench.docks["texts"].panel.typed.setPlainText("\n".join(lines))
        wait(lambda: page.state.chosen is not None and page.state.chosen.count == len(lines))

    return choose
