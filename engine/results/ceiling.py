"""The human ceiling: the score of one coder against another on the rows of a model.

N rows, R coders.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from engine.config.tasks import TASKS, get_head
from engine.data.columns.coders import Codings
from engine.data.columns.label_sets import parse_label_sets
from engine.data.columns.numbers import parse_number
from engine.data.columns.tags import spans_from_tags, split_tags
from engine.data.columns.text_spans import read_spans, spans_alike, tag_alike
from engine.evaluation.agreement import mean_of_pairs
from engine.evaluation.measures import Measure
from engine.phrases import Phrase, join, phrase
from engine.results.coders import coder_codes
from engine.results.intervals import Interval
from engine.results.measures import interval, main_metric, measures
from engine.results.predictions import Predictions
from engine.results.row_figures import cached_per_table, figure


@dataclass(frozen=True)
class Ceiling:
    """The main metric of the model and of the coders, on rows with gold that two coders coded."""

    metric: str
    coders: tuple[str, ...]
    rows: int
    human: Interval  # of one coder against another; of more the mean over the pairs
    model: Interval
    disputed: int  # rows on which coders disagree
    mistakes: int  # of the model, on any of its rows; not counted for numbers
    shared: int  # of these, on rows in dispute


@cached_per_table
def ceiling(predictions: Predictions) -> Ceiling | None:
    """Compare the model with the coders; None if no row with gold was coded by two."""
    codings = coder_codes(predictions)
    if codings is None or not predictions.is_labelled:
        return None
    metric = main_metric(predictions).name
    own = _measure(predictions, metric)
    pairs = combinations(range(len(codings.coders)), 2)
    coded = (codings.coded >= 2) & (own.kinds >= 0)
    rows = np.flatnonzero(coded)
    if not len(rows):
        return None
    human = [_measure(_as_predictions(predictions, codings, *pair), metric) for pair in pairs]
    is_wrong = figure(predictions, "score") < 1
    return Ceiling(
        metric=metric,
        coders=codings.coders,
        rows=len(rows),
        human=interval(mean_of_pairs(metric, [measure.over(rows) for measure in human])),
        model=interval(own.over(rows)),
        disputed=int((codings.disputed & coded).sum()),
        mistakes=int(is_wrong.sum()),
        shared=int((is_wrong & codings.disputed).sum()),
    )


def ceiling_sentence(predictions: Predictions) -> str:
    """The comparison, and the mistakes in dispute, for documents and the terminal; "" for none."""
    found, text = ceiling(predictions), main_metric(predictions).text
    if found is None:
        return ""
    human, model = (
        phrase("{value} ({low} to {high})", value=text(value), low=text(low), high=text(high))
        for value, low, high in (found.human, found.model)
    )
    note = ceiling_note(found, human, model)
    if not (found.disputed and found.mistakes):
        return note
    mistakes = phrase(
        "{shared:,} of its {n:,} mistake(s) are on rows in dispute.",
        n=found.mistakes,
        shared=found.shared,
    )
    return join(" ", [note, mistakes])


def ceiling_note(found: Ceiling, human: str, model: str) -> Phrase:
    """The comparison in words; `human` and `model` are scores with their intervals."""
    if not found.disputed:
        return phrase(
            "Human ceiling unknown: all coders agree on these {n:,} row(s). Rows in dispute have "
            "no label, and no score counts them, until you decide them in the data set.",
            n=found.rows,
        )
    return phrase(
        "Human ceiling: one coder against another {human}; this model {model} (on {n:,} row(s) "
        "that two coders coded).",
        n=found.rows,
        human=human,
        model=model,
    )


def _measure(predictions: Predictions, name: str) -> Measure:
    return next(measure for measure in measures(predictions) if measure.name == name)


def _as_predictions(
    predictions: Predictions, codings: Codings, first: int, second: int
) -> Predictions:
    """The codes of one coder as gold and those of another one as predictions of the same task."""
    codes, task = codings.codes[:, [first, second]], TASKS[predictions.info.task]
    head, lists = task.info.head, list[list[Any]]()
    if head is not None and head.marks_text and not codings.has_text_spans:
        lists = [split_tags(cell) for cell in codings.cells]
        words = np.array([*map(len, lists), 0])[codes]
        if head.labels_spans:
            lists = [[[*span] for span in spans_from_tags(tags)] for tags in lists]
        codes[words[:, 0] != words[:, 1]] = -1  # one of them tagged other words
    elif head is not None and head.is_multi_label:
        lists = [[*labels] for labels in parse_label_sets(codings.cells)]
    codes[(codes < 0).any(axis=1)] = -1
    cells = pa.array([*codings.cells, None], pa.string())
    gold, predicted = (cells.take(pa.array(side % len(cells))) for side in codes.T)
    details = [_details(lists[a], lists[b]) if lists and a >= 0 else "" for a, b in codes.tolist()]
    if codings.has_text_spans:
        details = _span_details(predictions, codings, codes)
    record: dict[str, Any] = {
        "row": predictions.table["row"],
        "gold": gold,
        "predicted": predicted,
        "score": np.where(codes[:, 0] < 0, np.nan, codes[:, 0] == codes[:, 1]),
        "details": details,
    }
    if task.predicts_numbers(predictions.info.metrics):
        record["scores"] = [[parse_number(cell or "") or 0.0] for cell in predicted.to_pylist()]
    return Predictions.from_columns(predictions.info, record, {})


def _span_details(
    predictions: Predictions, codings: Codings, codes: NDArray[np.int64]
) -> list[str]:
    """Details of the spans of two coders, whose words are split alike; codes [N, 2]."""
    texts = predictions.cells(predictions.info.mapping.text).to_pylist()
    spans = [read_spans(cell) or [] for cell in codings.cells]
    is_flat = get_head(predictions.info.task).tags_tokens
    alike: Callable[..., Sequence[Sequence[object]]] = tag_alike if is_flat else spans_alike
    return [
        _details(*alike(text or "", spans[a], spans[b])) if a >= 0 else ""
        for text, (a, b) in zip(texts, codes.tolist(), strict=True)
    ]


def _details(gold: Sequence[object], predicted: Sequence[object]) -> str:
    return json.dumps({"gold": gold, "predicted": predicted})
