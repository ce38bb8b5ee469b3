"""Out-of-sample label probabilities by cross-validation: one fine-tuning run per fold.

Finished folds are kept in a folder, so that an interrupted search resumes.

Shapes: N rows, C classes.
"""

import hashlib
import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.checkpoints.info import checkpoint_info, weight_files
from engine.config.dataset import StoredData
from engine.config.job import FromCheckpoint, JobSpec
from engine.config.recommended import Situation, recommend
from engine.config.training import TrainingSpec
from engine.data.columns.fit import likely_task
from engine.data.datasets.deriving import Edits, derive
from engine.data.datasets.store import Dataset, open_dataset
from engine.data.lengths import lengths_in_dataset
from engine.files.atomic_write import write_file
from engine.files.regular_file import check_regular
from engine.messages.events import Event, Measured, Prepared
from engine.phrases import phrase
from engine.results.out_of_sample import stratified_folds
from engine.results.predictions import read_predictions
from engine.results.store import predictions_file
from engine.runs.folder import RunFolder
from engine.tokenizers.tokenizer import Tokenizer
from engine.training.loop import train

FOLDS = 5
Report = Callable[[str, int, int], None]
Scorer = Callable[[NDArray[np.int64], NDArray[np.int64], list[str]], NDArray[np.float64]]


def fold_scorer(dataset: Dataset, base_model: Path, cache: Path, report: Report) -> Scorer:
    """Return a scorer that fine-tunes the model in `base_model` on five folds.

    A folder in `cache`, specific to these rows and this model, keeps finished folds until all are
    done.
    """

    def score(
        rows: NDArray[np.int64], labels: NDArray[np.int64], names: list[str]
    ) -> NDArray[np.float64]:
        folder = _folder(cache, dataset, base_model)
        p = predict_folds(dataset, base_model, rows, labels, names, folder, report)
        shutil.rmtree(folder)
        return p

    return score


def _folder(cache: Path, dataset: Dataset, base_model: Path) -> Path:
    files = weight_files(base_model)
    fingerprints = [(f.name, f.stat().st_size, f.stat().st_mtime_ns) for f in files]
    key = json.dumps([dataset.identity, str(base_model), fingerprints])
    return cache / hashlib.sha256(key.encode()).hexdigest()[:32]


def predict_folds(
    dataset: Dataset,
    base_model: Path,
    rows: NDArray[np.int64],
    labels: NDArray[np.int64],
    names: list[str],
    scratch: Path,
    report: Report,
    folds: int = FOLDS,
    training: TrainingSpec | None = None,
) -> NDArray[np.float64]:
    """Out-of-sample probabilities of each class for each row, float64 [N, C].

    For each fold, the model in `base_model` is fine-tuned on all other rows with the recommended
    settings or with `training`; its best checkpoint predicts the rows of the fold.

    Args:
        rows: int64 [N], rows of the data set, ascending.
        labels: int64 [N], index of their label in `names`.
        scratch: folder for data and checkpoints; a repeated call continues there.

    Raises StudioError if a run cannot be trained.
    """
    row_folds, probabilities = stratified_folds(labels, folds), np.zeros((len(labels), len(names)))
    for fold in range(folds):
        held_out, file = np.flatnonzero(row_folds == fold), scratch / f"fold-{fold}.npy"
        if not file.exists():
            folder = scratch / f"data-{fold}" / "1"
            data = _derive_data(dataset, folder, rows, set(held_out.tolist()))
            run = _open(scratch / f"run-{fold}", data, base_model, training)
            with run.lock():
                train(run.job(), run, _handler(run, report, fold, folds))
            content = io.BytesIO()
            np.save(content, _scores(run, len(held_out), names))
            write_file(file, content.getvalue())
        probabilities[held_out] = np.load(check_regular(file), allow_pickle=False)
    return probabilities


def _open(path: Path, data: Dataset, base_model: Path, training: TrainingSpec | None) -> RunFolder:
    """Return the existing run, or create it; a folder without a job is replaced."""
    if not RunFolder(path).spec_file.exists():
        if path.exists():
            shutil.rmtree(path)
        return RunFolder.create(path, _job(data, base_model, training))
    return RunFolder(path)


def _scores(run: RunFolder, count: int, names: list[str]) -> NDArray[np.float64]:
    """Validation probabilities of the best checkpoint, float64 [count, C]."""
    predictions = read_predictions(predictions_file(run.results, "validation"))
    scores = np.zeros((count, len(names)))
    columns = np.array([names.index(label) for label in predictions.info.labels])
    scores[np.ix_(predictions.numbers("row").astype(np.int64), columns)] = predictions.scores
    return scores


def _derive_data(
    dataset: Dataset, folder: Path, rows: NDArray[np.int64], held_out: set[int]
) -> Dataset:
    """Derive a data set with these rows only; held-out rows are for validation."""
    target = dataset.spec.mapping.label
    if folder.exists():
        return open_dataset(folder).with_target(target)
    edits = Edits(
        dropped=set(range(len(dataset))) - set(rows.tolist()),
        splits={
            row: "validation" if index in held_out else "train"
            for index, row in enumerate(rows.tolist())
        },
    )
    folder.parent.mkdir(parents=True, exist_ok=True)
    derive(dataset.folder, folder, 1, edits=edits)
    return open_dataset(folder).with_target(target)


def _job(data: Dataset, base_model: Path, training: TrainingSpec | None) -> JobSpec:
    task = likely_task(data.spec.mapping, data.spec.labels)
    if training is None:
        lengths = lengths_in_dataset(data, Tokenizer.from_folder(base_model))
        situation = Situation(
            task=type(task).info,
            network=checkpoint_info(base_model),
            rows=data.spec.rows["train"],
            typical_length=lengths.percentile_99 if lengths is not None else 0,
        )
        training = recommend(situation).training
    return JobSpec(
        name="fold",
        task=task,
        base_model=FromCheckpoint(path=base_model),
        data=StoredData(folder=data.folder, target=data.spec.mapping.label),
        training=training,
    )


def _handler(run: RunFolder, report: Report, fold: int, folds: int) -> Callable[[Event], None]:
    """Return an event handler that records events and reports progress over all folds."""
    stage, steps = phrase("Fine-tuning for fold {n} of {folds}", n=fold + 1, folds=folds), 0

    def on_event(event: Event) -> None:
        nonlocal steps
        run.append(event)
        if isinstance(event, Prepared):
            steps = event.steps
        elif isinstance(event, Measured) and event.name == "loss" and steps:
            report(stage, fold * steps + event.step, folds * steps)

    return on_event
