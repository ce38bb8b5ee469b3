"""Runs in words: names and icons of states, names of tasks and metrics, scores."""

from app.library import ModelEntry
from app.theme import Role
from app.translation import in_language, marked, tr
from app.widgets.text import numbers
from engine.config.tasks import TASKS, get_metric

TOKENS = "tokens"  # metric that counts the tokens of all batches so far
VALIDATION = "validation_"  # prefix of metrics of an evaluation

ICONS: dict[str, tuple[str, Role]] = {
    marked("queued"): ("hourglass", Role.MUTED),
    marked("on hold"): ("pause", Role.MUTED),
    marked("starting"): ("loader-circle", Role.ACCENT),
    marked("running"): ("circle-play", Role.ACCENT),
    marked("paused"): ("triangle-alert", Role.WARN),
    marked("not responding"): ("triangle-alert", Role.WARN),
    marked("stopping"): ("pause", Role.WARN),
    marked("stopped"): ("circle-stop", Role.MUTED),
    marked("finished"): ("circle-check", Role.GOOD),
    marked("failed"): ("circle-x", Role.BAD),
    marked("crashed"): ("triangle-alert", Role.BAD),
    marked("unreadable"): ("circle-x", Role.BAD),
}


def state_text(state: str) -> str:
    return in_language(state)


def state_order(state: str) -> int:
    """Sort key of states, in the order in which a run passes them."""
    return list(ICONS).index(state) if state in ICONS else len(ICONS)


def task_title(kind: str) -> str:
    """Title of a task; an unknown task keeps its name."""
    return in_language(TASKS[kind].info.title) if kind in TASKS else kind


def metric_title(name: str) -> str:
    """Title of a metric within a sentence; an unknown metric keeps its name."""
    if metric := get_metric(name):
        is_validation = name.startswith(VALIDATION)
        template = tr("validation {0}") if is_validation else tr("training {0}")
        return template.format(in_language(metric.title))
    texts = {
        "learning_rate": tr("learning rate"),
        "gradient_norm": tr("gradient norm"),
        "tokens_per_second": tr("tokens per second"),
        TOKENS: tr("tokens seen"),
    }
    return texts.get(name, name)


def evaluation_title(name: str) -> str:
    """Title of a validation metric without “validation”: “macro F1”."""
    metric = get_metric(name)
    return in_language(metric.title) if metric is not None else name


def metric_heading(name: str) -> str:
    """Title at the beginning of a line: “Validation macro F1”."""
    title = metric_title(name)
    return title[:1].upper() + title[1:]


def is_share(name: str) -> bool:
    """True if the metric is a proportion, which is shown in per cent."""
    metric = get_metric(name)
    return metric is not None and metric.unit == "share"


def metric_value(name: str, value: float | None) -> str:
    """Fractions as per cent, others as numbers."""
    if name == TOKENS and value is not None:
        return numbers.count(round(value))
    return (
        numbers.percent(value) if value is not None and is_share(name) else numbers.decimal(value)
    )


def score(name: str, value: float) -> str:
    """A best score with its short metric: “69.4 % acc”."""
    metric = get_metric(name)
    title = in_language(metric.short or metric.title) if metric is not None else name
    return f"{metric_value(name, value)} {title}"


def checkpoint_score(entry: ModelEntry) -> str:
    """Score of a run's checkpoint with its metric: “79.3 % acc”; “” without a score."""
    return score(entry.metric, entry.score) if entry.score is not None else ""


def provenance(entry: ModelEntry) -> list[str]:
    """Origin of a checkpoint: data set and step of its run, and when it was saved."""
    step = tr("step {0}").format(numbers.count(entry.step)) if entry.step else ""
    saved = tr("saved {0}").format(numbers.day(entry.saved)) if entry.saved else ""
    return [part for part in (entry.data, step, saved) if part]
