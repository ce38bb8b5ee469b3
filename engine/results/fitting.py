"""Thresholds and a temperature that are fitted on kept predictions with gold."""

from engine.errors import StudioError
from engine.phrases import phrase
from engine.results.answers import threshold_curve
from engine.results.calibration import temperature
from engine.results.curves import Curve, label_curve
from engine.results.labels import is_multi_label, labelled
from engine.results.predictions import Predictions
from engine.spec.prediction import PredictionSettings
from engine.spec.tasks import head_of


def made_at(predictions: Predictions) -> float:
    """The temperature at which the probabilities were made."""
    return predictions.facts.settings.get("temperature", 1.0)


def thresholded_labels(predictions: Predictions) -> tuple[str, ...]:
    """The labels that are predicted by a threshold: the second of two classes, or every one of
    several for a row; empty for other tasks."""
    facts = predictions.facts
    if is_multi_label(predictions):
        return facts.labels
    is_of_two = len(facts.labels) == 2 and head_of(facts.task).problem_type != ""
    return facts.labels[-1:] if is_of_two and facts.task.endswith("classification") else ()


def with_temperature(
    settings: PredictionSettings, predictions: Predictions
) -> PredictionSettings | None:
    """With the temperature that fits the rows best; None where there are no rows to fit it on."""
    found = temperature(predictions)
    if found is None:
        return None
    return settings.at_temperature(min(max(found.value * made_at(predictions), 0.05), 20.0))


def with_best_f1(settings: PredictionSettings, predictions: Predictions) -> PredictionSettings:
    """With the threshold of the highest F1: of each label, or of no answer.

    Raises StudioError where the task has no threshold, or no row has gold.
    """
    labels, several = thresholded_labels(predictions), is_multi_label(predictions)
    if not labelled(predictions).any():
        raise StudioError(
            phrase("A threshold is chosen on rows with labels, and these have none."),
            phrase("Evaluate the model on rows with labels first."),
        )
    if predictions.facts.task == "question_answering":
        answers = threshold_curve(predictions)
        if answers is not None:
            return settings.model_copy(update={"no_answer_threshold": answers.best})
    if not labels:
        raise StudioError(
            phrase("This model predicts without a threshold."),
            phrase(
                "Thresholds are for two classes, for several labels, and for questions that may "
                "have no answer."
            ),
        )
    found, temperature_now = settings, settings.temperature
    found = found.at_temperature(made_at(predictions))  # where these probabilities are
    for label in labels:
        if (best := best_threshold(label_curve(predictions, label))) is not None:
            found = found.with_threshold(label, best, predictions.facts.labels, several)
    return found.at_temperature(temperature_now)


def best_threshold(curve: Curve) -> float | None:
    """The threshold of the highest F1, half-way to the next lower probability; None without rows
    that have the label.

    A threshold that is a row's own probability would leave it to rounding whether it is reached.
    """
    best = curve.best
    if best is None:
        return None
    lower = curve.thresholds[curve.thresholds < best.threshold]
    found = (best.threshold + (float(lower[0]) if len(lower) else 0.0)) / 2
    return min(max(found, 1e-9), 1 - 1e-9)
