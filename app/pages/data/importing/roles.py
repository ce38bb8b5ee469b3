"""Which column plays which role, while the columns are being chosen."""

from dataclasses import asdict, dataclass
from typing import Self

from pydantic import ValidationError

from engine.config.dataset import Mapping

ROLES = tuple(Mapping.model_fields)


@dataclass(frozen=True)
class Roles:
    """The columns as in a `Mapping`; None for a role that no column plays."""

    text: str | None = None
    pair: str | None = None
    label: str | None = None
    flags: tuple[str, ...] = ()
    tags: str | None = None
    answers: str | None = None
    beginning: str | None = None
    negative: str | None = None
    endings: tuple[str, ...] = ()

    @classmethod
    def of(cls, mapping: Mapping | None) -> Self:
        """Those of a mapping; none where there is none."""
        return cls() if mapping is None else cls(**mapping.model_dump())

    @property
    def columns(self) -> dict[str, str]:
        """The columns in use, and the role that each plays; the last where it plays two."""
        roles = ((role, getattr(self, role)) for role in ROLES)
        return {
            column: role
            for role, value in roles
            for column in (value if isinstance(value, tuple) else (value,))
            if column is not None
        }

    def mapping(self) -> Mapping | None:
        """As a mapping; None while there is no text or one column has two roles."""
        try:
            return Mapping.model_validate(asdict(self))
        except ValidationError:
            return None
