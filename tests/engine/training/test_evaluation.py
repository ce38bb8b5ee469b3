"""Early stopping: a run that does not improve stops, and stays so."""

from pathlib import Path

import pytest

from engine.messages.events import Measured
from engine.training import loop
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
    assert "no improvement in the last 3 evaluations (best at step 2)" in notes(told)[-1]
    assert run.checkpoint_folders()[-1].name == "step-00000008"

    def no_step(*_: object) -> None:
        raise AssertionError("it had ended")

    monkeypatch.setattr(loop, "update", no_step)
    assert train(job, run, told.append) == ("finished", 8)
