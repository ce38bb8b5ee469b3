"""What is shown of the attention, as names and rows: the one source of read-out, table and figures.

Shapes: N links.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from app.pages.explore.panels.attention.state import AttentionState
from app.translation import in_language, marked
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
