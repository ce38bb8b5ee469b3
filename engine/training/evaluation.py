"""Evaluation on the validation set while a run trains: metrics, best score, early stopping.

The best checkpoint is that with the best score; of equal scores, that with the lowest loss. Early
stopping goes by the score alone.
"""

import math
import time

from engine.evaluation.report import Report
from engine.messages.events import Progressed, measured
from engine.phrases import phrase
from engine.progress import ProgressCallback
from engine.tasks.evaluating import evaluate as evaluate_network
from engine.tasks.learner import PredictionCollector
from engine.tasks.pretraining import PretrainingMetrics
from engine.training.predictions import Predicted, keep_predictions
from engine.training.progress import TrainingProgress
from engine.training.sharding import is_sharded
from engine.training.training_run import TrainingRun

LABELS_IN_A_WARNING = 10
SECONDS_BETWEEN_REPORTS = 1.0


def evaluate(run: TrainingRun) -> bool:
    """Evaluate on the validation set; whether this is the best so far, alike on every rank.

    Only the first rank evaluates, unless the weights are sharded over all.
    """
    improved = False
    if run.ranks.writes or run.ranks.shards:
        with run.average.in_place():
            improved = _evaluate(run)
    progress = run.progress
    agreed, without = run.ranks.as_first(
        float(improved), float(progress.evaluations_without_improvement)
    )
    progress.evaluations_without_improvement = int(without)
    return agreed > 0


def early_stopping_note(progress: TrainingProgress) -> str:
    """The note of a run that stops early."""
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
        progress.best_step = progress.step  # no rows to choose by: the last is the best
        return False
    metrics, predicted = _metrics(run)
    for name, value in metrics.items():
        if name != "examples":
            run.context.emit(measured(f"validation_{name}", progress.step, value))
    score, loss = metrics[best.name], metrics["loss"]
    improved = best.is_better(score, progress.best_score)
    progress.evaluations_without_improvement = (
        0 if improved else progress.evaluations_without_improvement + 1
    )
    if not improved and not _breaks_tie(progress, score, loss):
        return False
    progress.best_score, progress.best_loss, progress.best_step = score, loss, progress.step
    if predicted is not None and run.ranks.writes:
        keep_predictions(run, predicted, metrics)
    return True


def _breaks_tie(progress: TrainingProgress, score: float, loss: float) -> bool:
    """Whether the score equals the best, and the loss is lower; what is no number is highest."""
    best = progress.best_loss
    return score == progress.best_score and (best is None or math.isnan(best) or loss < best)


def _metrics(run: TrainingRun) -> tuple[dict[str, float], Predicted | None]:
    """The metrics on the validation set, by name, and the predictions where the task makes some.

    Labels that are never predicted are warned of.
    """
    data = run.setup.data
    assert data.validation is not None
    found = evaluate_network(
        run.network,
        data.learner,
        data.tokenizer,
        data.validation,
        run.settings.batch_size,
        seed=run.settings.seed,
        device=run.machine.device,
        precision=run.machine.precision,
        report=_reporting(run),
        at_once=run.micro_batch_size,
        together=is_sharded(run.network),
    )
    if isinstance(found, PretrainingMetrics):
        return found.compute(), found if found.rows is not None else None
    assert isinstance(found, PredictionCollector)
    report = found.report()
    _warn_of_labels(run, report)
    return report.metrics(), found


def _reporting(run: TrainingRun) -> ProgressCallback:
    """Emits the progress of an evaluation that takes long."""
    last = time.monotonic()

    def report(done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last > SECONDS_BETWEEN_REPORTS:
            last = time.monotonic()
            stage = phrase("Evaluating on the validation set")
            run.context.emit(Progressed(stage=stage, done=done, total=total))

    return report


def _warn_of_labels(run: TrainingRun, report: Report) -> None:
    """Name the labels that the model never predicts, though some rows have them; each once."""
    progress = run.progress
    new = [label for label in report.never_given() if label not in progress.never_predicted]
    if not new:
        return
    progress.never_predicted += new
    names = ", ".join(f"“{label[:60]}”" for label in new[:LABELS_IN_A_WARNING])
    rest = len(new) - LABELS_IN_A_WARNING
    more = phrase(" and {count:,} more", count=rest) if rest > 0 else ""
    run.context.note(
        phrase(
            "At step {step} the model predicts {names}{more} for no validation example, although "
            "some have this label. If this continues, train longer, balance the classes or add "
            "examples.",
            step=progress.step,
            names=names,
            more=more,
        )
    )
