"""Early stopping, and the choice of the best checkpoint."""

import pytest

from engine.errors import StudioError
from engine.messages.events import Measured, Prepared, Saved
from engine.training import evaluation, loop
from engine.training.loop import train
from tests.engine.training.finished import notes
from tests.engine.training.small import classifying, new_run, tagging, trained


def test_a_run_stops_early_when_its_patience_ends(tmp_path, monkeypatch):
    job = classifying(
        tmp_path, steps=40, evaluate_every=2, early_stopping_patience=3, learning_rate=1e-9
    )
    events: list[object] = []
    run = new_run(tmp_path / "run", job)
    outcome, step = train(job, run, events.append)
    assert outcome == "finished"
    evaluations = [e for e in events if isinstance(e, Measured) and e.name == "validation_accuracy"]
    assert step == 8 and len(evaluations) == 4, "the best one, and three without improvement"
    assert "no better score in the last 3 evaluations" in notes(events)[-1]
    assert run.checkpoint_folders()[-1].name == "step-00000008"

    def fail_on_update(*_: object) -> None:
        raise AssertionError("the run had ended")

    monkeypatch.setattr(loop, "update", fail_on_update)
    assert train(job, run, events.append) == ("finished", 8)


def test_the_chosen_metric_decides(tmp_path, monkeypatch):
    measured = [
        {"accuracy": 0.9, "f1_macro": 0.5, "loss": 0.3},
        {"accuracy": 0.8, "f1_macro": 0.6, "loss": 0.4},
        {"accuracy": 0.9, "f1_macro": 0.6, "loss": 0.3},
        {"accuracy": 1.0, "f1_macro": 0.5, "loss": 0.1},
        {"accuracy": 1.0, "f1_macro": 0.5, "loss": 0.1},
    ]
    monkeypatch.setattr(
        evaluation, "_evaluate_validation", lambda run: (measured[run.progress.step - 1], None)
    )
    settings = {"steps": 9, "evaluate_every": 1, "save_every": 1, "early_stopping_patience": 3}
    job = classifying(tmp_path, **settings, best_metric="f1_macro")
    folder = new_run(tmp_path / "run", job)
    assert train(job, folder, folder.append) == ("finished", 5), "three without a better macro F1"
    events = folder.milestones()
    assert [event.step for event in events if isinstance(event, Saved) and event.best][-1] == 3
    prepared = next(event for event in events if isinstance(event, Prepared))
    assert (prepared.best_metric, prepared.higher_is_better) == ("validation_f1_macro", True)


def test_a_metric_unavailable_for_the_data_is_refused(tmp_path):
    tags = tagging(tmp_path, best_metric="f1")
    text = (tmp_path / "tagged.conll").read_text(encoding="utf-8")
    classes = text.replace("B-", "").replace("I-", "")
    (tmp_path / "tagged.conll").write_text(classes, encoding="utf-8")
    with pytest.raises(StudioError, match="“f1” is not available"):
        train(tags, new_run(tmp_path / "run", tags))


@pytest.mark.parametrize(
    "losses, best",
    [
        ((0.9, 0.7, 0.8), 2),
        ((0.9, 0.9, 0.9), 1),
        ((float("nan"), 0.7, float("nan")), 2),
        ((0.5, float("nan"), 0.6), 1),
    ],
)
def test_equal_scores_are_ranked_by_loss(tmp_path, monkeypatch, losses, best):
    monkeypatch.setattr(
        evaluation,
        "_evaluate_validation",
        lambda run: ({"accuracy": 0.5, "loss": losses[run.progress.step - 1]}, None),
    )
    job = classifying(tmp_path, steps=3, evaluate_every=1, save_every=1)
    folder = trained(tmp_path / "run", job)
    saved = [event for event in folder.milestones() if isinstance(event, Saved) and event.best]
    assert saved[-1].step == best
