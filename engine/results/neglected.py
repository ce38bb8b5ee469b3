"""Classes that the main metric hides: macro F1, never predicted classes, and a job against both.

Classes are labels, or the types of spans.
"""

from typing import Any, NamedTuple

from engine.config.job import JobSpec
from engine.config.task import F1_MACRO, LabelledTask
from engine.config.tasks import TASKS
from engine.data.columns.tags import tag_type
from engine.evaluation.measures import Measure
from engine.phrases import join, phrase
from engine.results.labels import labelled, labels, members
from engine.results.measures import main_metric, main_score, measures
from engine.results.predictions import Predictions
from engine.results.row_figures import cached_per_table
from engine.results.span_figures import row_parts
from engine.results.spans import span_table, tags_name_spans

MAX_GAP = 0.1  # of macro F1 below a fraction as main metric, before some classes count as neglected
MAX_WEIGHT = 20.0
MAX_NAMED = 5


class Remedy(NamedTuple):
    """A job that may help neglected classes: with class weights, or with them for twice as long."""

    adds_weights: bool
    job: JobSpec


@cached_per_table
def macro_f1(predictions: Predictions) -> Measure | None:
    """The mean F1 of all classes; None without labels or classes."""
    found = (item for item in measures(predictions) if item.name == F1_MACRO.name)
    return next(found, None) if predictions.is_labelled else None


@cached_per_table
def _class_rows(predictions: Predictions) -> dict[str, tuple[int, int]]:
    head = TASKS[predictions.info.task].info.head
    if head is None or not head.has_labels or not predictions.is_labelled:
        return {}
    if head.reads_tokens:
        types = enumerate(span_table(predictions).types)
        counts = {name: row_parts(predictions, index).sum(axis=0) for index, name in types}
        return {name: (int(gold), int(found)) for name, (_, found, gold) in counts.items()}
    rows = labelled(predictions)
    gold, found = (
        members(predictions, side)[rows].sum(axis=0).tolist() for side in ("gold", "predicted")
    )
    return dict(zip(labels(predictions), zip(gold, found, strict=True), strict=True))


def _known_classes(predictions: Predictions) -> set[str]:
    known, head = set(predictions.info.labels), TASKS[predictions.info.task].info.head
    names_spans = head is not None and head.tags_tokens and tags_name_spans(predictions)
    return set(map(tag_type, known)) if names_spans else known


def class_rows(predictions: Predictions) -> dict[str, tuple[int, int]]:
    """Numbers of rows, or spans, with each class of the model, and with it as prediction."""
    known, rows = _known_classes(predictions), _class_rows(predictions)
    return {name: counts for name, counts in rows.items() if name in known}


def unknown_classes(predictions: Predictions) -> tuple[str, ...]:
    """The classes of some row that the model does not know; their rows count as misclassified."""
    known, rows = _known_classes(predictions), _class_rows(predictions).items()
    return tuple(name for name, (gold, _) in rows if gold and name not in known)


def never_predicted(predictions: Predictions) -> tuple[str, ...]:
    """The classes of the model that some row has and that were predicted for none."""
    return tuple(
        name for name, (gold, found) in class_rows(predictions).items() if gold > found == 0
    )


def neglect(predictions: Predictions) -> str:
    """Sentences about classes that fare badly; empty if none do."""
    unknown = unknown_classes(predictions)
    sentence = phrase("Unknown to the model: {names}.", names=_names(unknown))
    sentences = (sentence if unknown else "", _neglect_of_known(predictions))
    return join(" ", filter(None, sentences))


def _names(classes: tuple[str, ...]) -> str:
    names = ", ".join(f"“{name[:60]}”" for name in classes[:MAX_NAMED])
    rest = len(classes) - MAX_NAMED
    return phrase("{names} and {count:,} more", names=names, count=rest) if rest > 0 else names


def _neglect_of_known(predictions: Predictions) -> str:
    if missing := never_predicted(predictions):
        return phrase("Never predicted: {names}.", names=_names(missing))
    metric, macro = main_metric(predictions), macro_f1(predictions)
    if macro is None or metric.unit != "share":
        return ""
    if macro.value() < main_score(predictions).value - MAX_GAP:
        return phrase("Some classes are predicted far worse than others.")
    return ""


def weights_advice(predictions: Predictions) -> str:
    """The setting of a job that weighs classes; empty if no class of the model is neglected."""
    if not _neglect_of_known(predictions):
        return ""
    is_balanced = "balanced" in TASKS[predictions.info.task].model_fields
    setting = "task.balanced=true" if is_balanced else 'task.class_weights={"TYPE": 3}'
    return phrase("Class weights may help: --set {setting}.", setting=setting)


def remedy(predictions: Predictions, job: JobSpec) -> Remedy | None:
    """The job again with class weights, or, if it has them, for longer.

    None if no class is neglected.
    """
    if not isinstance(job.task, LabelledTask) or not _neglect_of_known(predictions):
        return None
    if job.task.class_weights or getattr(job.task, "balanced", False):
        field = "steps" if job.training.steps else "epochs"
        number = 2 * getattr(job.training, field)
        training = job.training.model_copy(update={field: number})
        return Remedy(False, job.model_copy(update={"training": training}))
    update: dict[str, Any] = {"balanced": True}
    if not hasattr(job.task, "balanced"):
        counts = {name: gold for name, (gold, _) in class_rows(predictions).items() if gold}
        most = max(counts.values())
        weights = {name: min(most / gold, MAX_WEIGHT) for name, gold in counts.items()}
        update = {"class_weights": {name: round(w, 1) for name, w in weights.items() if w > 1}}
    task = job.task.model_copy(update=update)
    return Remedy(True, job.model_copy(update={"task": task}))
