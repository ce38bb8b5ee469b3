"""Sorting, searching and exporting rows."""

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa

from engine.results.labels import doubtful_label
from engine.results.measures import main_metric, main_score
from engine.results.predictions import Predictions
from engine.results.row_lists import extremes, mistakes_first, plain_table, rows_with, sort_rows
from tests.engine.results.rows import class_rows, label_rows, new_info, tag_rows


def mixed() -> Predictions:
    """Right; wrong; wrong and more confident; right and less confident; without gold."""
    return class_rows(
        gold=["good", "good", "bad", "bad", None],
        predicted=["good", "bad", "good", "bad", "good"],
        probability=[0.9, 0.6, 0.8, 0.7, 0.99],
        text=["Fine", "fine?", "poor", "POOR", "odd"],
        year=["9", "10", "", "8", "11"],
    )


def test_the_most_confident_mistakes_are_first_and_rows_without_gold_last():
    assert mistakes_first(mixed()).tolist() == [2, 1, 3, 0, 4]


def test_the_largest_residual_of_a_regression_is_first():
    record = {"row": range(3), "gold": ["1", "2", None], "scores": [[1.5], [4.0], [9.0]]}
    predictions = Predictions.from_columns(new_info("regression"), record, {"text": list("abc")})
    assert mistakes_first(predictions).tolist() == [1, 0, 2]


def test_predicted_numbers_are_sorted_as_numbers():
    record = {"row": range(3), "gold": ["10", "9", None], "predicted": ["1e-4", "12.5", "3"]}
    predictions = Predictions.from_columns(new_info("regression"), record, {"text": list("abc")})
    assert sort_rows(predictions, "predicted").tolist() == [0, 2, 1]
    assert sort_rows(predictions, "gold").tolist() == [1, 0, 2]


def test_without_probabilities_mistakes_are_sorted_by_loss():
    predictions = class_rows(["a", "a", "a"], ["b", "a", "b"], labels=("a", "b"), text=["x"] * 3)
    record = predictions.table.set_column(4, "probability", pa.nulls(3, pa.float32()))
    record = record.set_column(5, "loss", pa.array([1.0, 0.5, 3.0], pa.float32()))
    assert mistakes_first(Predictions(predictions.info, record)).tolist() == [2, 0, 1]


def test_numeric_cells_are_sorted_as_numbers_with_empty_ones_last():
    assert sort_rows(mixed(), "cell:year").tolist() == [3, 0, 1, 4, 2]
    assert sort_rows(mixed(), "cell:year", descending=True).tolist() == [4, 1, 0, 3, 2]
    assert sort_rows(mixed(), "probability").tolist() == [1, 3, 2, 0, 4]
    assert sort_rows(mixed(), "gold").tolist() == [2, 3, 0, 1, 4]
    assert sort_rows(mixed(), "cell:text").tolist() == [0, 3, 1, 4, 2]


def test_the_search_covers_cells_and_labels_in_any_case():
    assert np.flatnonzero(rows_with(mixed(), "FINE")).tolist() == [0, 1]
    assert np.flatnonzero(rows_with(mixed(), "bad")).tolist() == [1, 2, 3]
    assert not rows_with(mixed(), "(").any()


def test_a_plain_table_has_cells_and_each_probability():
    table = plain_table(class_rows(["bad"], ["good"], text=["x"], gold_column=["y"]))
    assert table.column_names == [
        *("row", "text", "gold_column", "gold", "predicted", "probability", "score"),
        *("probability of bad", "probability of good"),
    ]
    assert table.to_pylist()[0]["probability of good"] == 1


def test_a_cell_named_like_our_column_is_distinguished():
    record = {"row": [0], "gold": ["a"], "predicted": ["b"]}
    predictions = Predictions.from_columns(
        new_info("text_classification"), record, {"text": ["x"], "gold": ["mine"]}
    )
    table = plain_table(predictions)
    assert (table["gold"].to_pylist(), table["gold 2"].to_pylist()) == (["mine"], ["a"])


def test_the_score_of_classes_is_the_accuracy_of_labelled_rows_with_an_interval():
    assert main_metric(mixed()).name == "accuracy"
    score = main_score(mixed())
    assert score.value == 0.5
    assert score.low < 0.5 < score.high
    assert np.isnan(main_score(class_rows([None], ["good"], text=["x"])).value)


def test_the_score_is_that_of_the_metric_that_chose_the_checkpoint():
    result = mixed()
    chosen = replace(result, info=result.info.model_copy(update={"best_metric": "f1_macro"}))
    assert main_metric(chosen).name == "f1_macro"
    assert main_score(chosen) != main_score(result)
    by_loss = replace(result, info=result.info.model_copy(update={"best_metric": "loss"}))
    assert main_metric(by_loss).name == "accuracy", "a loss is not a metric of rows"


def test_the_score_of_tags_that_name_no_spans_is_the_accuracy():
    details = [{"words": ["a", "b"], "gold": ["DET", "N"], "predicted": ["DET", "V"]}]
    record = {"row": [0], "gold": ["DET N"], "predicted": ["DET V"], "score": [np.nan]}
    record["details"] = [json.dumps(detail) for detail in details]
    tags = new_info("token_classification").model_copy(update={"labels": ("DET", "N", "V")})
    predictions = Predictions.from_columns(tags, record, {"text": ["a b"]})
    assert main_metric(predictions).name == "accuracy"
    assert main_score(predictions).value == 0.5


def test_the_doubtful_label_is_the_wrong_one():
    predictions = class_rows(["good", "bad", None], ["bad", "bad", "good"])
    assert [doubtful_label(predictions, item) for item in range(3)] == ["bad", "bad", "good"]
    several = label_rows([["a"], ["a", "b"], ["a"], []], [["a", "c"], ["a"], ["a"], []], "abc")
    assert [doubtful_label(several, item) for item in range(4)] == ["c", "b", "a", None]
    assert doubtful_label(tag_rows([("Ann", "B-PER", "O")]), 0) is None


def test_extremes_are_disjoint_and_labelled():
    for count, worst, best in [(1, [3], [4]), (2, [3, 0], [4, 2]), (9, None, [])]:
        predictions = class_rows(
            ["good", None, "bad", "bad", "good"],
            ["bad", "good", "bad", "good", "good"],
            probability=np.array([0.6, 0.99, 0.7, 0.8, 0.9]),
        )
        result = extremes(predictions, count)
        assert result[0].tolist() == (worst or [3, 0, 2, 4]) and result[1].tolist() == best
