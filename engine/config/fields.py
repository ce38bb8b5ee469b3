"""What a field of a spec says of itself beside its title, help text, range and default.

A field with a title is one that a user sets. Its `json_schema_extra` is a `setting(…)`, from which
the window takes what its forms show and what a branch of a run offers, and the engine what a branch
accepts. A field without a title is written by the program.
"""

from collections.abc import Sequence
from typing import Literal, cast, get_args

from pydantic import BaseModel
from pydantic.config import JsonDict
from pydantic.fields import FieldInfo

Level = Literal["simple", "advanced", "elsewhere"]
"""Among the few settings that everybody sees; among the others; or not in the form of its spec,
since it is chosen in another way (from a list, or read off the data)."""

LEVELS: tuple[Level, ...] = get_args(Level)


def setting(
    level: Level = "advanced",
    *,
    branch: bool = False,
    ticks: Sequence[float] = (),
    offered: bool = False,
) -> JsonDict:
    """What stands as `json_schema_extra` of a field.

    `branch` says whether a run that branches off a checkpoint may change it; `ticks` are usual
    values, which a form offers as buttons; `offered` says that a text is one of a few that depend
    on other choices, which the form offers as a list.
    """
    return {"level": level, "branch": branch, "ticks": list(ticks), "offered": offered}


def settings_of(spec: type[BaseModel]) -> dict[str, FieldInfo]:
    """The fields that a user sets, in the order of the spec."""
    return {name: info for name, info in spec.model_fields.items() if info.title}


def fields_at(spec: type[BaseModel], *levels: Level) -> tuple[str, ...]:
    """The names of the settings at these levels, in the order of the spec."""
    return tuple(name for name, info in settings_of(spec).items() if level_of(info) in levels)


def branch_fields(spec: type[BaseModel]) -> tuple[str, ...]:
    """The names of the settings that a branch may change, in the order of the spec."""
    return tuple(name for name, info in settings_of(spec).items() if may_branch(info))


def level_of(info: FieldInfo) -> Level:
    """Where a form shows the field; what does not say is advanced."""
    return cast(Level, extra_of(info).get("level", "advanced"))


def may_branch(info: FieldInfo) -> bool:
    """Whether a branch may change the field; what does not say may not be changed."""
    return bool(extra_of(info).get("branch", False))


def ticks_of(info: FieldInfo) -> list[float]:
    """The usual values of a number; empty where there are none."""
    return list(cast(list[float], extra_of(info).get("ticks", [])))


def is_offered(info: FieldInfo) -> bool:
    """Whether a text is chosen from a list that depends on other choices."""
    return bool(extra_of(info).get("offered", False))


def extra_of(info: FieldInfo) -> JsonDict:
    """What `setting` made, empty for a field that says nothing."""
    return info.json_schema_extra if isinstance(info.json_schema_extra, dict) else {}
