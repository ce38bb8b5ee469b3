"""Classes that a good accuracy hides are named, with a job that weighs them."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn import metrics

from engine.config.tasks import TASKS
from engine.documents.card import classes_note
from engine.results.masked_tokens import token_scores, unigram_scores
from engine.results.measures import interval
from engine.results.neglected import macro_f1, neglect, never_predicted, remedy, weights_advice
from tests.engine.results.rows import class_rows, label_rows, masked_tokens, span_rows, tag_rows
from tests.tasks.jobs import JOBS

LABELS = ("a", "b", "c")
GOLD = ["a"] * 20 + ["b"] * 4 + ["c"]
SAID = ["a"] * 20 + ["b"] * 2 + ["a"] * 3  # never “c”
PAIRS = [*zip(GOLD, SAID, strict=True)]
RARE = {
    "text_classification": class_rows(GOLD, SAID, LABELS),
    "pair_classification": class_rows(GOLD, SAID, LABELS, task="pair_classification"),
    "ordinal_classification": class_rows(GOLD, SAID, LABELS, task="ordinal_classification"),
    "hierarchical_classification": class_rows(
        GOLD, SAID, LABELS, task="hierarchical_classification"
    ),
    "multi_label": label_rows([[x] for x in GOLD], [[x] for x in SAID], LABELS),
    "token_classification": tag_rows([("w", f"B-{gold}", f"B-{said}") for gold, said in PAIRS]),
    "span_classification": span_rows([("w", [(x, 0, 1)], [(y, 0, 1)]) for x, y in PAIRS]),
}
KNOWN = dict.fromkeys(RARE, LABELS[:2]) | {"token_classification": ("B-a", "B-b")}


def test_every_task_with_classes_names_those_it_never_predicts_and_a_remedy(tmp_path):
    with_classes = {
        kind for kind, task in TASKS.items() if task.info.head and task.info.head.has_labels
    }
    assert set(RARE) == with_classes
    expected = metrics.f1_score(GOLD, SAID, average="macro", zero_division=0)
    for kind, predictions in RARE.items():
        macro = macro_f1(predictions)
        assert macro is not None and macro.value() == pytest.approx(expected), kind
        score = interval(macro)
        assert 0 <= score.low < score.value < score.high <= 1, kind
        assert never_predicted(predictions) == ("c",), kind
        assert neglect(predictions) == "Never predicted: “c”.", kind
        note = classes_note(predictions)
        assert note.startswith(f"Macro F1 {100 * expected:.1f} % (") and note.endswith("“c”."), kind
        folder = tmp_path / kind
        folder.mkdir()
        job = JOBS[kind](folder).model_copy(update={"task": TASKS[kind](kind=kind)})
        found = remedy(predictions, job)
        assert found is not None and found.adds_weights, kind
        task = found.job.task
        setting = weights_advice(predictions).partition("task.")[2].partition("=")[0]
        assert getattr(task, setting) and not getattr(job.task, setting), kind
        assert found.job == job.model_copy(update={"task": task}), "nothing else is changed"
        longer = remedy(predictions, found.job)
        field = "steps" if job.training.steps else "epochs"
        assert longer is not None and longer.job.task == task and not longer.adds_weights
        assert getattr(longer.job.training, field) == 2 * getattr(job.training, field), kind
        new = replace(predictions, info=predictions.info.model_copy(update={"labels": KNOWN[kind]}))
        assert never_predicted(new) == (), "no class of the model is"
    weights = remedy(RARE["token_classification"], JOBS["token_classification"](tmp_path))
    assert weights is not None and weights.job.task.class_weights == {"b": 5.0, "c": 20.0}


def test_class_weights_are_no_advice_for_a_class_that_the_model_does_not_know():
    found = class_rows(["a", "b"] * 5 + ["c"] * 10, ["a", "b"] * 10, LABELS)
    new = replace(found, info=found.info.model_copy(update={"labels": LABELS[:2]}))
    assert neglect(new) == "Unknown to the model: “c”." and weights_advice(new) == ""


def test_a_gap_is_named_and_a_good_result_is_not(tmp_path):
    gold = ["a"] * 96 + ["b"] * 4
    uneven = class_rows(gold, ["a"] * 97 + ["b"] * 1 + ["a"] * 2, LABELS)
    assert neglect(uneven) == "Some classes are predicted far worse than others."
    good = class_rows(gold, gold, LABELS)
    assert neglect(good) == "" and remedy(good, JOBS["text_classification"](tmp_path)) is None
    unlabelled = class_rows([None] * 3, ["a"] * 3, LABELS)
    assert neglect(unlabelled) == "" and macro_f1(unlabelled) is None
    assert classes_note(masked_tokens()) == ""


def test_masked_tokens_are_compared_with_their_frequencies_alone():
    predictions = masked_tokens()
    loss = predictions.numbers("loss")
    ours, theirs = token_scores(predictions), unigram_scores(predictions)
    assert ours == pytest.approx((0.5, np.exp(loss.mean())), rel=1e-6)
    counts = np.array([2500, 3] * 20)
    p = (counts + 0.5) / (10_000 + 0.5 * 100)
    assert theirs == pytest.approx((0.5, np.exp(-np.log(p).mean())), rel=1e-6)
