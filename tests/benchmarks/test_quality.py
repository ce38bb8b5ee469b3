"""Benchmarks of quality: changed labels, and the report of the first training."""

import numpy as np

from benchmarks.quality.label_errors import change_labels, fraction_found
from benchmarks.quality.sample import summary


def test_five_percent_of_labels_are_changed_and_found():
    true_labels = np.arange(200) % 3
    labels, wrong = change_labels(true_labels, 3, seed=0)
    assert wrong.sum() == 10 and np.array_equal(labels != true_labels, wrong)
    confident = np.eye(3)[true_labels] * 0.9 + 0.1 / 3
    assert fraction_found(confident, labels, wrong) == 1
    assert fraction_found(np.full((200, 3), 1 / 3), labels, np.arange(200) < 10) == 1
    assert fraction_found(np.full((200, 3), 1 / 3), labels, np.arange(200) >= 190) == 0


def test_the_score_is_compared_with_each_baseline():
    baseline = {"name": "Majority", "score": [0.1, 0.05, 0.2], "difference": [0.54, 0.4, 0.6]}
    report = {"intervals": {"accuracy": [0.64, 0.5, 0.7]}, "baselines": [baseline]}
    assert summary(report) == [
        "MiniLM: accuracy 64.0 (50.0 to 70.0)",
        "Majority: 10.0 (5.0 to 20.0); MiniLM is 54.0 (40.0 to 60.0) better",
    ]
