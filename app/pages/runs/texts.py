"""How runs are told in words: what they learn from, what they started from, and when."""

from datetime import datetime
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QDateTime, QLocale

from engine.shipped import starter_model
from engine.spec.dataset import DataSource, StoredData
from engine.spec.job import BaseModelSource, FromScratch

translate = QCoreApplication.translate


def data_name(source: DataSource) -> str:
    return source.folder.parent.name if isinstance(source, StoredData) else source.path.name


def start_name(start: BaseModelSource) -> str:
    """What a run started from."""
    if isinstance(start, FromScratch):
        template = translate("Runs", "new, {0} × {1}")
        return template.format(start.model.layers, start.model.hidden_size)
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
