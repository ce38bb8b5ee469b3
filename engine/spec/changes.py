"""What differs between two jobs, field by field."""

from typing import Any, NamedTuple

from pydantic import BaseModel

from engine.spec.job import JobSpec


class Change(NamedTuple):
    """One field that has another value; `path` is as in `--set training.max_grad_norm=0.5`."""

    path: str
    title: str
    old: Any
    new: Any

    def sentence(self) -> str:
        return f"{self.title} {_shown(self.new)} instead of {_shown(self.old)}"


def changes(old: JobSpec, new: JobSpec) -> list[Change]:
    """All fields with another value; a part of another kind counts as one field.

    Its name, and the job of several runs that it belongs to, do not count.
    """
    found = _changes(old, new, "")
    return [change for change in found if change.path.split(".")[0] not in ("name", "group")]


def _changes(old: BaseModel, new: BaseModel, path: str) -> list[Change]:
    found: list[Change] = []
    for name, field in type(old).model_fields.items():
        before, after = getattr(old, name), getattr(new, name)
        if before == after:
            continue
        here = f"{path}{name}"
        if isinstance(before, BaseModel) and type(before) is type(after):
            found += _changes(before, after, f"{here}.")
        else:
            found.append(Change(here, field.title or here, before, after))
    return found


def _shown(value: Any) -> str:
    if isinstance(value, BaseModel):
        return str(getattr(value, "kind", type(value).__name__))
    if isinstance(value, float):
        return f"{value:g}".replace("e-0", "e-")
    return "none" if value is None else str(value)
