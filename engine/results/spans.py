"""Span errors of tags: missed, spurious, wrong boundary, wrong type.

S spans of all rows. Spans are those of seqeval; if tags name no spans but a class for each word,
every word is a span. A gold and a predicted span are paired if they share words: first those with
the same ends, then of the same type, then with the largest overlap (error classes of Manning 2006,
“Doing Named Entity Recognition? Don't optimize for F1”).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from engine.config.tasks import TASKS
from engine.data.columns.tags import Span, are_spans, spans_from_tags
from engine.data.columns.text_spans import read_spans
from engine.phrases import Phrase, phrase
from engine.results.predictions import Predictions
from engine.results.row_figures import cached_per_table, details

SpanKind = Literal["right", "missed", "spurious", "boundary", "type", "both"]
SPAN_KINDS: tuple[SpanKind, ...] = get_args(SpanKind)
NONE = -1  # type code of a missing span

ERROR_NAMES: dict[SpanKind, Phrase] = {
    "right": phrase("correct span"),
    "missed": phrase("missed span"),
    "spurious": phrase("spurious span"),
    "boundary": phrase("span with a wrong boundary"),
    "type": phrase("span with a wrong type"),
    "both": phrase("span with a wrong boundary and type"),
}


class SpanPair(NamedTuple):
    """A gold span and the predicted span paired with it; one may be missing."""

    gold: Span | None
    predicted: Span | None

    @property
    def kind(self) -> SpanKind:
        gold, predicted = self.gold, self.predicted
        if gold is None or predicted is None:
            return "spurious" if gold is None else "missed"
        same_ends, same_type = gold[1:] == predicted[1:], gold.type == predicted.type
        if same_ends:
            return "right" if same_type else "type"
        return "boundary" if same_type else "both"


class RowSpans(NamedTuple):
    """The words of a row and its span pairs."""

    words: tuple[str, ...]
    pairs: tuple[SpanPair, ...]  # by position


@dataclass(frozen=True)
class SpanTable:
    """All spans of all rows with gold, each array [S]."""

    types: tuple[str, ...]  # T, sorted; "" if tags name no types
    rows: NDArray[np.int64]  # row index
    kinds: NDArray[np.int64]  # index in SPAN_KINDS
    gold: NDArray[np.int64]  # index in `types`, or NONE
    predicted: NDArray[np.int64]

    def select(
        self, kind: SpanKind | None, gold: str | None, predicted: str | None
    ) -> NDArray[np.bool_]:
        """The spans of a kind and of these types, bool [S]; None: any."""
        chosen = np.ones(len(self.rows), dtype=bool)
        if kind is not None:
            chosen &= self.kinds == SPAN_KINDS.index(kind)
        for name, codes in ((gold, self.gold), (predicted, self.predicted)):
            if name is not None:
                chosen &= codes == (self.types.index(name) if name in self.types else NONE - 1)
        return chosen


def rows_with_spans(
    predictions: Predictions,
    kind: SpanKind | None = None,
    gold: str | None = None,
    predicted: str | None = None,
) -> NDArray[np.bool_]:
    """The rows that have a span of this kind and of these types, bool [rows]; None: any."""
    table = span_table(predictions)
    rows = np.zeros(len(predictions), dtype=bool)
    rows[table.rows[table.select(kind, gold, predicted)]] = True
    return rows


@cached_per_table
def span_table(predictions: Predictions) -> SpanTable:
    are_lists = labels_spans(predictions)  # of spans: a row may have none
    spans = [
        (index, pair)
        for index, row in enumerate(details(predictions))
        if row.get("gold") or ("gold" in row and are_lists)
        for pair in _span_pairs(predictions, row)
    ]
    types = tuple(sorted({span.type for _, pair in spans for span in pair if span is not None}))
    codes = {name: index for index, name in enumerate(types)}
    table = np.array(
        [
            (
                row_index,
                SPAN_KINDS.index(pair.kind),
                NONE if pair.gold is None else codes[pair.gold.type],
                NONE if pair.predicted is None else codes[pair.predicted.type],
            )
            for row_index, pair in spans
        ],
        dtype=np.int64,
    ).reshape(-1, 4)
    return SpanTable(types, *table.T)


def row_spans(predictions: Predictions, index: int) -> RowSpans:
    row = details(predictions)[index]
    return RowSpans(tuple(row.get("words") or ()), tuple(_span_pairs(predictions, row)))


def spans_in_row(predictions: Predictions, index: int, cell: str) -> list[Span]:
    """The spans of another cell of a row, by the words that they share characters with."""
    places, found = details(predictions)[index].get("places") or (), list[Span]()
    for start, end, label in read_spans(cell) or ():
        inside = [n for n, (a, b) in enumerate(places) if a < end and start < b]
        if inside:
            found.append(Span(label, inside[0], inside[-1] + 1))
    return found


def list_spans(predictions: Predictions, index: int) -> tuple[str, str]:
    """The true and the predicted spans of a row in words: “Ann Lee (PER), Rome (LOC)”; “–” for
    none."""
    words, pairs = row_spans(predictions, index)
    sides = ([pair.gold for pair in pairs], [pair.predicted for pair in pairs])
    gold, predicted = (
        ", ".join(
            f"{' '.join(words[span.start : span.end])} ({span.type})"
            for span in side
            if span is not None
        )
        for side in sides
    )
    return gold or "–", predicted or "–"


def _span_pairs(predictions: Predictions, row: dict[str, list[Any]]) -> list[SpanPair]:
    gold, predicted = (row.get(side) or () for side in ("gold", "predicted"))
    if labels_spans(predictions):
        return pair_spans([Span(*item) for item in gold], [Span(*item) for item in predicted])
    are_named = tags_name_spans(predictions)
    return pair_spans(_spans(gold, are_named), _spans(predicted, are_named))


@cached_per_table
def tags_name_spans(predictions: Predictions) -> bool:
    """The tags name spans, not classes of words."""
    return labels_spans(predictions) or are_spans(predictions.info.labels)


def labels_spans(predictions: Predictions) -> bool:
    """The details have spans, each a list of label, first word and end, instead of tags."""
    head = TASKS[predictions.info.task].info.head
    return head is not None and head.labels_spans


def _spans(tags: Sequence[str], are_named: bool) -> list[Span]:
    if are_named:
        return spans_from_tags(tags)
    return [Span(tag, position, position + 1) for position, tag in enumerate(tags)]


def pair_spans(gold: Sequence[Span], predicted: Sequence[Span]) -> list[SpanPair]:
    """Pair gold and predicted spans of a row, by position."""
    overlapping = [
        (span, other)
        for span, other in product(gold, predicted)
        if span.start < other.end and other.start < span.end
    ]
    overlapping.sort(key=_closeness)
    used: set[tuple[str, Span]] = set()
    pairs: list[SpanPair] = []
    for left, other in overlapping:
        if ("gold", left) in used or ("predicted", other) in used:
            continue
        used |= {("gold", left), ("predicted", other)}
        pairs.append(SpanPair(left, other))
    pairs += [SpanPair(span, None) for span in gold if ("gold", span) not in used]
    pairs += [SpanPair(None, span) for span in predicted if ("predicted", span) not in used]
    return sorted(pairs, key=_position)


def _closeness(pair: tuple[Span, Span]) -> tuple[bool, bool, int, int, int]:
    gold, predicted = pair
    shared = min(gold.end, predicted.end) - max(gold.start, predicted.start)
    same_ends = gold[1:] == predicted[1:]
    return (not same_ends, gold.type != predicted.type, -shared, gold.start, predicted.start)


def _position(pair: SpanPair) -> tuple[int, int]:
    span = pair.gold or pair.predicted
    assert span is not None
    return (span.start, span.end)
