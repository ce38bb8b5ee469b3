"""What the best network so far says of each validation row, kept beside its checkpoint.

It is written as soon as a network proves to be the best, from the very answers that showed it: so
nothing is computed twice, a stop waits for nothing, and after a crash the file is there.
"""

import traceback
from collections.abc import Mapping

from engine.phrases import Phrase, phrase
from engine.results.store import file_of
from engine.system.errors import explained
from engine.system.terminal import remark
from engine.tasks.learner import PredictionCollector
from engine.tasks.pretraining import PretrainingMetrics
from engine.tasks.row_predictions import Origin, build_predictions
from engine.tasks.token_rows import MAPPING
from engine.training.training_run import TrainingRun

Predicted = PredictionCollector | PretrainingMetrics


def keep_predictions(run: TrainingRun, predicted: Predicted, metrics: Mapping[str, float]) -> None:
    """Write the predictions for the validation rows at the present step.

    The run goes on where that fails: a note says so, and no older predictions stay where they can
    be removed.
    """
    try:
        _write(run, predicted, metrics)
    except Exception as error:  # noqa: BLE001 (no run ends for what can be made again)
        left = _remove_older(run)
        understood = explained(error)
        if understood is None:
            remark(*traceback.format_exc().splitlines())
        run.context.note(
            phrase(
                "The predictions for the validation rows at step {step} could not be kept: "
                "{error} To make them later: bert-studio evaluate --run FOLDER",
                step=run.progress.step,
                error=understood.problem if understood else f"{type(error).__name__}: {error}.",
            )
        )
        if left is not None:
            run.context.note(left)


def _remove_older(run: TrainingRun) -> Phrase | None:
    """Remove the predictions of an older step; what is wrong where the system refuses that."""
    file = file_of(run.context.folder.results, "validation")
    try:
        file.unlink(missing_ok=True)
    except OSError as error:
        return phrase(
            "The predictions of an older step are still in {name}: they could not be removed "
            "({error}).",
            name=file.name,
            error=error.strerror or type(error).__name__,
        )
    return None


def _write(run: TrainingRun, predicted: Predicted, metrics: Mapping[str, float]) -> None:
    data, job = run.setup.data, run.job
    origin = Origin(
        part="validation",
        source=job.data.name,
        mapping=data.dataset.spec.mapping,
        model=job.name,
        step=run.progress.step,
        fingerprint=data.dataset.spec.fingerprint,
        best_metric=run.setup.best_metric.name,
        precision=run.machine.precision_name,
    )
    task, labels = data.learner.task.kind, data.learner.labels
    file = file_of(run.context.folder.results, "validation")
    if isinstance(predicted, PretrainingMetrics):
        assert predicted.rows is not None
        counts = data.phases[0].examples.tokenized.counts(data.tokenizer.size)
        rows, tokens = predicted.rows.rows(data.tokenizer, counts)
        origin = origin._replace(mapping=MAPPING)
        build_predictions(rows, None, tokens, origin, task, labels, metrics).write(file)
        return
    lines, cells = data.dataset.rows("validation").lines, data.dataset.cells("validation")
    rows = predicted.row_predictions()
    build_predictions(rows, lines, cells, origin, task, labels, metrics).write(file)
