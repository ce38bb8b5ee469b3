"""Fit thresholds and a temperature on stored predictions with gold."""

from collections.abc import Mapping

from engine.config.prediction import PredictionSettings
from engine.config.tasks import get_head
from engine.errors import StudioError
from engine.results.answers import threshold_curve
from engine.results.calibration import temperature
from engine.results.curves import Curve, label_curve
from engine.results.labels import is_multi_label, labelled
from engine.results.predictions import PredictionInfo, Predictions


def applied_temperature(info: PredictionInfo) -> float:
    """The temperature at which the probabilities were computed."""
    return info.settings.get("temperature", 1.0)


def has_temperature(task: str) -> bool:
    """A temperature can be fitted for a task: it has probabilities of labels."""
    return get_head(task).labels_inputs


def applied_thresholds(predictions: Predictions) -> dict[str, float]:
    """The thresholds with which these predictions were made, by label."""
    info = predictions.info
    labels = thresholded_labels(predictions)
    if is_multi_label(predictions):
        return {name: info.settings.get(f"threshold({name})", 0.5) for name in labels}
    if not labels:
        return {}
    second = info.settings.get("threshold", 0.5)
    return {info.labels[0]: 1 - second, info.labels[1]: second}


def thresholded_labels(predictions: Predictions) -> tuple[str, ...]:
    """The labels that are predicted by a threshold: the second of two classes, or all labels of a
    multi-label task; empty for other tasks."""
    info = predictions.info
    if is_multi_label(predictions):
        return info.labels
    has_two = len(info.labels) == 2 and get_head(info.task).classifies
    return info.labels[-1:] if has_two else ()


def with_temperature(
    settings: PredictionSettings, predictions: Predictions
) -> PredictionSettings | None:
    """Settings with the temperature that fits the rows best; None without rows to fit it on."""
    fitted = temperature(predictions)
    if fitted is None:
        return None
    return settings.at_temperature(
        min(max(fitted.value * applied_temperature(predictions.info), 0.05), 20.0)
    )


def with_best_f1(settings: PredictionSettings, predictions: Predictions) -> PredictionSettings:
    """Settings with the thresholds of the highest F1: per label, or for “no answer”.

    Raises StudioError if the task has no threshold, or no row has gold.
    """
    if not labelled(predictions).any():
        raise StudioError(
            "A threshold is chosen on rows with labels, and these have none.",
            "Evaluate the model on rows with labels first.",
        )
    if get_head(predictions.info.task).finds_spans:
        answers = threshold_curve(predictions)
        if answers is not None:
            return settings.model_copy(update={"no_answer_threshold": answers.best})
    if not thresholded_labels(predictions):
        raise StudioError(
            "This model predicts without a threshold.",
            "Thresholds are for two classes, for several labels, and for questions that may "
            "have no answer.",
        )
    return with_thresholds(settings, predictions.info, best_thresholds(predictions))


def with_thresholds(
    settings: PredictionSettings, info: PredictionInfo, thresholds: Mapping[str, float]
) -> PredictionSettings:
    """Settings with thresholds for probabilities of predictions with this info."""
    changed = settings.at_temperature(applied_temperature(info))
    for label, threshold in thresholds.items():
        several = get_head(info.task).is_multi_label
        changed = changed.with_threshold(label, threshold, info.labels, several)
    return changed.at_temperature(settings.temperature)


def best_thresholds(predictions: Predictions) -> dict[str, float]:
    curves = (label_curve(predictions, label) for label in thresholded_labels(predictions))
    thresholds = {curve.label: best_threshold(curve) for curve in curves}
    return {label: best for label, best in thresholds.items() if best is not None}


def best_threshold(curve: Curve) -> float | None:
    """The threshold of the highest F1; None without positives.

    It is half-way to the next lower probability: a threshold equal to a row's own probability
    would depend on rounding.
    """
    best = curve.best
    if best is None:
        return None
    lower = curve.thresholds[curve.thresholds < best.threshold]
    middle = (best.threshold + (float(lower[0]) if len(lower) else 0.0)) / 2
    return min(max(middle, 1e-9), 1 - 1e-9)
