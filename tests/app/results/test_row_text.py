"""One row in full."""

from app.results.rows_model import columns_of
from app.results.rows_view import row_lines
from engine.results.predictions import Predictions
from tests.engine.results.made import facts, tagged


def lines(predictions: Predictions, place: int = 0) -> list[str]:
    return list(row_lines(predictions, columns_of(predictions), place))


def test_gold_and_predicted_spans_are_below_one_another() -> None:
    made = tagged([("Ann Lee saw Rome", "B-PER I-PER O B-LOC", "B-PER O O B-ORG")])
    assert lines(made) == [
        "text: Ann Lee saw Rome",
        "Gold: [Ann Lee PER] saw [Rome LOC]",
        "Predicted: [Ann PER] Lee saw [Rome ORG]",
    ]


def test_the_best_answers_are_listed_with_gold() -> None:
    record = {
        "row": [0],
        "gold": ["Rome"],
        "predicted": ["Bern"],
        "score": [0.0],
        "details": [
            '{"gold":["Rome"],"exact":0,"null":0.1,"best":[["Bern",0,4,0.6],["Rome",5,9,0.3]]}'
        ],
    }
    made = Predictions.of(facts("question_answering"), record, {"text": ["Where?"]})
    assert lines(made) == [
        "text: Where?",
        "Gold: Rome",
        "Predicted: Bern",
        "Best answers: Bern 60.0 % · Rome 30.0 %",
    ]


def test_predicted_numbers_are_rounded_and_gold_ones_are_not() -> None:
    record = {"row": [0], "gold": ["2.75"], "predicted": ["3.1415927"], "scores": [[3.1415927]]}
    made = Predictions.of(facts("regression"), record, {"text": ["Where?"]})
    assert lines(made) == ["text: Where?", "Gold: 2.75", "Predicted: 3.142"]
