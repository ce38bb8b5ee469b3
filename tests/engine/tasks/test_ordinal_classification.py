"""Ordered labels: order, probabilities, loss, metrics; all other laws iterate over the tasks."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from sklearn.metrics import cohen_kappa_score, mean_absolute_error

from engine.config.dataset import Mapping
from engine.config.tasks import ORDINAL, TASKS
from engine.config.tasks.ordinal_classification import OrdinalClassification
from engine.data.columns.fit import likely_task, task_problems
from engine.data.columns.scales import order_labels, order_note
from engine.data.datasets.rows import Rows
from engine.errors import StudioError
from engine.evaluation.ordinal_classification import report
from engine.models.heads import ordinal_logits
from engine.results.measures import measures
from engine.tasks.ordinal_classification import OrdinalClassificationLearner, median_labels
from tests.engine.results.rows import class_rows

ORDERS = (
    ("1", "2", "3", "4", "5"),
    ("-2", "-1", "0", "1", "2"),
    ("1 star", "2 stars", "10 stars"),
    ("1 – not at all", "2", "3 – very much"),
    ("0,5", "1", "1,5"),
    ("Strongly disagree", "Disagree", "Neither agree nor disagree", "Agree", "Strongly Agree"),
    ("very-negative", "negative", "neutral", "positive", "very-positive"),
    ("never", "sometimes", "always"),
    ("mild", "moderate", "severe"),
)
NO_ORDERS = (("sports", "world", "business"), ("agree", "positive", "5"), ("1 a", "1 b", "2"), ())


def test_labels_are_ordered_by_their_numbers_or_as_a_known_scale():
    for labels in ORDERS:
        assert order_labels(sorted(labels)) == labels
        note = order_note(sorted(labels))
        assert f"from “{labels[0]}” to “{labels[-1]}”" in str(note)
    for labels in NO_ORDERS:
        assert order_labels(labels) == () and order_note(labels) is None
    assert order_note(["0", "1", "2"]) is None, "ids of classes"
    mapping = Mapping(text="text", label="label")
    assert likely_task(mapping, dict.fromkeys(ORDERS[0], 9)).kind != ORDINAL, "never silently"
    unknown = dict.fromkeys(NO_ORDERS[0], 9)
    (problem,) = task_problems(("text", "label"), mapping, OrdinalClassification(), unknown)
    assert "The order of the labels is not known: “sports”" in str(problem)
    listed = OrdinalClassification(labels=("world", "sports", "business"))
    assert not task_problems(("text", "label"), mapping, listed, unknown)
    rows = Rows(["a"] * 3, labels=[*NO_ORDERS[0]])
    with pytest.raises(StudioError, match="order of the labels is not known"):
        OrdinalClassificationLearner(OrdinalClassification()).fit_labels(rows)
    learner = OrdinalClassificationLearner(listed)
    learner.fit_labels(rows)
    assert learner.labels == listed.labels and TASKS[ORDINAL] is OrdinalClassification


def test_the_cross_entropy_is_the_loss_of_corn():
    """The loss of Shi et al. 2023 is the sum over steps of the binary cross-entropy of the rows
    that reach them; theirs divides by the number of row and step."""
    generator = torch.Generator().manual_seed(1)
    outputs = torch.randn(64, 5, generator=generator).mul(3).requires_grad_()
    targets = torch.randint(0, 5, (64,), generator=generator)
    log_p = ordinal_logits(outputs)
    assert torch.allclose(log_p.exp().sum(1), torch.ones(64))
    ours = F.cross_entropy(log_p, targets, reduction="sum")
    theirs, count = torch.zeros(()), 0
    for step in range(4):  # as corn_loss of coral-pytorch 1.4.0
        reached = targets > step - 1
        higher = (targets > step).float()[reached]
        logits = outputs[:, 1 + step][reached]
        theirs = (
            theirs
            - (F.logsigmoid(logits) * higher + (F.logsigmoid(logits) - logits) * (1 - higher)).sum()
        )
        count += int(reached.sum())
    assert ours.item() == pytest.approx(theirs.item(), rel=1e-5)
    ours.backward()
    assert outputs.grad is not None and (outputs.grad[:, 0] == 0).all()
    chained = outputs.detach()[:, 1:].sigmoid().cumprod(1)  # as corn_label_from_logits
    expected = (chained > 0.5).sum(1).numpy()
    assert (median_labels(log_p.detach().numpy()) == expected).all()
    assert torch.isfinite(ordinal_logits(torch.tensor([[0.0, 300.0, -300.0]]))).all()


def test_kappa_and_error_equal_those_of_scikit_learn():
    rng = np.random.default_rng(2)
    names = ("1", "2", "3", "4", "5")
    for shift in (0, 1, 4):
        gold = rng.integers(0, 5, 200)
        predicted = np.clip(gold + rng.integers(-shift, shift + 1, 200), 0, 4)
        logits = np.log(np.full((200, 5), 0.2))
        got = report(logits, gold, names, predicted)
        kappa = cohen_kappa_score(gold, predicted, weights="quadratic")
        assert got.quadratic_kappa == pytest.approx(kappa, abs=1e-12)
        assert got.mean_absolute_error == pytest.approx(mean_absolute_error(gold, predicted))
        rows = class_rows(
            [names[n] for n in gold], [names[n] for n in predicted], names, task=ORDINAL
        )
        stored = {measure.name: measure.value() for measure in measures(rows)}
        assert stored["quadratic_kappa"] == pytest.approx(kappa, abs=1e-12)
        assert stored["mean_absolute_error"] == pytest.approx(got.mean_absolute_error)
    same = report(np.zeros((2, 5)), [1, 1], names, np.array([1, 1]))
    assert same.quadratic_kappa == 0 and same.mean_absolute_error == 0
    unknown = report(np.zeros((2, 2)), [1, 2], ("1", "2", "9"), np.array([1, 1]))
    assert unknown.mean_absolute_error == 0, "a label that the model does not know is on no scale"
