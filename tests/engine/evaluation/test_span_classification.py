"""Metrics of spans equal those of scikit-learn, and of seqeval if they are flat."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from seqeval.metrics.sequence_labeling import precision_recall_fscore_support as seqeval_scores
from sklearn.metrics import precision_recall_fscore_support
from sklearn.preprocessing import MultiLabelBinarizer

from engine.data.columns.tags import Span, spans_from_tags
from engine.evaluation.span_classification import nested_spans, report, row_f1
from tests.engine.evaluation.test_token_classification import tagged_sentences
from tests.often import tries

TYPES = ("LOC", "ORG", "PER")
SPANS = st.builds(
    lambda type_, start, length: Span(type_, start, start + length),
    st.sampled_from(TYPES),
    st.integers(0, 4),
    st.integers(1, 3),
)
ROWS = st.lists(st.tuples(st.sets(SPANS), st.sets(SPANS), st.sets(SPANS)), min_size=1, max_size=6)


def sklearn_scores(gold: list[set[Span]], predicted: list[set[Span]], **how: object) -> list[float]:
    """Precision, recall, F1 of (type, start, end) as labels of rows."""
    binarizer = MultiLabelBinarizer().fit([{span for row in (*gold, *predicted) for span in row}])
    if not len(binarizer.classes_):
        return [0.0, 0.0, 0.0]
    sides = binarizer.transform(gold), binarizer.transform(predicted)
    scores = precision_recall_fscore_support(*sides, average="micro", zero_division=0, **how)
    return list(scores[:3])


def of_type(rows: list[set[Span]], type_: str) -> list[set[Span]]:
    return [{span for span in row if span.type == type_} for row in rows]


@given(ROWS)
@tries(40)
def test_metrics_equal_those_of_scikit_learn(rows):
    gold, predicted = ([row[0] | row[n] for row in rows] for n in (1, 2))
    result = report(gold, predicted)
    assert [result.precision, result.recall, result.f1] == pytest.approx(
        sklearn_scores(gold, predicted)
    )
    for item in result.types:
        sides = of_type(gold, item.type), of_type(predicted, item.type)
        assert [item.precision, item.recall, item.f1] == pytest.approx(sklearn_scores(*sides))
    assert result.f1_macro == pytest.approx(np.mean([i.f1 for i in result.types] or [0]))
    assert result.exact_match == np.mean([a == b for a, b in zip(gold, predicted, strict=True)])
    nested = [
        {a for a in row for b in row if a != b and a.start < b.end and b.start < a.end}
        for row in gold
    ]
    assert nested == [nested_spans(row) for row in gold]
    assert result.nested == sum(map(len, nested))
    for a, b in zip(gold, predicted, strict=True):
        assert row_f1(a, b) == pytest.approx(sklearn_scores([a], [b])[2] if a | b else 1)


@given(tagged_sentences("BIES"))
@tries(20)
def test_metrics_of_flat_spans_equal_those_of_seqeval(rows):
    true, predicted = rows
    result = report(*([[*spans_from_tags(tags)] for tags in side] for side in rows))
    micro = seqeval_scores(true, predicted, average="micro", zero_division=0)
    assert (result.precision, result.recall, result.f1) == pytest.approx(micro[:3], abs=1e-12)
    assert result.nested == 0 and result.f1_nested == 0


def test_nested_spans_are_counted_apart():
    outer, inner, alone = Span("ORG", 0, 3), Span("LOC", 2, 3), Span("LOC", 5, 6)
    result = report([[outer, inner, alone], []], [[outer, alone], []])
    assert (result.f1, result.f1_nested) == (pytest.approx(0.8), 0)  # none predicted is nested
    result = report([[outer, inner, alone]], [[outer, inner]])
    assert (result.f1_nested, result.nested) == (1, 2)
    assert "3 spans, 2 of them nested; 2 found; 2 correct" in result.lines()
    assert report([[outer]], [[alone]]).never_predicted() == ("ORG",)
