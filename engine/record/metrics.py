"""Curves: one table for the points of all runs."""

from collections.abc import Sequence

from sqlalchemy import ForeignKey, Integer, and_, cast, func, select
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.orm import Mapped, Session, aliased, mapped_column

from engine.messages.events import Measured
from engine.record.runs import Run
from engine.record.tables import Table

TIE_BREAKER = "validation_loss"  # lower is better, where the scores of two steps are equal
Point = tuple[int, float | None, str]  # step, value, status


class Metric(Table):
    """One point of a curve. `value` is NULL where it was not finite, and `status` says how."""

    __tablename__ = "metrics"
    __table_args__ = ({"sqlite_with_rowid": False},)

    run_id: Mapped[str] = mapped_column(ForeignKey(Run.id, ondelete="CASCADE"), primary_key=True)
    name: Mapped[str] = mapped_column(primary_key=True)
    step: Mapped[int] = mapped_column(primary_key=True)
    value: Mapped[float | None]
    status: Mapped[str]


def add_metrics(session: Session, run_id: str, points: Sequence[Measured]) -> None:
    """Record `points`; a step measured again after a resume replaces the old value."""
    rows = [
        {"run_id": run_id, "name": p.name, "step": p.step, "value": p.value, "status": p.status}
        for p in points
    ]
    upsert = insert(Metric)
    new = {"value": upsert.excluded.value, "status": upsert.excluded.status}
    if rows:
        session.execute(upsert.on_conflict_do_update(set_=new), rows)


def curves(session: Session, run_id: str) -> dict[str, list[Point]]:
    """All curves of a run by name."""
    found: dict[str, list[Point]] = {}
    wanted = select(Metric.name, Metric.step, Metric.value, Metric.status)
    for name, step, value, status in session.execute(
        wanted.where(Metric.run_id == run_id).order_by(Metric.name, Metric.step)
    ):
        found.setdefault(name, []).append((step, value, status))
    return found


def values_of(session: Session, run_id: str, name: str) -> dict[int, float | None]:
    """One curve of a run, by step; None where a value was not finite."""
    wanted = select(Metric.step, Metric.value).where(Metric.run_id == run_id, Metric.name == name)
    return {row.step: row.value for row in session.execute(wanted)}


def value_at(session: Session, run_id: str, name: str, step: int) -> float | None:
    """One point of a curve; None where it was not measured, or not finite."""
    found = session.get(Metric, (run_id, name, step))
    return None if found is None else found.value


def sparkline(session: Session, run_id: str, name: str, points: int = 60) -> list[float]:
    """The shape of a curve in at most `points` values, each the mean of a stretch of steps."""
    of_curve = (Metric.run_id == run_id, Metric.name == name, Metric.value.is_not(None))
    first, last = session.execute(
        select(func.min(Metric.step), func.max(Metric.step)).where(*of_curve)
    ).one()
    if first is None:
        return []
    stretch = cast((Metric.step - first) * points / (last - first + 1), Integer)
    return list(
        session.scalars(
            select(func.avg(Metric.value)).where(*of_curve).group_by(stretch).order_by(stretch)
        )
    )


def extreme(session: Session, run_id: str, name: str, highest: bool) -> tuple[int, float] | None:
    """The step and the value of the best finite point.

    Of equals that with the lowest validation loss, then the earliest: as the worker compares
    its checkpoints (`engine.training.evaluation`).
    """
    order = Metric.value.desc() if highest else Metric.value.asc()
    loss = aliased(Metric)
    of_same_step = and_(
        loss.run_id == Metric.run_id, loss.step == Metric.step, loss.name == TIE_BREAKER
    )
    found = session.execute(
        select(Metric.step, Metric.value)
        .outerjoin(loss, of_same_step)
        .where(Metric.run_id == run_id, Metric.name == name, Metric.value.is_not(None))
        .order_by(order, loss.value.asc().nulls_last(), Metric.step)
        .limit(1)
    ).one_or_none()
    return None if found is None or found.value is None else (found.step, found.value)
