"""Metrics of pre-training, from sums."""

from engine.evaluation.pretraining import report


def test_sums_become_means():
    result = report(8, 16.0, 2, 6, 4, 2.0, 3)
    assert result.metrics() == {
        "loss": 2.5,
        "loss_mlm": 2.0,
        "loss_nsp": 0.5,
        "accuracy": 0.25,
        "top5": 0.75,
        "nsp_accuracy": 0.75,
        "examples": 8,
    }


def test_without_pairs_the_loss_is_that_of_the_tokens():
    assert report(4, 6.0, 1, 2).metrics() == {
        "loss": 1.5,
        "accuracy": 0.25,
        "top5": 0.5,
        "examples": 4,
    }


def test_no_examples_give_zeros():
    for metric in ["loss", "accuracy", "top5"]:
        assert report(0, 0.0, 0, 0).metrics()[metric] == 0
