"""Validation during training: metrics, best checkpoint, early stopping, saved predictions.

The best checkpoint has the best score; ties go to the lower loss. Early stopping uses the score
only.
"""

import math
import time
import traceback
from collections.abc import Mapping

from engine.evaluation.report import Report
from engine.messages.events import Progressed, measured
from engine.phrases import Phrase, phrase
from engine.progress import ProgressCallback
from engine.results.store import predictions_file
from engine.system.errors import explain_error
from engine.system.terminal import echo_error
from engine.tasks.evaluating import evaluate as evaluate_network
from engine.tasks.learner import PredictionCollector
from engine.tasks.pretraining import PretrainingMetrics
from engine.tasks.row_predictions import Origin, build_predictions
from engine.tasks.token_rows import MAPPING
from engine.training.context import TrainingProgress
from engine.training.device.sharding import is_sharded
from engine.training.sentences import record_sentences
from engine.training.training_run import TrainingRun

MAX_NAMED_LABELS = 10
SECONDS_BETWEEN_REPORTS = 1.0
Predicted = PredictionCollector | PretrainingMetrics


def evaluate(run: TrainingRun) -> bool:
    """Evaluate on the validation set; True if this is the best so far, on every rank.

    Only rank 0 evaluates, unless the weights are sharded.
    """
    improved = False
    if run.ranks.is_writer or run.ranks.is_sharded:
        with run.average.applied():
            improved = _evaluate(run)
    progress = run.progress
    any_improved, count = run.ranks.broadcast(
        float(improved), float(progress.evaluations_without_improvement)
    )
    progress.evaluations_without_improvement = int(count)
    return any_improved > 0


def early_stopping_note(progress: TrainingProgress) -> str:
    count = progress.evaluations_without_improvement
    return phrase(
        "Early stopping at step {step}: no better score in the last {n} evaluation(s) (best at "
        "step {best_step}).",
        step=progress.step,
        n=count,
        best_step=progress.best_step,
    )


def _evaluate(run: TrainingRun) -> bool:
    progress, best = run.progress, run.setup.best_metric
    if run.setup.data.validation is None:
        progress.best_step = progress.step  # without validation rows the latest is the best
        return False
    metrics, predicted = _evaluate_validation(run)
    for name, value in metrics.items():
        if name != "examples":
            run.context.emit(measured(f"validation_{name}", progress.step, value))
    score, loss = metrics[best.name], metrics["loss"]
    improved = best.is_better(score, progress.best_score)
    progress.evaluations_without_improvement = (
        0 if improved else progress.evaluations_without_improvement + 1
    )
    if not improved:
        lowest = progress.best_loss  # NaN counts as highest
        lower_loss = lowest is None or math.isnan(lowest) or loss < lowest
        if score != progress.best_score or not lower_loss:
            return False
    progress.best_score, progress.best_loss, progress.best_step = score, loss, progress.step
    if predicted is not None and run.ranks.is_writer:
        save_predictions(run, predicted, metrics)
    return True


def _evaluate_validation(run: TrainingRun) -> tuple[dict[str, float], Predicted | None]:
    """Return validation metrics, and predictions if the task makes them.

    Warns about labels that are never predicted.
    """
    data = run.setup.data
    assert data.validation is not None
    metrics = evaluate_network(
        run.network,
        data.learner,
        data.tokenizer,
        data.validation,
        run.settings.batch_size,
        seed=run.settings.seed,
        device=run.machine.device,
        precision=run.machine.precision,
        report=_progress(run),
        micro_batch_size=run.micro_batch_size,
        lockstep=is_sharded(run.network),
    )
    if isinstance(metrics, PretrainingMetrics):
        record_sentences(run)
        return metrics.compute(), metrics if metrics.rows is not None else None
    assert isinstance(metrics, PredictionCollector)
    report = metrics.report()
    _warn_unpredicted(run, report)
    return report.metrics(), metrics


def _progress(run: TrainingRun) -> ProgressCallback:
    last = time.monotonic()

    def report(done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last > SECONDS_BETWEEN_REPORTS:
            last = time.monotonic()
            stage = phrase("Evaluating on the validation set")
            run.context.emit(Progressed(stage=stage, done=done, total=total))

    return report


def _warn_unpredicted(run: TrainingRun, report: Report) -> None:
    progress = run.progress
    new = [label for label in report.never_predicted() if label not in progress.never_predicted]
    if not new:
        return
    progress.never_predicted += new
    names = ", ".join(f"“{label[:60]}”" for label in new[:MAX_NAMED_LABELS])
    rest = len(new) - MAX_NAMED_LABELS
    more = phrase(" and {count:,} more", count=rest) if rest > 0 else ""
    run.context.note(
        "At step {step} the model predicts {names}{more} for no validation example, although "
        "some have this label. If this continues, train longer, balance the classes or add "
        "examples.",
        step=progress.step,
        names=names,
        more=more,
    )


def save_predictions(run: TrainingRun, predicted: Predicted, metrics: Mapping[str, float]) -> None:
    """Save the validation predictions of the current step.

    They come from the evaluation just done, so nothing is computed twice. If saving fails, the run
    continues with a note, and older predictions are removed if possible.
    """
    try:
        _write_results(run, predicted, metrics)
    except Exception as error:  # noqa: BLE001 (a run does not fail for files that can be rebuilt)
        note = _remove_older(run)
        explained = explain_error(error)
        if explained is None:
            echo_error(*traceback.format_exc().splitlines())
        run.context.note(
            "The predictions for the validation rows at step {step} could not be saved: "
            "{error} To create them later: bert-studio evaluate --run FOLDER",
            step=run.progress.step,
            error=explained.problem if explained else f"{type(error).__name__}: {error}.",
        )
        if note is not None:
            run.context.note(note)


def _remove_older(run: TrainingRun) -> Phrase | None:
    """Remove older predictions; returns a note if that fails."""
    file = predictions_file(run.context.folder.results, "validation")
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


def _write_results(run: TrainingRun, predicted: Predicted, metrics: Mapping[str, float]) -> None:
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
    file = predictions_file(run.context.folder.results, "validation")
    if isinstance(predicted, PretrainingMetrics):
        assert predicted.rows is not None
        counts = data.phases[0].examples.tokenized.counts(data.tokenizer.size)
        rows, tokens = predicted.rows.rows(data.tokenizer, counts)
        origin = origin._replace(mapping=MAPPING)
        build_predictions(rows, None, tokens, origin, task, labels, metrics).write(file)
        return
    stored, cells = data.dataset.rows("validation"), data.dataset.cells("validation")
    rows, lines = predicted.row_predictions(), stored.lines
    build_predictions(rows, lines, cells, origin, task, labels, metrics, stored.numbers).write(file)
