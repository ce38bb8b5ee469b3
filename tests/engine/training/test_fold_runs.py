"""Each row is scored by a model that was fine-tuned without it."""

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from engine.config.dataset import Split
from engine.config.training import TrainingSpec
from engine.data.datasets.importing import import_dataset
from engine.data.datasets.store import open_dataset
from engine.files.shipped import minilm
from engine.messages.events import Prepared
from engine.results.out_of_sample import stratified_folds
from engine.results.predictions import read_predictions
from engine.results.store import predictions_file
from engine.runs.folder import RunFolder
from engine.runs.launch import environment
from engine.training import fold_runs
from engine.training.fold_runs import predict_folds


class Stored(NamedTuple):
    """A version of a data set, and a model fine-tuned on it."""

    version: Path
    base: Path
    label: str


@pytest.fixture(scope="module")
def stored(tuned: Any, tmp_path_factory: pytest.TempPathFactory) -> Stored:
    model = tuned("text_classification")
    version = tmp_path_factory.mktemp("stored") / "sentences" / "1"
    split = Split(validation=0.2, test=0.1)
    import_dataset("x", {"all": model.file}, model.reading, model.mapping, split, version)
    return Stored(version, model.checkpoint, model.mapping.label)


@pytest.fixture(scope="module")
def uninterrupted(stored: Stored, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, ...]:
    """The folder of two folds, their probabilities, and the progress calls."""
    folder, calls = tmp_path_factory.mktemp("uninterrupted") / "folds", list[tuple[str, int, int]]()
    args, options = arguments(stored, folder)
    return folder, predict_folds(*args, lambda *call: calls.append(call), **options), calls


def test_each_row_is_scored_by_a_run_trained_without_it(stored, uninterrupted):
    folder, p, progress = uninterrupted
    (data, _, numbers, labels, names, _), _ = arguments(stored, folder)
    assert p.shape == (len(numbers), len(names))
    assert p.sum(axis=1) == pytest.approx(1, abs=1e-5)
    assert progress[-1][1] == progress[-1][2] and str(progress[0][0]).endswith("1 of 2")
    folds, texts = stratified_folds(labels, 2), data.column("text").take(numbers).to_pylist()
    for fold in range(2):
        held_out = open_dataset(folder / f"data-{fold}" / "1")
        assert held_out.spec.rows["validation"] == int((folds == fold).sum())
        assert held_out.spec.rows["test"] == 0
        events = RunFolder(folder / f"run-{fold}").all_events()
        prepared = next(event for event in events if isinstance(event, Prepared))
        assert prepared.examples == int((folds != fold).sum())
        predictions = read_predictions(
            predictions_file(RunFolder(folder / f"run-{fold}").results, "validation")
        )
        assert predictions.cells("text").to_pylist() == [
            texts[n] for n in np.flatnonzero(folds == fold)
        ]
        assert predictions.info.labels == tuple(names)
        assert np.allclose(p[folds == fold], predictions.scores)


SCRIPT_KILLED_HALFWAY = """
import os, signal, sys
from pathlib import Path
import numpy as np
from tests.engine.training.test_fold_runs import Stored, arguments
from engine.training import fold_runs
from engine.training.fold_runs import predict_folds

def report(stage, done, total):
    if done > total // 2 + 1:
        os.kill(os.getpid(), signal.SIGKILL)

version, base, label, scratch = sys.argv[1:]
args, options = arguments(Stored(Path(version), Path(base), label), Path(scratch))
predict_folds(*args, report, **options)
"""


def arguments(stored: Stored, scratch: Path) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments for two folds of a stored version."""
    data = open_dataset(stored.version)
    names = [name for name in data.spec.labels if name]
    numbers = np.flatnonzero(data.splits != 2)
    labels = data.column(stored.label).take(numbers).to_pylist()
    gold = np.array([names.index(label) for label in labels])
    training = TrainingSpec(epochs=1, max_length=16, batch_size=16)
    return (data, stored.base, numbers, gold, names, scratch), {"folds": 2, "training": training}


@pytest.mark.long
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="Windows has no SIGKILL")
def test_killed_fold_runs_are_resumed(stored, uninterrupted, tmp_path):
    folder = tmp_path / "folds"
    args, options = arguments(stored, folder)
    command = [sys.executable, "-c", SCRIPT_KILLED_HALFWAY, *map(str, stored), str(folder)]
    killed = subprocess.run(command, env=environment(), check=False)
    assert killed.returncode == -signal.SIGKILL
    events_file = RunFolder(folder / "run-0").events_file
    assert (folder / "fold-0.npy").exists() and not (folder / "fold-1.npy").exists()
    before = events_file.read_bytes()
    calls: list[int] = []
    result = predict_folds(*args, lambda _, done, __: calls.append(done), **options)
    assert events_file.read_bytes() == before, "the finished fold is not trained again"
    assert np.array_equal(result, uninterrupted[1])


def test_the_fold_cache_depends_on_rows_and_model_and_is_deleted(stored, tmp_path):
    args, _ = arguments(stored, tmp_path)
    cache, requested = tmp_path / "cache", list[Path]()

    def fake_predict(*args: Any) -> Any:
        requested.append(args[5])
        args[5].mkdir(parents=True)
        return args[3]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fold_runs, "predict_folds", fake_predict)
        for base in (stored.base, stored.base, minilm()):
            fold_runs.fold_scorer(args[0], base, cache, lambda *_: None)(*args[2:5])
    assert requested[0] == requested[1] != requested[2] and requested[0].parent == cache
    assert list(cache.iterdir()) == []
