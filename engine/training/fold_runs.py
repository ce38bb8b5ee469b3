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


def fold_scorer(dataset: Dataset, base: Path, cache: Path, report: Report) -> Scorer:
    """Return a scorer that fine-tunes the model in `base` on five folds.

    A folder in `cache`, specific to these rows and this model, keeps finished folds until all are
    done.
    """

    def score(
        numbers: NDArray[np.int64], given: NDArray[np.int64], names: list[str]
    ) -> NDArray[np.float64]:
        folder = _folder(cache, dataset, base)
        p = probabilities_of_fold_runs(dataset, base, numbers, given, names, folder, report)
        shutil.rmtree(folder)
        return p

    return score


def _folder(cache: Path, dataset: Dataset, base: Path) -> Path:
    facts = [
        (file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in weight_files(base)
    ]
    known = json.dumps([dataset.spec.fingerprint, str(base), facts])
    return cache / hashlib.sha256(known.encode()).hexdigest()[:32]


def probabilities_of_fold_runs(
    dataset: Dataset,
    base: Path,
    numbers: NDArray[np.int64],
    given: NDArray[np.int64],
    names: list[str],
    scratch: Path,
    report: Report,
    folds: int = FOLDS,
    training: TrainingSpec | None = None,
) -> NDArray[np.float64]:
    """Out-of-sample probabilities of each class for each row, float64 [N, C].

    For each fold, the model in `base` is fine-tuned on all other rows with the recommended settings
    or with `training`; its best checkpoint predicts the rows of the fold.

    Args:
        numbers: int64 [N], rows of the data set, ascending.
        given: int64 [N], index of their label in `names`.
        scratch: folder for data and checkpoints; a repeated call continues there.

    Raises StudioError if a run cannot be trained.
    """
    fold_of, probabilities = stratified_folds(given, folds), np.zeros((len(given), len(names)))
    for fold in range(folds):
        held_out, file = np.flatnonzero(fold_of == fold), scratch / f"fold-{fold}.npy"
        if not file.exists():
            folder = scratch / f"data-{fold}" / "1"
            data = _version(dataset, folder, numbers, set(held_out.tolist()))
            run = _run(scratch / f"run-{fold}", data, base, training)
            with run.lock():
                train(run.job(), run, _emitter(run, report, fold, folds))
            written = io.BytesIO()
            np.save(written, _scores(run, len(held_out), names))
            write_file(file, written.getvalue())
        probabilities[held_out] = np.load(check_regular(file), allow_pickle=False)
    return probabilities


def _run(path: Path, data: Dataset, base: Path, training: TrainingSpec | None) -> RunFolder:
    """Return the existing run, or a new one; an incomplete one is replaced."""
    if not RunFolder(path).spec_file.exists():
        if path.exists():
            shutil.rmtree(path)
        return RunFolder.create(path, _job(data, base, training))
    return RunFolder(path)


def _scores(run: RunFolder, rows: int, names: list[str]) -> NDArray[np.float64]:
    """Validation probabilities of the best checkpoint, float64 [rows, C]."""
    predictions, scores = (
        read_predictions(predictions_file(run.results, "validation")),
        np.zeros((rows, len(names))),
    )
    columns = np.array([names.index(label) for label in predictions.info.labels])
    scores[np.ix_(predictions.numbers("row").astype(np.int64), columns)] = predictions.scores
    return scores


def _version(
    dataset: Dataset, into: Path, numbers: NDArray[np.int64], held_out: set[int]
) -> Dataset:
    """Derive a data set with these rows only; held-out rows are for validation."""
    if into.exists():
        return open_dataset(into)
    edits = Edits(
        dropped=set(range(len(dataset))) - set(numbers.tolist()),
        splits={
            number: "validation" if index in held_out else "train"
            for index, number in enumerate(numbers.tolist())
        },
    )
    into.parent.mkdir(parents=True, exist_ok=True)
    derive(dataset.folder, into, 1, dataset.spec.mapping, edits=edits)
    return open_dataset(into)


def _job(data: Dataset, base: Path, training: TrainingSpec | None) -> JobSpec:
    task = likely_task(data.spec.mapping, data.spec.labels)
    if training is None:
        lengths = lengths_in_dataset(data, Tokenizer.from_folder(base))
        situation = Situation(
            task=type(task).info,
            network=checkpoint_info(base),
            rows=data.spec.rows["train"],
            typical_length=lengths.typical if lengths is not None else 0,
        )
        training = recommend(situation).training
    return JobSpec(
        name="fold",
        task=task,
        base_model=FromCheckpoint(path=base),
        data=StoredData(folder=data.folder),
        training=training,
    )


def _emitter(run: RunFolder, report: Report, fold: int, folds: int) -> Callable[[Event], None]:
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
