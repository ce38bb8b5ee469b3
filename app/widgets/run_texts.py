"""How runs are told on every page: the icon and the word of a state, a task, a metric."""

from PySide6.QtCore import QCoreApplication

from app.theme import Role
from app.widgets import numbers

translate = QCoreApplication.translate
SHARES = ("accuracy", "f1", "precision", "recall", "top5")  # figures between 0 and 1

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


def state_word(state: str) -> str:
    words = {
        "queued": translate("Runs", "waiting"),
        "starting": translate("Runs", "starting"),
        "running": translate("Runs", "running"),
        "paused": translate("Runs", "paused"),
        "stopping": translate("Runs", "stopping"),
        "stopped": translate("Runs", "stopped"),
        "finished": translate("Runs", "finished"),
        "failed": translate("Runs", "failed"),
        "crashed": translate("Runs", "crashed"),
    }
    return words.get(state, state)


def task_word(task: str) -> str:
    words = {
        "text_classification": translate("Runs", "classify"),
        "token_classification": translate("Runs", "tag words"),
        "multi_label": translate("Runs", "several labels"),
        "regression": translate("Runs", "numbers"),
        "multiple_choice": translate("Runs", "choose endings"),
        "question_answering": translate("Runs", "answer questions"),
        "pretraining": translate("Runs", "masked words"),
    }
    return words.get(task, task)


def metric_word(name: str) -> str:
    """A metric by a name for people; an unknown one keeps its own."""
    words = {
        "loss": translate("Runs", "training loss"),
        "loss_masked_words": translate("Runs", "masked words"),
        "loss_next_sentence": translate("Runs", "next sentence"),
        "validation_loss": translate("Runs", "dev loss"),
        "validation_loss_masked_words": translate("Runs", "masked words, dev"),
        "validation_loss_next_sentence": translate("Runs", "next sentence, dev"),
        "validation_next_sentence_accuracy": translate("Runs", "dev next-sentence accuracy"),
        "validation_accuracy": translate("Runs", "dev accuracy"),
        "validation_f1": translate("Runs", "dev F1"),
        "validation_precision": translate("Runs", "dev precision"),
        "validation_recall": translate("Runs", "dev recall"),
        "validation_f1_micro": translate("Runs", "dev micro F1"),
        "validation_exact": translate("Runs", "dev all right"),
        "validation_average_precision": translate("Runs", "dev average precision"),
        "validation_pearson": translate("Runs", "dev Pearson"),
        "validation_spearman": translate("Runs", "dev Spearman"),
        "validation_mean_absolute_error": translate("Runs", "dev mean absolute error"),
        "validation_f1_macro": translate("Runs", "dev macro F1"),
        "validation_top5": translate("Runs", "dev top-5 accuracy"),
        "learning_rate": translate("Runs", "learning rate"),
        "gradient_norm": translate("Runs", "gradient norm"),
        "tokens_per_second": translate("Runs", "tokens per second"),
    }
    return words.get(name, name)


def metric_value(name: str, value: float | None) -> str:
    """Shares as per cent, all else as numbers."""
    if value is not None and any(part in name for part in SHARES):
        return numbers.percent(value)
    return numbers.decimal(value)
