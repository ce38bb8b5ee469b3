"""A job that asks for several runs: one for each seed, told together afterwards."""

import statistics
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from engine.spec.job import LONGEST_NAME, JobSpec, Part

SUMMARY = "summary.json"  # in the folder of the whole, where it was trained without a window


def split(job: JobSpec) -> tuple[JobSpec, ...]:
    """The jobs of the runs that `job` asks for; a job for one run is its own."""
    count = job.training.seeds
    if count == 1:
        return (job,)
    group = uuid.uuid4().hex
    jobs = []
    for seed in range(job.training.seed, job.training.seed + count):
        suffix = f" · seed {seed}"
        jobs.append(
            job.model_copy(
                update={
                    "name": job.name[: LONGEST_NAME - len(suffix)] + suffix,
                    "training": job.training.model_copy(update={"seed": seed, "seeds": 1}),
                    "part": Part(group=group, name=job.name, runs=count),
                }
            )
        )
    return tuple(jobs)


def folder_of(job: JobSpec) -> str:
    """The name of a part's folder below that of the whole."""
    return f"seed-{job.training.seed}"


@dataclass(frozen=True)
class Spread:
    """A figure over several runs: mean, standard deviation (n - 1) where there are two, and n."""

    mean: float
    deviation: float | None
    runs: int


def spread(values: Sequence[float]) -> Spread | None:
    """None where there is no value."""
    if not values:
        return None
    deviation = statistics.stdev(values) if len(values) > 1 else None
    return Spread(statistics.fmean(values), deviation, len(values))
