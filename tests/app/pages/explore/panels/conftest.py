"""The panel Attention over a study at rest, as several files of tests look at it."""

import numpy as np
import pytest

from app.pages.explore.panels.attention.state import AttentionState
from app.pages.explore.panels.attention.view import AttentionView


@pytest.fixture
def state(explore, explorer) -> AttentionState:
    made = AttentionState(explore, explorer)
    made.exclude_special(False)
    made.set_seen(True)
    return made


@pytest.fixture
def view(qtbot, state, workshop) -> AttentionView:
    made = AttentionView(state, workshop.notices)
    qtbot.addWidget(made)
    made.resize(1100, 520)
    made.show()
    return made


@pytest.fixture
def weights(view, state, explorer, wait) -> np.ndarray:
    """The attention that is shown, float32 [3, 2, 5, 5]."""
    made = explorer.attend(explorer.asked[-1])
    wait(lambda: state.maps.thumbnails is not None and len(state.links.weights))
    return made
