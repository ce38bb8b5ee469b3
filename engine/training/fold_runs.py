"""Probabilities of labels from the model itself: one run for each fold, which never sees its rows.

Shapes: N rows, C classes.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from engine.checkpoints.info import checkpoint_info
from engine.data.columns.fit import likely_task
from engine.data.datasets.deriving import Edits, derive
from engine.data.datasets.store import Dataset, open_dataset
from engine.data.lengths import lengths_in_dataset
from engine.messages.events import Event, Measured, Prepared
from engine.phrases import phrase
from engine.results.out_of_sample import FOLDS, folds_of
from engine.results.predictions import read_predictions
from engine.results.store import file_of
from engine.runs.folder import RunFolder
from engine.spec.dataset import StoredData
from engine.spec.job import FromCheckpoint, JobSpec
from engine.spec.recommended import Situation, recommended
from engine.spec.training import TrainingSpec
from engine.tokenizers.tokenizer import Tokenizer
from engine.training.loop import train

Tell = Callable[[str, int, int], None]


def probabilities_of_fold_runs(
    dataset: Dataset,
    base: Path,
    numbers: NDArray[np.int64],
    given: NDArray[np.int64],
    names: list[str],
    scratch: Path,
    tell: Tell,
    folds: int = FOLDS,
    training: TrainingSpec | None = None,
) -> NDArray[np.float64]:
    """The probability of each class for each row, float64 [N, C], of fine-tuned models.

    The model in `base` is fine-tuned once for each fold on the rows of all others, with the
    recommended settings or with `training`; the best checkpoint by the fold's rows answers for
    them.

    Args:
        numbers: int64 [N], the rows of the data set, in rising order.
        given: int64 [N], the number of their label among the `names`.
        scratch: a folder for data and checkpoints, which is left as it is.

    Raises StudioError where a run cannot be trained.
    """
    fold_of, found = folds_of(given, folds), np.zeros((len(given), len(names)))
    for fold in range(folds):
        held_out = np.flatnonzero(fold_of == fold)
        data = _version(dataset, scratch / f"data-{fold}" / "1", numbers, set(held_out.tolist()))
        job = _job(data, base, training)
        run = RunFolder.create(scratch / f"run-{fold}", job)
        train(job, run, _heard(run, tell, fold, folds))
        said = read_predictions(file_of(run.results, "validation"))
        columns = np.array([names.index(label) for label in said.facts.labels])
        rows = held_out[said.numbers("row").astype(np.int64)]
        found[np.ix_(rows, columns)] = said.scores
    return found


def _version(
    dataset: Dataset, into: Path, numbers: NDArray[np.int64], held_out: set[int]
) -> Dataset:
    """The rows alone; those that are held out are for validation."""
    edits = Edits(
        dropped=set(range(len(dataset))) - set(numbers.tolist()),
        splits={
            number: "validation" if place in held_out else "train"
            for place, number in enumerate(numbers.tolist())
        },
    )
    into.parent.mkdir(parents=True)
    derive(dataset.folder, into, 1, dataset.spec.mapping, edits=edits)
    return open_dataset(into)


def _job(data: Dataset, base: Path, training: TrainingSpec | None) -> JobSpec:
    task = likely_task(data.spec.mapping, data.spec.labels)
    if training is None:
        lengths = lengths_in_dataset(data, Tokenizer.from_folder(base))
        situation = Situation(
            task=type(task).facts,
            network=checkpoint_info(base),
            rows=data.spec.rows["train"],
            typical_length=lengths.typical if lengths is not None else 0,
        )
        training = recommended(situation).training
    return JobSpec(
        name="fold",
        task=task,
        base_model=FromCheckpoint(path=base),
        data=StoredData(folder=data.folder),
        training=training,
    )


def _heard(run: RunFolder, tell: Tell, fold: int, folds: int) -> Callable[[Event], None]:
    """Writes the events of a run, and tells how many steps of all folds are done."""
    stage, steps = phrase("Fine-tuning for fold {n} of {folds}", n=fold + 1, folds=folds), 0

    def hear(event: Event) -> None:
        nonlocal steps
        run.append(event)
        if isinstance(event, Prepared):
            steps = event.steps
        elif isinstance(event, Measured) and event.name == "loss" and steps:
            tell(stage, fold * steps + event.step, folds * steps)

    return hear
