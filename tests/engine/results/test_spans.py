"""Span errors, and type scores as in seqeval."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from seqeval.metrics.sequence_labeling import precision_recall_fscore_support

from engine.data.columns.tags import Span
from engine.results.conditions import mask
from engine.results.measures import interval, measures
from engine.results.span_figures import kind_conditions, kind_counts, type_confusion, type_figures
from engine.results.spans import SpanPair, list_spans, pair_spans, row_spans, span_table
from tests.engine.results.rows import tag_rows
from tests.often import tries

tag = st.sampled_from(["O", "B-a", "I-a", "B-b", "I-b"])
row = st.integers(1, 8).flatmap(
    lambda n: st.tuples(*(st.lists(tag, min_size=n, max_size=n) for _ in range(2)))
)


@tries(80)
@given(st.lists(row, min_size=1, max_size=6))
@pytest.mark.filterwarnings("ignore")
def test_type_metrics_equal_those_of_seqeval(rows):
    predictions = tag_rows([("w " * len(a), " ".join(a), " ".join(b)) for a, b in rows], ["B-a"])
    gold, predicted = ([list(side) for side in sides] for sides in zip(*rows, strict=True))
    types = span_table(predictions).types
    if types:
        theirs = precision_recall_fscore_support(gold, predicted, average=None, zero_division=0)
        for item, precision, recall, f1, support in zip(
            type_figures(predictions), *theirs, strict=True
        ):
            assert item.support == support
            assert np.nan_to_num(item.precision.value) == pytest.approx(precision)
            assert np.nan_to_num(item.recall.value) == pytest.approx(recall)
            assert np.nan_to_num(item.f1.value) == pytest.approx(f1)
        theirs = precision_recall_fscore_support(gold, predicted, average="micro", zero_division=0)
        micro = next(measure for measure in measures(predictions) if measure.name == "f1")
        assert np.nan_to_num(interval(micro).value) == pytest.approx(theirs[2])
    counts = kind_counts(predictions)
    table = span_table(predictions)
    assert sum(counts.values()) == len(table.rows)
    confusion = type_confusion(predictions)
    assert confusion.counts.sum() == len(table.rows)
    assert confusion.counts[-1].sum() == counts["spurious"]
    assert confusion.counts[:, -1].sum() == counts["missed"]
    for kind, count in counts.items():
        assert mask(predictions, kind_conditions(kind)).any() == (count > 0)
    for n in range(len(types)):
        for m in range(len(types) + 1):
            assert mask(predictions, confusion.conditions(n, m)).any() == (
                confusion.counts[n, m] > 0
            )
        spurious = confusion.counts[-1, n]
        assert mask(predictions, confusion.conditions(len(types), n)).any() == (spurious > 0)


def test_each_span_has_one_kind_of_error():
    for gold, predicted, kinds in [
        ("B-a I-a O", "B-a I-a O", ["right"]),
        ("B-a I-a O", "B-b I-b O", ["type"]),
        ("B-a I-a O", "B-a O O", ["boundary"]),
        ("B-a I-a O", "O B-b I-b", ["both"]),
        ("B-a O O", "O O O", ["missed"]),
        ("O O O", "O O B-a", ["spurious"]),
        ("B-a I-a I-a", "B-a B-b I-b", ["boundary", "spurious"]),  # the same type comes first
        ("B-a B-a O", "B-a I-a O", ["boundary", "missed"]),
    ]:
        predictions = tag_rows([("x y z", gold, predicted)])
        assert [pair.kind for pair in row_spans(predictions, 0).pairs] == kinds
        assert row_spans(predictions, 0).words == ("x", "y", "z")


def test_spans_with_the_same_ends_are_paired_first():
    gold, predicted = [Span("a", 0, 2)], [Span("a", 1, 2), Span("b", 0, 2)]
    assert pair_spans(gold, predicted) == [
        SpanPair(gold[0], predicted[1]),
        SpanPair(None, predicted[0]),
    ]


def test_tags_that_name_no_spans_are_words_with_a_type():
    predictions = tag_rows([("the dog", "DET NOUN", "DET VERB")])
    assert kind_counts(predictions)["type"] == 1 and kind_counts(predictions)["right"] == 1
    assert span_table(predictions).types == ("DET", "NOUN", "VERB")


def test_rows_without_gold_have_no_errors():
    predictions = tag_rows([("a b", "", "B-a O")])
    assert not len(span_table(predictions).rows)
    assert [pair.kind for pair in row_spans(predictions, 0).pairs] == ["spurious"]


def test_spans_of_a_row_are_listed_in_words():
    rows = [
        ("Ann Lee saw Rome", "B-PER I-PER O B-LOC", "B-PER O O O"),
        ("nothing here", "O O", "O O"),
    ]
    predictions = tag_rows(rows, ["B-PER", "I-PER", "B-LOC"])
    assert list_spans(predictions, 0) == ("Ann Lee (PER), Rome (LOC)", "Ann (PER)")
    assert list_spans(predictions, 1) == ("–", "–")
