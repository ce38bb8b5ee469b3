"""Each row is scored by a model that was fine-tuned without it."""

from pathlib import Path

import numpy as np
import pytest

from engine.data.datasets.store import import_dataset, open_dataset
from engine.messages.events import Prepared
from engine.results.out_of_sample import folds_of
from engine.results.predictions import read_predictions
from engine.results.store import file_of
from engine.runs.folder import RunFolder
from engine.spec.dataset import Split
from engine.spec.training import TrainingSpec
from engine.training.fold_runs import probabilities_of_fold_runs
from tests.engine.fine_tuned import fine_tuned


def test_every_row_is_scored_by_a_run_that_did_not_see_it(tmp_path: Path) -> None:
    made = fine_tuned(tmp_path, "text_classification")
    into = tmp_path / "sentences" / "1"
    split = Split(validation=0.2, test=0.1)
    import_dataset("x", {"all": made.file}, made.reading, made.mapping, split, into)
    data = open_dataset(into)
    names = [name for name in data.spec.labels if name]
    numbers = np.flatnonzero(data.splits != 2)
    labels = data.column(made.mapping.label).take(numbers).to_pylist()
    given = np.array([names.index(label) for label in labels])
    told: list[tuple[str, int, int]] = []
    p = probabilities_of_fold_runs(
        *(data, made.checkpoint, numbers, given, names, tmp_path / "folds"),
        lambda *said: told.append(said),
        folds=2,
        training=TrainingSpec(epochs=1, max_length=16, batch_size=16),
    )
    assert p.shape == (len(numbers), len(names))
    assert p.sum(axis=1) == pytest.approx(1, abs=1e-5)
    assert told[-1][1] == told[-1][2] and str(told[0][0]).endswith("1 of 2")
    folds, texts = folds_of(given, 2), data.column("text").take(numbers).to_pylist()
    for fold in range(2):
        held_out = open_dataset(tmp_path / "folds" / f"data-{fold}" / "1")
        assert held_out.spec.rows["validation"] == int((folds == fold).sum())
        assert held_out.spec.rows["test"] == 0
        events = RunFolder(tmp_path / "folds" / f"run-{fold}").every_event()
        prepared = next(event for event in events if isinstance(event, Prepared))
        assert prepared.examples == int((folds != fold).sum())
        kept = read_predictions(
            file_of(RunFolder(tmp_path / "folds" / f"run-{fold}").results, "validation")
        )
        assert kept.cells("text").to_pylist() == [texts[n] for n in np.flatnonzero(folds == fold)]
        assert kept.facts.labels == tuple(names)
        assert np.allclose(p[folds == fold], kept.scores)
