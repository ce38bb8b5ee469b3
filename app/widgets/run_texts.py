"""How runs are told on every page: icon and name of a state, names of tasks and metrics."""

from PySide6.QtCore import QCoreApplication

from app.theme import Role
from app.widgets import numbers

translate = QCoreApplication.translate
SHARES = ("accuracy", "f1", "precision", "recall", "top5")  # figures between 0 and 1
VALIDATION = "validation_"  # how the names of metrics begin that an evaluation measures

ICONS: dict[str, tuple[str, Role]] = {
    "queued": ("hourglass", Role.MUTED),
    "starting": ("loader-circle", Role.ACCENT),
    "running": ("circle-play", Role.ACCENT),
    "paused": ("triangle-alert", Role.WARN),
    "stopping": ("pause", Role.WARN),
    "stopped": ("circle-stop", Role.MUTED),
    "finished": ("circle-check", Role.GOOD),
    "failed": ("circle-x", Role.BAD),
    "crashed": ("triangle-alert", Role.BAD),
}


def state_text(state: str) -> str:
    texts = {
        "queued": translate("Runs", "queued"),
        "starting": translate("Runs", "starting"),
        "running": translate("Runs", "running"),
        "paused": translate("Runs", "paused"),
        "stopping": translate("Runs", "stopping"),
        "stopped": translate("Runs", "stopped"),
        "finished": translate("Runs", "finished"),
        "failed": translate("Runs", "failed"),
        "crashed": translate("Runs", "crashed"),
    }
    return texts.get(state, state)


def state_order(state: str) -> int:
    """By which states are sorted: as a run goes through them."""
    return list(ICONS).index(state) if state in ICONS else len(ICONS)


def task_title(kind: str) -> str:
    """The field's name of a task; an unknown one keeps its own."""
    titles = {
        "text_classification": translate("Runs", "Text classification"),
        "token_classification": translate("Runs", "Token classification (NER)"),
        "multi_label": translate("Runs", "Multi-label classification"),
        "regression": translate("Runs", "Regression"),
        "multiple_choice": translate("Runs", "Multiple choice"),
        "question_answering": translate("Runs", "Question answering"),
        "pretraining": translate("Runs", "Pre-training (MLM)"),
    }
    return titles.get(kind, kind)


def metric_title(name: str) -> str:
    """A metric of a run by its name for people, as in a sentence; an unknown one keeps its own."""
    if name.startswith(VALIDATION) and (title := _titles().get(name.removeprefix(VALIDATION))):
        return translate("Runs", "validation {0}").format(title)
    texts = {
        "loss": translate("Runs", "training loss"),
        "loss_mlm": translate("Runs", "training MLM loss"),
        "loss_nsp": translate("Runs", "training NSP loss"),
        "learning_rate": translate("Runs", "learning rate"),
        "gradient_norm": translate("Runs", "gradient norm"),
        "tokens_per_second": translate("Runs", "tokens per second"),
    }
    return texts.get(name, name)


def _titles() -> dict[str, str]:
    return {
        "loss": translate("Runs", "loss"),
        "accuracy": translate("Runs", "accuracy"),
        "f1": translate("Runs", "F1"),
        "f1_macro": translate("Runs", "macro F1"),
    }


def metric_heading(name: str) -> str:
    """The same as at the beginning of a line."""
    title = metric_title(name)
    return title[:1].upper() + title[1:]


def metric_value(name: str, value: float | None) -> str:
    """Shares as per cent, all else as numbers."""
    if value is not None and any(part in name for part in SHARES):
        return numbers.percent(value)
    return numbers.decimal(value)


def score(name: str, value: float) -> str:
    """A best score with its metric, short: “69.4 % acc”."""
    short = name.removeprefix(VALIDATION)
    return f"{metric_value(name, value)} {'acc' if short == 'accuracy' else short}"
