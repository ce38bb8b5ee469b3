"""Runs of a job that is asked for again."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic_core import from_json
from sqlalchemy import select
from sqlalchemy.orm import Session

from engine.config.job import JobSpec
from engine.record.runs import WAITING, WORKING, Run, State
from engine.runs.groups import expand

KNOWN: tuple[State, ...] = ("finished", *WORKING, *WAITING)


@dataclass(frozen=True)
class SameJob:
    """The newest run of the same job, and the next seed that no such run has."""

    run_id: str
    ended: datetime | None
    metric: str
    score: float | None
    free_seed: int


def find_same(session: Session, job: JobSpec) -> SameJob | None:
    """Find the runs that are finished, working or queued and do the same as this job.

    None if the job, or one of its runs, is new. Names do not matter.
    """
    query = select(Run).where(Run.state.in_(KNOWN)).order_by(Run.created.desc(), Run.id.desc())
    runs = [(run, _essence(from_json(run.job))) for run in session.scalars(query)]
    found = [_same_run(runs, planned) for planned in expand(job)]
    if not found or not all(found):
        return None
    seed, first = job.training.seed, found[0]
    assert first is not None
    used = {essence["training"]["seed"] for _, essence in runs if _is_other_seed(essence, first[1])}
    count = job.training.seeds
    while any(number in used for number in range(seed, seed + count)):
        seed += 1
    run = first[0]
    return SameJob(run.id, run.ended, run.best_metric, run.best_score, seed)


Essence = dict[str, Any]


def _same_run(runs: list[tuple[Run, Essence]], job: JobSpec) -> tuple[Run, Essence] | None:
    wanted = _essence(from_json(job.model_dump_json()))
    return next(((run, essence) for run, essence in runs if essence == wanted), None)


def _essence(job: dict[str, Any]) -> Essence:
    """All that decides the result of a run; of its group, only the search."""
    group, features = job.get("group") or {}, job.get("features") or {}
    return {
        **{key: value for key, value in job.items() if key not in ("name", "group")},
        "features": {key: value for key, value in features.items() if key != "cache"},
        "search": group.get("search"),
    }


def _is_other_seed(essence: Essence, other: Essence) -> bool:
    def without_seed(item: Essence) -> Essence:
        training = {k: v for k, v in item["training"].items() if k != "seed"}
        return item | {"training": training}

    return without_seed(essence) == without_seed(other)
