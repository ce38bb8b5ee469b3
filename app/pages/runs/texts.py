"""What names a run: its base model."""

from pathlib import Path

from app.translation import tr
from app.widgets.text import numbers
from engine.config.job import BaseModelSource, FromScratch
from engine.files.shipped import included_name
from engine.runs.folder import step_of


def base_model_name(base_model: BaseModelSource) -> str:
    """What a run begins with."""
    if isinstance(base_model, FromScratch):
        template = tr("From scratch ({0} layers × {1})")
        return template.format(base_model.model.layers, base_model.model.hidden_size)
    return included_name(base_model.path) or checkpoint_name(base_model.path)


def checkpoint_name(path: Path) -> str:
    """A checkpoint of a run as run and step; any other by its folder."""
    if path.parent.name == "checkpoints" and path.name.startswith("step-"):
        step = numbers.count(step_of(path))
        return tr("{0}, step {1}").format(path.parent.parent.name, step)
    return path.name
