"""The current head in words, for who cannot see it or wants its numbers."""

import numpy as np

from app.pages.explore.panels.attention.state import AttentionState
from app.translation import tr
from app.widgets.text.numbers import decimal

MAX_NAMED = 5  # links that a sentence names


def sentence(state: AttentionState) -> str:
    """The head as a whole."""
    if state.maps.weights is None:
        return tr("No attention yet.")
    strongest = list(zip(*state.links[:3], strict=True))[:MAX_NAMED]
    named = ", ".join(
        tr("“{0}” to “{1}” {2}").format(state.name(row), state.name(column), f"{weight:.2f}")
        for row, column, weight in strongest
    )
    if not state.maps.has_heads:
        return tr("Layer {0}. Strongest links: {1}.").format(state.layer + 1, named)
    text = tr("Layer {0}, head {1}. Strongest links: {2}.")
    return text.format(state.layer + 1, state.head + 1, named)


def pointed(state: AttentionState) -> str:
    """What is pointed at, in words and numbers; empty where nothing is.

    Of several chosen heads it is the current one, which is then named.
    """
    said = _pointed(state)
    return f"{state.head_names[-1]}: {said}" if said and len(state.heads) > 1 else said


def _pointed(state: AttentionState) -> str:
    row, column = state.pointed
    if row >= 0 and column >= 0:
        ends = state.name(row), state.name(column)
        if not state.in_block(row, column):
            return tr("From “{0}” to “{1}”: not in the selected texts").format(*ends)
        return tr("From “{0}” to “{1}”: {2}").format(*ends, decimal(float(state.map[row, column])))
    if row < 0 and column < 0:
        row = state.picked
    if row >= 0:
        return tr("“{0}” attends to {1}").format(state.name(row), _named(state, state.map[row]))
    if column >= 0:
        text = tr("“{0}” is attended to by {1}")
        return text.format(state.name(column), _named(state, state.map[:, column]))
    return ""


def _named(state: AttentionState, weights: np.ndarray) -> str:
    """The strongest of one token's links."""
    best = np.argsort(-weights, kind="stable")[:MAX_NAMED]
    return ", ".join(f"“{state.name(int(n))}” {weights[n]:.2f}" for n in best)
