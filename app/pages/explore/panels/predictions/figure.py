"""Figure of a prediction, and the differences of two predictions."""

import numpy as np

from app.pages.explore.captions import source
from app.pages.explore.panels.predictions.state import PredictionsState
from app.pages.explore.paper import bars_size, paint_bars
from app.translation import tr
from app.widgets.charts.bars import percentage
from app.widgets.charts.figure import Figure, Table
from app.widgets.text.chips import token_text
from app.widgets.text.numbers import decimal
from engine.config.tasks import head_of
from engine.messages.explore.prediction import Predicted
from engine.messages.explore.text import PRECISIONS

NAME = 180  # px
MAX_DRAWN_ROWS = 100  # rows drawn
NAMED_DIFFERENCES = 5  # differences named in a sentence


def make_figure(state: PredictionsState) -> Figure | None:
    """The exact answer of one side as bars; None if there is none."""
    if not state.query.require_exact():  # it arrives in a moment
        return None
    answer = state.answer
    if answer is None:
        return None
    rows = prediction_rows(answer)
    drawn = [
        (token_text(name), value, percentage(value))
        if 0 <= value <= 1
        else (name, None, decimal(value))
        for name, value in rows[:MAX_DRAWN_ROWS]
    ]

    return Figure(
        name="task-predictions",
        title=tr("{0}: predictions").format(state.side.model_name),
        caption=tr("Probabilities from 0 to 1, a number as it is. {0}").format(
            source(state.explore, state.side.index)
        ),
        size=bars_size(len(drawn), NAME, has_header=False),
        paint=lambda painter, _: paint_bars(painter, drawn, NAME),
        array=np.array([value for _, value in rows], dtype=np.float32),
        table=lambda: _table(answer, rows),
    )


def prediction_rows(answer: Predicted) -> list[tuple[str, float]]:
    """Every label, or span of the text, with its probability; or a single number."""
    if answer.predictions:
        return [(one.label, one.probability) for one in answer.predictions[0].ranked]
    rows = [(f"{one.text} {one.label}".strip(), one.probability) for one in answer.spans]
    if answer.value is not None:
        nothing = head_of(answer.task).finds_spans
        rows.append((tr("no answer") if nothing else tr("value"), answer.value))
    return rows


def differences(first: Predicted, second: Predicted) -> list[str]:
    """Changes from the first to the second of what both name, largest first."""
    if head_of(first.task) != head_of(second.task):
        return []
    before, after = dict(prediction_rows(first)), dict(prediction_rows(second))
    both = [name for name in before if name in after]
    both.sort(key=lambda name: -abs(after[name] - before[name]))
    is_number = not first.predictions and head_of(first.task).outputs == 1
    texts = []
    for name in both[:NAMED_DIFFERENCES]:
        change = after[name] - before[name]
        points = tr("{0} points").format(f"{100 * change:+.1f}")
        texts.append(f"{token_text(name)} {f'{change:+.3f}' if is_number else points}")
    return texts


def _table(answer: Predicted, rows: list[tuple[str, float]]) -> Table:
    precision = PRECISIONS[answer.computed]
    if answer.predictions or not answer.spans:
        return Table(("label", "value", "precision"), [(*row, precision) for row in rows])
    return Table(
        ("text", "label", "start", "end", "probability", "precision"),
        [
            (one.text, one.label, one.start, one.end, one.probability, precision)
            for one in answer.spans
        ],
    )
