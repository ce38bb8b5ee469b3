"""Attention in words and rows, for the read-out, the table and the figures.

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
    """Name of a measure, name of one value, and help topic."""

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
    """Texts of the measure that is shown."""
    return next(one for one in MEASURES if one.measure == state.maps.shown_measure)


def value_name(state: AttentionState) -> str:
    """Name of a value, in the user's language."""
    return in_language(texts_of(state).value)


class LinkRows(NamedTuple):
    """Links of all chosen heads, strongest first."""

    heads: np.ndarray  # int [N], index among the chosen heads
    rows: np.ndarray  # int [N], query tokens among the shown ones
    columns: np.ndarray  # int [N], key tokens among the shown ones
    values: np.ndarray  # float32 [N]


def link_rows(state: AttentionState) -> LinkRows:
    """Links as the table and exports list them."""
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
    """Column names of a CSV file; tokens are counted from 1 over the whole text."""
    value = texts_of(state).value.lower()
    return ("head", "query token", "key token", "query number", "key number", value)


def csv_rows(state: AttentionState) -> list[tuple[str, str, str, int, int, float]]:
    """Rows of a CSV file, as in the table."""
    heads, names, numbers = state.head_names, state.names, state.numbers
    return [
        (heads[h], names[a], names[b], int(numbers[a]) + 1, int(numbers[b]) + 1, float(value))
        for h, a, b, value in zip(*link_rows(state), strict=True)
    ]


MAX_NAMED = 5  # links named in a sentence


def describe_head(state: AttentionState) -> str:
    """Describe the current head."""
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
    """Describe what the mouse points at; “” if nothing.

    With several chosen heads, the current one is named.
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
    """The strongest links of a token."""
    best = np.argsort(-weights, kind="stable")[:MAX_NAMED]
    return ", ".join(f"“{state.name(int(n))}” {weights[n]:.2f}" for n in best)
