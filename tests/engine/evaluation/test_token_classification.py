"""Span metrics equal those of seqeval."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from seqeval.metrics import accuracy_score
from seqeval.metrics.sequence_labeling import precision_recall_fscore_support

from engine.data.columns.tags import UnknownTag
from engine.evaluation.token_classification import report
from tests.often import tries

TYPES = ("LOC", "ORG", "PER")


def tagged_sentences(marks: str) -> st.SearchStrategy[tuple[list[list[str]], list[list[str]]]]:
    """Sentences with gold and predicted tags, often equal."""
    tags = ["O", *(f"{mark}-{type_}" for mark in marks for type_ in TYPES)]
    tag = st.sampled_from(tags)
    token = st.one_of(tag.map(lambda x: (x, x)), st.tuples(tag, tag))
    sentence = st.lists(token, min_size=1, max_size=10)
    return st.lists(sentence, min_size=1, max_size=8).map(
        lambda rows: ([[a for a, _ in row] for row in rows], [[b for _, b in row] for row in rows])
    )


@given(tagged_sentences("BIES"))
@tries(100)
def test_metrics_equal_those_of_seqeval(rows):
    true, predicted = rows
    result, seqeval_scores = report(true, predicted), precision_recall_fscore_support
    micro = seqeval_scores(true, predicted, average="micro", zero_division=0)
    assert (result.precision, result.recall, result.f1) == pytest.approx(micro[:3], abs=1e-12)
    per_type = seqeval_scores(true, predicted, average=None, zero_division=0)
    ours = [(item.precision, item.recall, item.f1, item.support) for item in result.types]
    assert np.allclose(np.array(ours).reshape(-1, 4), np.transpose(per_type), rtol=0, atol=1e-12)
    assert result.accuracy == pytest.approx(accuracy_score(true, predicted), abs=1e-12)
    assert result.sentences == len(true) and result.tokens == sum(map(len, true))


def test_types_are_sorted_and_named():
    result = report([["B-b", "B-a", "O"]], [["B-b", "O", "B-c"]])
    assert [(item.type, item.support, item.f1) for item in result.types] == [
        ("a", 1, 0),
        ("b", 1, 1),
        ("c", 0, 0),
    ]
    assert json.loads(json.dumps(result.to_json()))["types"][1]["type"] == "b"


def test_a_span_with_a_wrong_end_is_wrong():
    result = report([["B-a", "I-a", "O"]], [["B-a", "O", "O"]])
    assert (result.precision, result.recall, result.f1) == (0, 0, 0)
    assert result.accuracy == pytest.approx(2 / 3)


def test_no_examples_give_zeros():
    for sentences in ([], [[]], [["O"]]):
        result = report(sentences, sentences)
        assert (result.precision, result.recall, result.f1, result.types) == (0, 0, 0, ())


def test_incomparable_inputs_are_refused():
    with pytest.raises(ValueError, match="zip"):
        report([["O"]], [["O", "O"]])
    with pytest.raises(ValueError, match="zip"):
        report([["O"]], [])
    with pytest.raises(UnknownTag):
        report([["O"]], [["X-a"]])
