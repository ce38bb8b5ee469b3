"""Span errors of tags: missed, spurious, wrong boundary, wrong type.

S spans of all rows. Spans are those of seqeval; if tags name no spans but a class for each word,
every word is a span. A gold and a predicted span are paired if they share words: first those with
the same ends, then of the same type, then with the largest overlap (error classes of Manning 2006,
“Doing Named Entity Recognition? Don't optimize for F1”).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from engine.data.columns.tags import Span, are_spans, spans_from_tags
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
    """A gold span and the predicted span it is paired with; one may be missing."""

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

    def where(
        self, kind: SpanKind | None, gold: str | None, predicted: str | None
    ) -> NDArray[np.bool_]:
        """The spans of a kind and of these types, bool [S]; None: any."""
        found = np.ones(len(self.rows), dtype=bool)
        if kind is not None:
            found &= self.kinds == SPAN_KINDS.index(kind)
        for wanted, codes in ((gold, self.gold), (predicted, self.predicted)):
            if wanted is not None:
                found &= codes == (self.types.index(wanted) if wanted in self.types else NONE - 1)
        return found


def rows_with_spans(
    predictions: Predictions,
    kind: SpanKind | None = None,
    gold: str | None = None,
    predicted: str | None = None,
) -> NDArray[np.bool_]:
    """The rows that have a span of this kind and of these types, bool [rows]; None: any."""
    table = span_table(predictions)
    found = np.zeros(len(predictions), dtype=bool)
    found[table.rows[table.where(kind, gold, predicted)]] = True
    return found


@cached_per_table
def span_table(predictions: Predictions) -> SpanTable:
    found = [
        (place, pair)
        for place, row in enumerate(details(predictions))
        if row.get("gold")
        for pair in _pairs_of(predictions, row)
    ]
    types = tuple(sorted({one.type for _, pair in found for one in pair if one is not None}))
    codes = {name: number for number, name in enumerate(types)}
    table = np.array(
        [
            (
                place,
                SPAN_KINDS.index(pair.kind),
                NONE if pair.gold is None else codes[pair.gold.type],
                NONE if pair.predicted is None else codes[pair.predicted.type],
            )
            for place, pair in found
        ],
        dtype=np.int64,
    ).reshape(-1, 4)
    return SpanTable(types, *table.T)


def row_spans(predictions: Predictions, place: int) -> RowSpans:
    row = details(predictions)[place]
    return RowSpans(tuple(row.get("words") or ()), tuple(_pairs_of(predictions, row)))


def _pairs_of(predictions: Predictions, row: dict[str, list[str]]) -> list[SpanPair]:
    real = name_spans(predictions)
    return paired(_found(row.get("gold") or (), real), _found(row.get("predicted") or (), real))


@cached_per_table
def name_spans(predictions: Predictions) -> bool:
    """The tags name spans, not classes of words."""
    return are_spans(predictions.info.labels)


def _found(tags: Sequence[str], real: bool) -> list[Span]:
    if real:
        return spans_from_tags(tags)
    return [Span(tag, place, place + 1) for place, tag in enumerate(tags)]


def paired(gold: Sequence[Span], predicted: Sequence[Span]) -> list[SpanPair]:
    """Pair gold and predicted spans of a row, by position."""
    near = [
        (one, other)
        for one, other in product(gold, predicted)
        if one.start < other.end and other.start < one.end
    ]
    near.sort(key=_closeness)
    taken: set[tuple[str, Span]] = set()
    found: list[SpanPair] = []
    for one, other in near:
        if ("gold", one) in taken or ("predicted", other) in taken:
            continue
        taken |= {("gold", one), ("predicted", other)}
        found.append(SpanPair(one, other))
    found += [SpanPair(one, None) for one in gold if ("gold", one) not in taken]
    found += [SpanPair(None, one) for one in predicted if ("predicted", one) not in taken]
    return sorted(found, key=_place)


def _closeness(pair: tuple[Span, Span]) -> tuple[bool, bool, int, int, int]:
    gold, predicted = pair
    shared = min(gold.end, predicted.end) - max(gold.start, predicted.start)
    same_ends = gold[1:] == predicted[1:]
    return (not same_ends, gold.type != predicted.type, -shared, gold.start, predicted.start)


def _place(pair: SpanPair) -> tuple[int, int]:
    one = pair.gold or pair.predicted
    assert one is not None
    return (one.start, one.end)
