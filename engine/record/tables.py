"""The base of all tables, and the types of columns that SQLite lacks."""

from datetime import UTC, datetime
from pathlib import Path

from sqlalchemy import Dialect, MetaData, String
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.types import TypeDecorator


class Table(DeclarativeBase):
    """Every table of the record; constraints have names so that a migration can change them."""

    metadata = MetaData(
        naming_convention={
            "pk": "pk_%(table_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s",
            "ix": "ix_%(table_name)s_%(column_0_name)s",
        }
    )


class Moment(TypeDecorator[datetime]):
    """A point in time, kept as text in UTC: SQLite has no times, and none should lose its zone."""

    impl = String
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> str | None:
        return None if value is None else value.astimezone(UTC).isoformat(timespec="microseconds")

    def process_result_value(self, value: str | None, dialect: Dialect) -> datetime | None:
        return None if value is None else datetime.fromisoformat(value)


class Place(TypeDecorator[Path]):
    """A folder, absolute."""

    impl = String
    cache_ok = True

    def process_bind_param(self, value: Path | None, dialect: Dialect) -> str | None:
        return None if value is None else str(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> Path | None:
        return None if value is None else Path(value)
