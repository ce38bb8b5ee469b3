"""What the record says about itself: who wrote it last, and where its home stood."""

from sqlalchemy import delete, select
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.orm import Mapped, Session, mapped_column

from engine.record.tables import Table


class About(Table):
    """One named fact."""

    __tablename__ = "about"

    key: Mapped[str] = mapped_column(primary_key=True)
    value: Mapped[str]


def fact(session: Session, key: str) -> str | None:
    return session.scalar(select(About.value).where(About.key == key))


def set_fact(session: Session, key: str, value: str) -> None:
    upsert = insert(About).values(key=key, value=value)
    session.execute(upsert.on_conflict_do_update(set_={"value": value}))


def forget_fact(session: Session, key: str) -> None:
    session.execute(delete(About).where(About.key == key))
