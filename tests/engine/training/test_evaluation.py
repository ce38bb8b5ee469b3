"""Early stopping: a run that does not improve stops, and stays so."""

from pathlib import Path

import pytest

from engine.messages.events import Measured, Saved
from engine.training import evaluation, loop
from engine.training.loop import train
from tests.engine.training.finished import notes
from tests.engine.training.small import classifying, new_run


def test_a_run_stops_early_when_its_patience_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = classifying(
        tmp_path, steps=40, evaluate_every=2, early_stopping_patience=3, learning_rate=1e-9
    )
    told: list[object] = []
    run = new_run(tmp_path / "run", job)
    outcome, step = train(job, run, told.append)
    assert outcome == "finished"
    looks = [e for e in told if isinstance(e, Measured) and e.name == "validation_accuracy"]
    assert step == 8 and len(looks) == 4, (
        "one that is the best so far, and three without improvement"
    )
    assert "no better score in the last 3 evaluations" in notes(told)[-1]
    assert run.checkpoint_folders()[-1].name == "step-00000008"

    def no_step(*_: object) -> None:
        raise AssertionError("it had ended")

    monkeypatch.setattr(loop, "update", no_step)
    assert train(job, run, told.append) == ("finished", 8)


@pytest.mark.parametrize(
    "losses, best",
    [
        ((0.9, 0.7, 0.8), 2),
        ((0.9, 0.9, 0.9), 1),
        ((float("nan"), 0.7, float("nan")), 2),
        ((0.5, float("nan"), 0.6), 1),
    ],
)
def test_of_equal_scores_the_one_with_the_lower_loss_is_best(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    losses: tuple[float, ...],
    best: int,
) -> None:
    monkeypatch.setattr(
        evaluation,
        "_metrics",
        lambda run: {"accuracy": 0.5, "loss": losses[run.progress.step - 1]},
    )
    job = classifying(tmp_path, steps=3, evaluate_every=1, save_every=1)
    folder = new_run(tmp_path / "run", job)
    train(job, folder, folder.append)
    saved = [event for event in folder.milestones() if isinstance(event, Saved) and event.best]
    assert saved[-1].step == best
