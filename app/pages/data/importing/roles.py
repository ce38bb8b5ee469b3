"""Roles of the columns while they are being chosen."""

from dataclasses import asdict, dataclass, replace
from typing import Any, Self

from pydantic import ValidationError

from engine.config.dataset import Mapping
from engine.config.joined_texts import source_columns

ROLES = tuple(Mapping.model_fields)


@dataclass(frozen=True)
class Roles:
    """Columns as in a `Mapping`; None for an unassigned role."""

    text: str | None = None
    pair: str | None = None
    label: str | None = None
    flags: tuple[str, ...] = ()
    tags: str | None = None
    answers: str | None = None
    beginning: str | None = None
    negative: str | None = None
    endings: tuple[str, ...] = ()
    coders: tuple[str, ...] = ()

    @classmethod
    def from_mapping(cls, mapping: Mapping | None) -> Self:
        """Roles of a mapping; empty for None."""
        return cls() if mapping is None else cls(**mapping.model_dump())

    @property
    def columns(self) -> dict[str, str]:
        """Role of each used column; the last one if it has two."""
        roles = ((role, getattr(self, role)) for role in ROLES)
        return {
            column: role
            for role, value in roles
            for name in (value if isinstance(value, tuple) else (value,))
            if name is not None
            for column in source_columns(name)
        }

    def assign(self, column: str, role: str | None) -> Self:
        """Give a column this role instead of its present one; None for no role."""
        values: dict[str, Any] = {
            name: tuple(x for x in value if x != column)
            if isinstance(value, tuple)
            else (None if value is not None and column in source_columns(value) else value)
            for name, value in asdict(self).items()
        }
        if role is not None:
            several = isinstance(values[role], tuple)
            values[role] = (*values[role], column) if several else column
        return type(self)(**values)

    def with_coders(self, coders: tuple[str, ...]) -> Self:
        """Read these columns as the labels of several coders instead of in their other roles."""
        label = None if self.label in coders else self.label
        flags = tuple(name for name in self.flags if name not in coders)
        return replace(self, label=label, flags=flags, coders=coders)

    def mapping(self) -> Mapping | None:
        """Convert to a Mapping; None without a text column or if the roles are inconsistent."""
        try:
            return self.validated()
        except ValidationError:
            return None

    def validated(self) -> Mapping:
        """Convert to a Mapping. Raises ValidationError if the roles are inconsistent."""
        return Mapping.model_validate(asdict(self))
