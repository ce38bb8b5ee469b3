"""What names a run: its data, its base model, and the time."""

from datetime import datetime
from pathlib import Path

from PySide6.QtCore import QDateTime, QLocale

from app.translation import tr
from engine.shipped import starter_model
from engine.spec.dataset import DataSource, StoredData
from engine.spec.job import BaseModelSource, FromScratch


def data_name(source: DataSource) -> str:
    return source.folder.parent.name if isinstance(source, StoredData) else source.path.name


def base_model_name(base_model: BaseModelSource) -> str:
    """What a run begins with."""
    if isinstance(base_model, FromScratch):
        template = tr("From scratch ({0} layers × {1})")
        return template.format(base_model.model.layers, base_model.model.hidden_size)
    if base_model.path == starter_model():
        return tr("Starter")
    return checkpoint_name(base_model.path)


def checkpoint_name(path: Path) -> str:
    """A checkpoint of a run as run and step; any other by its folder."""
    if path.parent.name == "checkpoints" and path.name.startswith("step-"):
        step = path.name.removeprefix("step-").lstrip("0") or "0"
        return tr("{0}, step {1}").format(path.parent.parent.name, step)
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
