"""Base class of the tables, column types that SQLite lacks, and facts about the record."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import JSON, Dialect, MetaData, String, delete, select
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column
from sqlalchemy.types import TypeDecorator

from engine.phrases import from_json, to_json


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
    """A point in time, stored as UTC text, because SQLite has no date type."""

    impl = String
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> str | None:
        return None if value is None else value.astimezone(UTC).isoformat(timespec="microseconds")

    def process_result_value(self, value: str | None, dialect: Dialect) -> datetime | None:
        return None if value is None else datetime.fromisoformat(value)


class PathColumn(TypeDecorator[Path]):
    """An absolute path."""

    impl = String
    cache_ok = True

    def process_bind_param(self, value: Path | None, dialect: Dialect) -> str | None:
        return None if value is None else str(value)

    def process_result_value(self, value: str | None, dialect: Dialect) -> Path | None:
        return None if value is None else Path(value)


class Sentence(TypeDecorator[str]):
    """A text for the user; a phrase is stored as JSON, so that it can be translated later."""

    impl = String
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        plain = to_json(value) if value is not None else None
        return plain if plain is None or isinstance(plain, str) else json.dumps(plain)

    def process_result_value(self, value: str | None, dialect: Dialect) -> str | None:
        if value is None or not value.startswith('{"key": '):
            return value
        try:
            return from_json(json.loads(value))
        except ValueError:  # a text that only begins like one
            return value


class Sentences(TypeDecorator[list[str]]):
    """A list of texts for the user."""

    impl = JSON
    cache_ok = True

    def process_bind_param(self, value: list[str] | None, dialect: Dialect) -> list[Any] | None:
        return None if value is None else [to_json(text) for text in value]

    def process_result_value(self, value: list[Any] | None, dialect: Dialect) -> list[str] | None:
        return None if value is None else [from_json(text) for text in value]


class About(Table):
    """One named fact about the record, such as the program that wrote it last."""

    __tablename__ = "about"

    key: Mapped[str] = mapped_column(primary_key=True)
    value: Mapped[str]


def get_fact(session: Session, key: str) -> str | None:
    return session.scalar(select(About.value).where(About.key == key))


def set_fact(session: Session, key: str, value: str) -> None:
    upsert = insert(About).values(key=key, value=value)
    session.execute(upsert.on_conflict_do_update(set_={"value": value}))


def delete_fact(session: Session, key: str) -> None:
    session.execute(delete(About).where(About.key == key))
