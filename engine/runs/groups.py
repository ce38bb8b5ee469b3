"""A job that asks for several runs, told together afterwards: one for each seed, or for each row
of a layer sweep."""

import statistics
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.phrases import phrase
from engine.spec.features import LAYER_SWEEP, PAPER
from engine.spec.job import RUN_NAME_LENGTH, JobSpec, RunGroup

SUMMARY = "summary.json"  # in the folder of the whole, where it was trained without a window


def split(job: JobSpec, vectors: Path | None = None) -> tuple[JobSpec, ...]:
    """The jobs of the runs that `job` asks for, by what is trained and then by seed.

    A job for one run is its own, but for the rate and the epochs of a reader. The runs of a layer
    bench keep their vectors together in a folder below `vectors`, named after their group.
    """
    rows = PAPER if job.features.vectors == LAYER_SWEEP else (job.features.vectors,)
    seeds = range(job.training.seed, job.training.seed + job.training.seeds)
    if len(rows) * len(seeds) == 1:
        return (_settled(job),)
    part = RunGroup(
        id=uuid.uuid4().hex,
        name=job.name,
        runs=len(rows) * len(seeds),
        vectors=rows if len(rows) > 1 else (),
    )
    cache = job.features.cache or (vectors / part.id if vectors else None)
    jobs = []
    for row in rows:
        for seed in seeds:
            said = ([row] if len(rows) > 1 else []) + (
                [phrase("seed {seed}", seed=seed)] if len(seeds) > 1 else []
            )
            suffix = "".join(f" · {word}" for word in said)
            one = job.model_copy(
                update={
                    "name": job.name[: RUN_NAME_LENGTH - len(suffix)] + suffix,
                    "training": job.training.model_copy(update={"seed": seed, "seeds": 1}),
                    "features": job.features.model_copy(update={"vectors": row, "cache": cache}),
                    "group": part,
                }
            )
            jobs.append(_settled(one))
    return tuple(jobs)


def _settled(job: JobSpec) -> JobSpec:
    """The job with the rate and the epochs of its reader, where one is trained."""
    if not job.features.trains_probe:
        return job
    own = {"learning_rate": job.features.learning_rate, "epochs": job.features.epochs}
    training = job.training.model_copy(update={**own, "lora_rank": 0})
    return job.model_copy(update={"training": training})


def folder_of(job: JobSpec, seeds: int) -> str:
    """The name of a part's folder below that of the whole, which asked for so many seeds."""
    is_row = job.group is not None and job.group.vectors
    said = [job.features.vectors.replace(" ", "-")] if is_row else []
    return "-".join(said + ([f"seed-{job.training.seed}"] if seeds > 1 else []))


@dataclass(frozen=True)
class Aggregate:
    """A figure over several runs: mean, standard deviation (n - 1) where there are two, and n."""

    mean: float
    deviation: float | None
    runs: int


def aggregate(values: Sequence[float]) -> Aggregate | None:
    """None where there is no value."""
    if not values:
        return None
    deviation = statistics.stdev(values) if len(values) > 1 else None
    return Aggregate(statistics.fmean(values), deviation, len(values))
