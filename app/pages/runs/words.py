"""How runs are told in words: their states, what they learn, what they started from."""

from datetime import datetime
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QDateTime, QLocale

from app.theme import Role
from app.widgets import numbers
from engine.shipped import starter_model
from engine.spec.dataset import DataSource, StoredData
from engine.spec.job import FromScratch, Start

translate = QCoreApplication.translate

ICONS: dict[str, tuple[str, Role]] = {
    "queued": ("hourglass", Role.MUTED),
    "starting": ("loader-circle", Role.ACCENT),
    "running": ("circle-play", Role.ACCENT),
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
        "stopping": translate("Runs", "stopping"),
        "stopped": translate("Runs", "stopped"),
        "finished": translate("Runs", "finished"),
        "failed": translate("Runs", "failed"),
        "crashed": translate("Runs", "crashed"),
    }
    return words.get(state, state)


def task_word(task: str) -> str:
    words = {
        "classification": translate("Runs", "classify"),
        "pretraining": translate("Runs", "masked words"),
    }
    return words.get(task, task)


def metric_word(name: str) -> str:
    """A metric by a name for people; an unknown one keeps its own."""
    words = {
        "loss": translate("Runs", "training loss"),
        "dev_loss": translate("Runs", "dev loss"),
        "dev_accuracy": translate("Runs", "dev accuracy"),
        "dev_f1_macro": translate("Runs", "dev macro F1"),
        "dev_top5": translate("Runs", "dev top-5 accuracy"),
        "learning_rate": translate("Runs", "learning rate"),
        "gradient_norm": translate("Runs", "gradient norm"),
        "tokens_per_second": translate("Runs", "tokens per second"),
    }
    return words.get(name, name)


def metric_value(name: str, value: float | None) -> str:
    """Shares as per cent, all else as numbers."""
    if value is not None and any(part in name for part in ("accuracy", "f1", "top5")):
        return numbers.percent(value)
    return numbers.decimal(value)


def data_name(source: DataSource) -> str:
    return source.folder.parent.name if isinstance(source, StoredData) else source.path.name


def start_name(start: Start) -> str:
    """What a run started from."""
    if isinstance(start, FromScratch):
        template = translate("Runs", "new, {0} × {1}")
        return template.format(start.model.layers, start.model.width)
    if start.path == starter_model():
        return translate("Runs", "Starter")
    return checkpoint_name(start.path)


def checkpoint_name(path: Path) -> str:
    """A checkpoint of a run as run and step; any other by its folder."""
    if path.parent.name == "checkpoints" and path.name.startswith("step-"):
        step = path.name.removeprefix("step-").lstrip("0") or "0"
        return translate("Runs", "{0}, step {1}").format(path.parent.parent.name, step)
    return path.name


def moment(at: datetime | None) -> str:
    """A point in time in the user's zone and notation."""
    if at is None:
        return "–"
    when = QDateTime.fromSecsSinceEpoch(int(at.timestamp()))
    return QLocale().toString(when, QLocale.FormatType.ShortFormat)


def day(at: datetime) -> str:
    """A point in time as short as it is told apart: today by the hour, else by the day."""
    when = QDateTime.fromSecsSinceEpoch(int(at.timestamp()))
    today = QDateTime.currentDateTime().date()
    if when.date() == today:
        return QLocale().toString(when.time(), QLocale.FormatType.ShortFormat)
    same_year = when.date().year() == today.year()
    return QLocale().toString(when.date(), "d MMM" if same_year else "d MMM yyyy")
