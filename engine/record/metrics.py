"""Curves of all runs, in one table."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, overload

from sqlalchemy import ForeignKey, Integer, cast, func, select
from sqlalchemy.orm import Mapped, Session, mapped_column

from engine.messages.events import Measured
from engine.record.runs import Run
from engine.record.tables import Table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Steps = NDArray[np.int64]
    Values = NDArray[np.float64]

TIE_BREAKER = "validation_loss"  # lower is better, if the scores of two steps are equal
SLICE = 2_000  # points that are Python objects at a time


@dataclass(frozen=True, eq=False)
class Points:
    """A part of one curve."""

    steps: "Steps"  # int64 [N], ascending
    values: "Values"  # float64 [N]; NaN where a value was not finite
    not_finite: tuple[tuple[int, str], ...] = ()  # steps and statuses of these values

    def __len__(self) -> int:
        return len(self.steps)

    def finite(self) -> "Pairs":
        if not self.not_finite:
            return Pairs(self.steps, self.values)
        is_finite = self.values == self.values
        return Pairs(self.steps[is_finite], self.values[is_finite])


class Pairs(Sequence[tuple[int, float]]):
    """Pairs of step and value, created lazily."""

    def __init__(self, steps: "Steps", values: "Values") -> None:
        self._steps, self._values = steps, values

    def __len__(self) -> int:
        return len(self._steps)

    @overload
    def __getitem__(self, index: int) -> tuple[int, float]: ...
    @overload
    def __getitem__(self, index: slice) -> "Pairs": ...
    def __getitem__(self, index: int | slice) -> "tuple[int, float] | Pairs":
        if isinstance(index, slice):
            return Pairs(self._steps[index], self._values[index])
        return int(self._steps[index]), float(self._values[index])


class Metric(Table):
    """One point of a curve. `value` is NULL if it was not finite, as `status` says."""

    __tablename__ = "metrics"
    __table_args__ = ({"sqlite_with_rowid": False},)

    run_id: Mapped[str] = mapped_column(ForeignKey(Run.id, ondelete="CASCADE"), primary_key=True)
    name: Mapped[str] = mapped_column(primary_key=True)
    step: Mapped[int] = mapped_column(primary_key=True)
    value: Mapped[float | None]
    status: Mapped[str]


BATCH = 250  # points in one statement, which saves a third of the time
ADD = (
    "INSERT INTO metrics (run_id, name, step, value, status) VALUES {rows}"
    " ON CONFLICT DO UPDATE SET value = excluded.value, status = excluded.status"
)
ROW = "(?, ?, ?, ?, ?)"

BEST = (
    "SELECT score.step, score.value FROM metrics AS score LEFT JOIN metrics AS loss"
    " ON loss.run_id = score.run_id AND loss.name = ? AND loss.step = score.step"
    " WHERE score.run_id = ? AND score.name = ? AND score.value IS NOT NULL"
    " ORDER BY score.value {order}, loss.value ASC NULLS LAST, score.step LIMIT 1"
)


def add_metrics(session: Session, run_id: str, points: Sequence[Measured]) -> None:
    """Record `points`; a step measured again after a resume replaces the old value.

    Uses the driver directly, because the ORM would take as long as everything else together.
    """
    rows = [(run_id, point.name, point.step, point.value, point.status) for point in points]
    rest = len(rows) % BATCH
    for first in range(0, len(rows) - rest, BATCH):
        many = tuple(chain.from_iterable(rows[first : first + BATCH]))
        session.connection().exec_driver_sql(ADD.format(rows=", ".join([ROW] * BATCH)), many)
    if rest:
        session.connection().exec_driver_sql(ADD.format(rows=ROW), rows[-rest:])


def curves(session: Session, run_id: str) -> dict[str, Points]:
    return {name: read_points(session, run_id, name) for name in list_names(session, run_id)}


def list_names(session: Session, run_id: str) -> list[str]:
    """Names of the curves of a run, by one index lookup per name."""
    names: list[str] = []
    after = ""
    while True:
        query = select(func.min(Metric.name)).where(Metric.run_id == run_id, Metric.name > after)
        name = session.scalar(query)
        if name is None:
            return names
        names.append(name)
        after = name


def read_points(session: Session, run_id: str, name: str) -> Points:
    """Read one curve of a run; empty if it was not measured.

    Uses the driver directly, in slices: an ORM row for each point would hold the GIL, and so block
    the window, ten times as long, and a million points as objects take 300 MB.
    """
    import numpy as np  # the window starts without it

    of_curve = (Metric.run_id == run_id, Metric.name == name)
    count = session.scalar(select(func.count()).select_from(Metric).where(*of_curve)) or 0
    query = "SELECT step, value, status FROM metrics WHERE run_id = ? AND name = ? ORDER BY step"
    read: Any = session.connection().exec_driver_sql(query, (run_id, name)).cursor
    steps, values = np.empty(count, np.int64), np.empty(count, np.float64)
    not_finite: list[tuple[int, str]] = []
    end = 0
    while end < count and (rows := read.fetchmany(min(SLICE, count - end))):
        first, end = end, end + len(rows)
        steps[first:end] = [row[0] for row in rows]
        values[first:end] = [row[1] for row in rows]  # None becomes NaN
        not_finite += [(step, status) for step, value, status in rows if value is None]
    read.close()
    return Points(steps[:end], values[:end], tuple(not_finite))


def get_values(
    session: Session, run_id: str, name: str, steps: Sequence[int] | None = None
) -> dict[int, float | None]:
    """Values of one curve by step, optionally only at `steps`; None if a value was not finite."""
    query = select(Metric.step, Metric.value).where(Metric.run_id == run_id, Metric.name == name)
    if steps is not None:
        query = query.where(Metric.step.in_(steps))
    return {row.step: row.value for row in session.execute(query)}


When = Literal["at best", "last", "lowest", "highest"]
"""A point of a curve: at the best checkpoint, the last one, the lowest or the highest."""


def get_values_by_run(
    session: Session, name: str, when: When, run_ids: Sequence[str] | None = None
) -> dict[str, float]:
    """One value of `name` for each run that measured it, by run id; all runs by default.

    A run without a best checkpoint has no value “at best”; values that are not finite are left out.
    """
    values = select(Metric.value).where(Metric.run_id == Run.id, Metric.name == name)
    match when:
        case "at best":
            value = values.where(Metric.step == Run.best_step)
        case "last":
            value = values.order_by(Metric.step.desc()).limit(1)
        case _:
            extreme = func.min(Metric.value) if when == "lowest" else func.max(Metric.value)
            value = values.with_only_columns(extreme)
    query = select(Run.id, value.scalar_subquery().label("value"))
    if run_ids is not None:
        query = query.where(Run.id.in_(run_ids))
    return {row.id: row.value for row in session.execute(query) if row.value is not None}


def get_value(session: Session, run_id: str, name: str, step: int) -> float | None:
    """One point of a curve; None if it was not measured or not finite."""
    metric = session.get(Metric, (run_id, name, step))
    return None if metric is None else metric.value


def sparkline(session: Session, run_id: str, name: str, points: int = 60) -> list[float]:
    """The shape of a curve in at most `points` values, each the mean over a span of steps."""
    of_curve = (Metric.run_id == run_id, Metric.name == name, Metric.value.is_not(None))
    first, last = session.execute(
        select(func.min(Metric.step), func.max(Metric.step)).where(*of_curve)
    ).one()
    if first is None:
        return []
    point = cast((Metric.step - first) * points / (last - first + 1), Integer)
    return list(
        session.scalars(
            select(func.avg(Metric.value)).where(*of_curve).group_by(point).order_by(point)
        )
    )


def best_point(session: Session, run_id: str, name: str, highest: bool) -> tuple[int, float] | None:
    """Step and value of the best finite point.

    Ties are broken by the lowest validation loss, then the earliest step, as the worker compares
    its checkpoints (`engine.training.evaluation`).
    """
    query = BEST.format(order="DESC" if highest else "ASC")
    parameters = (TIE_BREAKER, run_id, name)
    row = session.connection().exec_driver_sql(query, parameters).one_or_none()
    return None if row is None else (row[0], row[1])
