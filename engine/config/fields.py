"""Metadata of settings besides title, help text, range and default.

A field with a title is a user setting. Its `json_schema_extra` is a `setting(…)`, which says where
forms show it and whether a branch of a run may change it. A field without a title is written by the
program.
"""

from collections.abc import Sequence
from typing import Literal, cast, get_args

from pydantic import BaseModel
from pydantic.config import JsonDict
from pydantic.fields import FieldInfo

Level = Literal["simple", "advanced", "elsewhere"]
"""Shown among the few main settings, among the others, or not in the form of its spec, as it is
chosen elsewhere (from a list, or from the data)."""

LEVELS: tuple[Level, ...] = get_args(Level)


def setting(
    level: Level = "advanced",
    *,
    branch: bool = False,
    ticks: Sequence[float] = (),
    offered: bool = False,
    fraction: bool = False,
) -> JsonDict:
    """The `json_schema_extra` of a setting.

    `branch`: a run that branches off a checkpoint may change it; `ticks`: common values, shown as
    buttons; `offered`: the form shows a list of values that depend on other settings; `fraction`: a
    part of a whole, which may be typed in per cent.
    """
    where: JsonDict = {"level": level, "branch": branch}
    return where | {"ticks": list(ticks), "offered": offered, "fraction": fraction}


def get_settings(spec: type[BaseModel]) -> dict[str, FieldInfo]:
    """The user settings, in the order of the spec."""
    return {name: info for name, info in spec.model_fields.items() if info.title}


def fields_at(spec: type[BaseModel], *levels: Level) -> tuple[str, ...]:
    """The names of the settings at these levels, in the order of the spec."""
    return tuple(name for name, info in get_settings(spec).items() if get_level(info) in levels)


def branch_fields(spec: type[BaseModel]) -> tuple[str, ...]:
    """The names of the settings that a branch may change, in the order of the spec."""
    return tuple(name for name, info in get_settings(spec).items() if may_branch(info))


def get_level(info: FieldInfo) -> Level:
    """Level of a field; advanced by default."""
    return cast(Level, get_extra(info).get("level", "advanced"))


def may_branch(info: FieldInfo) -> bool:
    """True if a branch may change the field; False by default."""
    return bool(get_extra(info).get("branch", False))


def get_ticks(info: FieldInfo) -> list[float]:
    """The common values of a number; may be empty."""
    return list(cast(list[float], get_extra(info).get("ticks", [])))


def is_offered(info: FieldInfo) -> bool:
    """True if the values form a list that depends on other settings."""
    return bool(get_extra(info).get("offered", False))


def is_fraction(info: FieldInfo) -> bool:
    """True if the number is a part of a whole, from 0 to 1."""
    return bool(get_extra(info).get("fraction", False))


def get_extra(info: FieldInfo) -> JsonDict:
    """The result of `setting`; empty for other fields."""
    return info.json_schema_extra if isinstance(info.json_schema_extra, dict) else {}
