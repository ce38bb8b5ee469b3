"""What names a run: its base model."""

from pathlib import Path

from app.translation import tr
from engine.shipped import included_models
from engine.spec.job import BaseModelSource, FromScratch


def base_model_name(base_model: BaseModelSource) -> str:
    """What a run begins with."""
    if isinstance(base_model, FromScratch):
        template = tr("From scratch ({0} layers × {1})")
        return template.format(base_model.model.layers, base_model.model.hidden_size)
    path = base_model.path
    for name, folder in included_models().items():
        if path.parts[-2:] == folder.parts[-2:]:  # also where the program lay elsewhere then
            return name
    return checkpoint_name(path)


def checkpoint_name(path: Path) -> str:
    """A checkpoint of a run as run and step; any other by its folder."""
    if path.parent.name == "checkpoints" and path.name.startswith("step-"):
        step = path.name.removeprefix("step-").lstrip("0") or "0"
        return tr("{0}, step {1}").format(path.parent.parent.name, step)
    return path.name
