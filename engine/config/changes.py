"""Differences between two jobs, field by field."""

from typing import Any, NamedTuple

from pydantic import BaseModel

from engine.config.features import Features
from engine.config.fields import may_branch
from engine.config.job import FromScratch, JobSpec
from engine.config.tasks import parse_task
from engine.config.training import HardwareSpec, TrainingSpec
from engine.phrases import Phrase, number_text, phrase


class Change(NamedTuple):
    """One changed field; `path` is as in `--set training.max_grad_norm=0.5`.

    `in_branch`: a run that branches off a checkpoint may change it.
    """

    path: str
    title: str
    old: Any
    new: Any
    in_branch: bool = False

    def sentence(self) -> str:
        """For example “Batch size 16 instead of 32”, without a full stop."""
        return phrase(
            "{title} {new} instead of {old}",
            title=Phrase(self.title, {}),
            new=as_text(self.new),
            old=as_text(self.old),
        )


def changes(old: JobSpec, new: JobSpec) -> list[Change]:
    """All changed fields, except the name and group of the job.

    An object whose kind changed counts as one field.
    """
    all_changes = _changes(old, new, "")
    return [change for change in all_changes if change.path.split(".")[0] not in ("name", "group")]


def _changes(old: BaseModel, new: BaseModel, path: str) -> list[Change]:
    result: list[Change] = []
    for name, field in type(old).model_fields.items():
        old_value, new_value = getattr(old, name), getattr(new, name)
        if old_value == new_value:
            continue
        key = f"{path}{name}"
        if isinstance(old_value, BaseModel) and type(old_value) is type(new_value):
            result += _changes(old_value, new_value, f"{key}.")
        else:
            result.append(Change(key, field.title or key, old_value, new_value, may_branch(field)))
    return result


def non_defaults(job: JobSpec) -> list[Change]:
    """The settings of a job that differ from their defaults."""
    base = job.base_model
    pairs: list[tuple[str, BaseModel, BaseModel]] = [
        ("task.", parse_task(job.task.kind), job.task),
        ("training.", TrainingSpec(), job.training),
        ("features.", Features(), job.features),
        ("hardware.", HardwareSpec(), job.hardware),
    ]
    if isinstance(base, FromScratch):
        default = FromScratch(model=type(base.model)())
        pairs.insert(1, ("base_model.", default, base))
    all_changes = [change for path, old, new in pairs for change in _changes(old, new, path)]
    # fields without a title are not user settings
    return [change for change in all_changes if change.title != change.path]


def as_text(value: Any) -> str:
    """Format a value of a spec in a few words."""
    if isinstance(value, BaseModel):
        return str(getattr(value, "kind", type(value).__name__))
    if isinstance(value, float):
        return number_text(value)
    if isinstance(value, bool):
        return phrase("on") if value else phrase("off")
    return phrase("none") if value is None else str(value)
