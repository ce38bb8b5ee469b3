"""Groups partition the rows, and their scores are means."""

import numpy as np
import pytest

from engine.results.conditions import mask
from engine.results.groups import (
    by_column,
    by_figure,
    by_first_word,
    by_label,
    by_width,
    group,
    groups,
    row_scores,
)
from engine.results.predictions import Predictions
from engine.results.row_figures import figure
from tests.engine.results.rows import class_rows, new_info

QUESTIONS = ["Who won?", "¿who else", "When", "  what now", "", "4 or 5?"]
REVIEWS = class_rows(
    ["good", "bad", "good", "bad", None, "good"],
    ["good", "good", "good", "bad", "bad", "bad"],
    text=QUESTIONS,
    file=["a", "a", "b", "b", "b", "c"],
)


def test_groups_by_a_number_partition_the_rows():
    rng = np.random.default_rng(0)
    predictions = class_rows(
        ["good"] * 100, ["good"] * 100, text=["x " * n for n in rng.integers(0, 9, 100)]
    )
    for by in (by_figure(predictions, "words"), by_width(predictions, "words", 5)):
        rows = np.array([mask(predictions, item) for item in by])
        assert (rows.sum(axis=0) == 1).all()
    assert by_width(predictions, "loss", 5) == by_figure(predictions, "loss") == ()
    same = class_rows(["good"] * 3, ["good"] * 3, text=["x"] * 3)
    assert [group.count for group in groups(same, by_figure(same, "words"))] == [3]


def test_groups_by_values_words_and_labels():
    by_file = groups(REVIEWS, by_column(REVIEWS, "file"))
    assert [(item.count, item.score.value) for item in by_file] == [(3, 1), (2, 0.5), (1, 0)]
    assert [str(item.name) for item in by_file] == [
        "“file” is “b”",
        "“file” is “a”",
        "“file” is “c”",
    ]
    by_word = groups(REVIEWS, by_first_word(REVIEWS, "text"))
    assert {str(item.name): item.count for item in by_word} == {
        "“text” begins with “who”": 2,
        "“text” begins with “when”": 1,
        "“text” begins with “what”": 1,
        "“text” begins with “4”": 1,
    }
    labels = groups(REVIEWS, by_label(REVIEWS))
    assert [(label.count, label.score.value) for label in labels] == [
        (2, 0.5),
        (3, pytest.approx(2 / 3)),
    ]
    assert not by_column(class_rows(["good"] * 2, ["good"] * 2, text=["a", "a"]), "text")
    many = class_rows(["good"] * 30, ["good"] * 30, text=[str(n) for n in range(30)])
    assert not by_column(many, "text")


def test_regression_rows_are_scored_by_their_error():
    predictions = Predictions.from_columns(
        new_info("regression"),
        {"row": range(3), "gold": ["1", "2,5", None], "predicted": ["1.5", "2.5", "0"],
         "scores": [[1.5], [2.5], [0.0]]},
        {},
    )  # fmt: skip
    scores = row_scores(predictions)
    np.testing.assert_allclose(scores.values, [0.5, 0, np.nan])
    assert not scores.higher_is_better and not scores.is_binary
    assert group(predictions, ()).score.value == pytest.approx(0.25)
    assert row_scores(REVIEWS).is_binary


def test_choices_are_grouped_by_position_and_margin():
    scores = [[0.9, 0.1], [0.6, 0.4], [0.5, 0.5], [0.2, 0.8]]
    predictions = class_rows(["0", "1", "1", "1"], ["0", "0", "0", "1"], ("0", "1"), scores)
    by = groups(predictions, by_label(predictions))
    assert [(item.count, item.score.value) for item in by] == [(1, 1), (3, pytest.approx(1 / 3))]
    np.testing.assert_allclose(figure(predictions, "margin"), [0.8, 0.2, 0, 0.6], atol=1e-6)
    margins = groups(predictions, by_figure(predictions, "margin", 2))
    assert [(margin.count, margin.score.value) for margin in margins] == [(2, 0), (2, 1)]
