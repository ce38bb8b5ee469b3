"""Data sets: the versions that stand in the home folder."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from pydantic import ValidationError
from sqlalchemy import delete, select
from sqlalchemy.orm import Mapped, Session, mapped_column

from engine.record.tables import Moment, Place, Table
from engine.spec.dataset import DatasetSpec


class DatasetVersion(Table):
    """One immutable version of a data set."""

    __tablename__ = "datasets"

    folder: Mapped[Path] = mapped_column(Place, primary_key=True)
    name: Mapped[str]
    version: Mapped[int]
    rows: Mapped[int]
    fingerprint: Mapped[str] = mapped_column(index=True)
    imported: Mapped[datetime] = mapped_column(Moment)


def all_datasets(session: Session) -> Sequence[DatasetVersion]:
    """Every version, by name and number."""
    return session.scalars(
        select(DatasetVersion).order_by(DatasetVersion.name, DatasetVersion.version)
    ).all()


def match_datasets(session: Session, datasets: Path) -> None:
    """Make the rows say what stands on the disk; a version whose spec is damaged is left out."""
    known = set(session.scalars(select(DatasetVersion.folder)))
    standing = {spec.parent for spec in datasets.glob("[!.]*/[!.]*/spec.json")}
    for gone in known - standing:
        session.execute(delete(DatasetVersion).where(DatasetVersion.folder == gone))
    for folder in standing - known:
        if (version := _version(folder)) is not None:
            session.add(version)
    session.flush()


def _version(folder: Path) -> DatasetVersion | None:
    file = folder / "spec.json"
    try:
        spec = DatasetSpec.model_validate_json(file.read_bytes())
    except (OSError, ValidationError):
        return None
    return DatasetVersion(
        folder=folder,
        name=spec.name,
        version=spec.version,
        rows=sum(spec.rows.values()),
        fingerprint=spec.fingerprint,
        imported=datetime.fromtimestamp(file.stat().st_mtime).astimezone(),
    )
