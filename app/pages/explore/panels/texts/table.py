"""Columns of the table of texts; a row is the index of a text."""

from collections.abc import Callable
from functools import partial

from app.pages.explore.panels.texts.state import TextsState
from app.resources import mono_font
from app.translation import tr
from app.widgets.charts.bars import percentage
from app.widgets.tables import Column
from app.widgets.text.labels import visible
from app.widgets.text.numbers import count, decimal
from engine.messages.explore.text_set import TextScore

MAX_CELL = 300  # characters shown
TEXT, PAIR, LABEL, PREDICTION, PROBABILITY, LOSS, TOKENS = range(7)


def text_columns(state: TextsState) -> list[Column[int]]:
    """In the order of the constants above; columns of numbers sort missing ones last."""
    is_pseudo = state.loss == "pseudo"
    return [
        _source_text(tr("Text"), lambda n: state.rows[n][0]),
        _source_text(tr("Second text"), lambda n: state.rows[n][1] or ""),
        _name(tr("Label"), partial(_label, state)),
        _name(
            tr("Prediction"),
            lambda n: visible(state.scores[n].prediction) if n < len(state.scores) else "",
        ),
        _number(
            state,
            tr("p"),
            tr("Probability of the prediction"),
            lambda score: score.probability,
            percentage,
        ),
        _number(
            state,
            tr("Pseudo-loss") if is_pseudo else tr("Loss"),
            tr("Loss of the task; of a model without one: mean −log P of each token, masked"),
            lambda score: score.loss,
            lambda loss: decimal(loss, 3),
            descending_first=True,
        ),
        _number(
            state,
            tr("Tokens"),
            tr("Of the whole text, with special tokens"),
            lambda score: score.tokens,
            lambda tokens: count(int(tokens)),
            descending_first=True,
        ),
    ]


def _source_text(title: str, whole: Callable[[int], str]) -> Column[int]:
    def one_line(n: int) -> str:
        return visible(" ".join(whole(n)[:MAX_CELL].split()))

    return Column(
        title, one_line, whole, tooltip=whole, sort_key=lambda n: one_line(n).casefold() or None
    )


def _name(title: str, text: Callable[[int], str]) -> Column[int]:
    return Column(title, text, tooltip=text, sort_key=lambda n: text(n).casefold() or None)


def _number(
    state: TextsState,
    title: str,
    meaning: str,
    value: Callable[[TextScore], float | None],
    text: Callable[[float], str],
    descending_first: bool = False,
) -> Column[int]:
    def number(n: int) -> float | None:
        return value(state.scores[n]) if n < len(state.scores) else None

    def shown(n: int) -> str:
        known = number(n)
        return "" if known is None else text(known)

    return Column(
        title,
        shown,
        font=mono_font(),
        align_right=True,
        meaning=meaning,
        sort_key=number,
        descending_first=descending_first,
    )


def _label(state: TextsState, n: int) -> str:
    score = state.scores[n] if n < len(state.scores) else None
    typed = state.labels[n] if n < len(state.labels) else ""
    return visible((score.label if score is not None and score.label else typed)[:MAX_CELL])
