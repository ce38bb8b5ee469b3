"""What is shown of the attention, as names and rows: the one source of read-out, table and figures.

Shapes: N links.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from app.pages.explore.panels.attention.state import AttentionState
from app.translation import in_language, marked, tr
from app.widgets.text.numbers import decimal
from engine.messages.explore.attention import Measure


@dataclass(frozen=True)
class MeasureTexts:
    """A measure: its name, what one of its numbers is called, and its page of help."""

    measure: Measure
    name: str
    value: str
    help: str


MEASURES: tuple[MeasureTexts, ...] = (
    MeasureTexts("weights", marked("Attention weights"), marked("Attention weight"), "attention"),
    MeasureTexts("norms", marked("Value-weighted norms"), marked("Value-weighted norm"), "norms"),
    MeasureTexts("head_average", marked("Head average"), marked("Mean attention"), "attention"),
    MeasureTexts("rollout", marked("Attention rollout"), marked("Rollout"), "attention-rollout"),
)


def texts_of(state: AttentionState) -> MeasureTexts:
    """Of the numbers that are shown."""
    return next(one for one in MEASURES if one.measure == state.maps.shown_measure)


def value_name(state: AttentionState) -> str:
    """What one of the numbers that are shown is called, in the user's language."""
    return in_language(texts_of(state).value)


class LinkRows(NamedTuple):
    """The links that are drawn of all chosen heads, the strongest first."""

    heads: np.ndarray  # int [N], which of the chosen heads
    rows: np.ndarray  # int [N], query tokens among those that are shown
    columns: np.ndarray  # int [N], key tokens likewise
    values: np.ndarray  # float32 [N]


def link_rows(state: AttentionState) -> LinkRows:
    """As table, CSV file and copied numbers have them."""
    drawn = state.drawn
    if not drawn:
        nothing = np.zeros(0, int)
        return LinkRows(nothing, nothing, nothing, np.zeros(0, np.float32))
    heads = np.repeat(np.arange(len(drawn)), [len(links.weights) for links in drawn])
    rows, columns, values = (np.concatenate([links[n] for links in drawn]) for n in range(3))
    if len(drawn) > 1:
        order = np.argsort(-values, kind="stable")
        heads, rows, columns, values = (each[order] for each in (heads, rows, columns, values))
    return LinkRows(heads, rows, columns, values)


def csv_header(state: AttentionState) -> tuple[str, ...]:
    """Tokens are counted from 1 over the whole text, as everywhere in the window."""
    value = texts_of(state).value.lower()
    return ("head", "query token", "key token", "query number", "key number", value)


def csv_rows(state: AttentionState) -> list[tuple[str, str, str, int, int, float]]:
    """The links that are drawn, as they stand in the table."""
    heads, names, numbers = state.head_names, state.names, state.numbers
    return [
        (heads[h], names[a], names[b], int(numbers[a]) + 1, int(numbers[b]) + 1, float(value))
        for h, a, b, value in zip(*link_rows(state), strict=True)
    ]


MAX_NAMED = 5  # links that a sentence names


def describe_head(state: AttentionState) -> str:
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


def describe_pointed(state: AttentionState) -> str:
    """What is pointed at, in words and numbers; empty where nothing is.

    Of several chosen heads it is the current one, which is then named.
    """
    said = _pointed_text(state)
    return f"{state.head_names[-1]}: {said}" if said and len(state.heads) > 1 else said


def _pointed_text(state: AttentionState) -> str:
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
