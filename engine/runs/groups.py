"""Expand a job into runs, one per seed, layer-sweep row or combination of values, and aggregate
their results.
"""

import statistics
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from engine.config.changes import as_text
from engine.config.features import LAYER_SWEEP, PAPER_VECTORS
from engine.config.job import RUN_NAME_LENGTH, JobSpec, RunGroup
from engine.config.search import field_at, with_values
from engine.messages.events import Ended, Measured, Saved
from engine.phrases import phrase
from engine.runs.folder import RunFolder
from engine.runs.searching import Combination, first_combinations, get_seeds

SUMMARY = "summary.json"  # in the folder of a group trained from the command line


def expand(job: JobSpec, features: Path | None = None) -> tuple[JobSpec, ...]:
    """The jobs of the runs of `job`, by row of the layer sweep and then by seed.

    A job for one run only gets the learning rate and the epochs of its probe, if any. The runs of a
    layer sweep share their features in a folder below `features`, named after the group. For a
    search, only the combinations known at the start are expanded.
    """
    if job.search is not None:
        group = create_group(job)
        return tuple(
            run
            for index, values in enumerate(first_combinations(job))
            for run in expand_combination(job, group, index, values)
        )
    rows = PAPER_VECTORS if job.features.vectors == LAYER_SWEEP else (job.features.vectors,)
    seeds = range(job.training.seed, job.training.seed + job.training.seeds)
    if len(rows) * len(seeds) == 1:
        return (_with_probe_settings(job),)
    group = RunGroup(
        id=uuid.uuid4().hex,
        name=job.name,
        runs=len(rows) * len(seeds),
        vectors=rows if len(rows) > 1 else (),
    )
    cache = job.features.cache or (features / group.id if features else None)
    runs = []
    for row in rows:
        features_spec = job.features.model_copy(update={"vectors": row, "cache": cache})
        base = job.model_copy(update={"features": features_spec})
        runs += [
            _seed_job(base, group, seed, len(seeds), row if group.vectors else "") for seed in seeds
        ]
    return tuple(runs)


def create_group(job: JobSpec) -> RunGroup:
    """Create the group that all runs of a search share."""
    assert job.search is not None
    seeds = get_seeds(job)
    return RunGroup(
        id=uuid.uuid4().hex,
        name=job.name,
        runs=job.search.limit * len(seeds),
        search=job.search,
        seeds=seeds,
    )


def expand_combination(
    job: JobSpec, group: RunGroup, index: int, values: Combination
) -> tuple[JobSpec, ...]:
    """The jobs of one combination of a search, one for each seed.

    `job` is the original job, or that of any of its runs.
    """
    assert group.search is not None
    base = with_values(job.model_copy(update={"group": None}), values)
    label = " · ".join(_format_value(job, path, value) for path, value in values.items())
    group = group.model_copy(update={"setting": index})
    return tuple(_seed_job(base, group, seed, len(group.seeds), label) for seed in group.seeds)


def _seed_job(job: JobSpec, group: RunGroup, seed: int, seeds: int, label: str) -> JobSpec:
    """The job of one run, with `label` and, if there are several, its seed in the name."""
    suffix = f" · {label}" if label else ""
    if seeds > 1:
        suffix += f" · {phrase('seed {seed}', seed=seed)}"
    suffix = suffix[: RUN_NAME_LENGTH // 2]
    update = {
        "name": group.name[: RUN_NAME_LENGTH - len(suffix)] + suffix,
        "training": job.training.model_copy(update={"seed": seed, "seeds": 1}),
        "group": group,
    }
    return _with_probe_settings(job.model_copy(update=update))


def _format_value(job: JobSpec, path: str, value: JsonValue) -> str:
    if isinstance(value, dict):
        return value_label(value)
    info = field_at(job, path)
    return f"{(info and info.title) or path} {as_text(value)}"


def value_label(value: dict[str, JsonValue]) -> str:
    """Short name of a base model, or of a data set and its label column, among searched values."""
    path = Path(str(value.get("path") or value.get("folder") or ""))
    name = f"{path.parent.name} {path.name}" if path.name.isdecimal() else path.name
    return f"{name} {value['target']}" if value.get("target") else name


def _with_probe_settings(job: JobSpec) -> JobSpec:
    """Use the learning rate and the epochs of the probe, if one is trained."""
    if not job.features.trains_probe:
        return job
    probe_settings = {"learning_rate": job.features.learning_rate, "epochs": job.features.epochs}
    training = job.training.model_copy(update={**probe_settings, "lora_rank": 0})
    return job.model_copy(update={"training": training})


def run_folder_name(job: JobSpec, seeds: int) -> str:
    """Folder name of a run inside its group's folder; `seeds` is the number of seeds."""
    if job.group is not None and job.group.search is not None:
        seed = f"-seed-{job.training.seed}" if len(job.group.seeds) > 1 else ""
        return f"combination-{job.group.setting + 1}{seed}"
    is_in_sweep = job.group is not None and job.group.vectors
    parts = [job.features.vectors.replace(" ", "-")] if is_in_sweep else []
    return "-".join(parts + ([f"seed-{job.training.seed}"] if seeds > 1 else []))


def comparable_job(job: JobSpec) -> JobSpec:
    return job.model_copy(
        update={
            "name": "",
            "training": job.training.model_copy(update={"seed": 0, "seeds": 1}),
            "features": job.features.model_copy(update={"cache": None}),
            "group": None,
        }
    )


def best_metrics(run: RunFolder) -> tuple[int, dict[str, float]]:
    """Step of the best checkpoint and its validation metrics.

    Without validation rows: the last step, and the last training loss.
    """
    best, last, loss = 0, 0, None
    points: dict[int, dict[str, float]] = {}
    for event in run.all_events():
        match event:
            case Saved(best=True, step=step):
                best = step
            case Measured(name="loss", step=step, value=value):
                last, loss = step, value
            case Measured(name=name, step=step, value=float(value)) if name.startswith(
                "validation_"
            ):
                points.setdefault(step, {})[name] = value
    if points:
        return best, points.get(best, {})
    return last, {} if loss is None else {"loss": loss}


def last_outcome(run: RunFolder) -> str:
    """Outcome of the last event, such as “finished”; empty if the run has not ended."""
    events = run.last_events()
    return events[-1].outcome if events and isinstance(events[-1], Ended) else ""


@dataclass(frozen=True)
class Aggregate:
    """A metric over runs: mean, sample standard deviation (None for one run), number of runs."""

    mean: float
    deviation: float | None
    runs: int


def aggregate(values: Sequence[float]) -> Aggregate | None:
    if not values:
        return None
    deviation = statistics.stdev(values) if len(values) > 1 else None
    return Aggregate(statistics.fmean(values), deviation, len(values))
