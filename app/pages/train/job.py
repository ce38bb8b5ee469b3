"""Conversion of choices to a job and back. No widgets."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from app.pages.train.choices import (
    BASE_MODEL,
    CUSTOM_SIZE,
    DATA,
    Choices,
    Data,
    Goal,
    Model,
    Scratch,
    SearchPlan,
)
from engine.config.dataset import DataSource, StoredData
from engine.config.families.bert import PRESETS
from engine.config.job import RUN_NAME_LENGTH, BaseModelSource, FromCheckpoint, FromScratch, JobSpec
from engine.config.recommended import RECIPE_FIELDS
from engine.config.search import Range, SearchField


def compose_job(choices: Choices) -> JobSpec:
    """Compose the job of the choices.

    Raises:
        ValueError: a choice is missing, or values are incompatible (from pydantic).
    """
    if choices.goal is None or choices.data is None:
        raise ValueError("task and data are not chosen yet")
    return JobSpec(
        name=choices.name.strip() or suggested_name(choices),
        task=choices.task,
        base_model=_base_model(choices),
        data=choices.data.source,
        training=choices.training,
        features=choices.probe,
        hardware=choices.hardware,
        search=choices.search,
    )


def _base_model(choices: Choices) -> BaseModelSource:
    if choices.from_scratch:
        spec = choices.network
        assert spec is not None
        vocabulary = choices.scratch.vocabulary
        return FromScratch(
            model=spec,
            tokenizer=vocabulary.path if vocabulary else None,
            lowercase=choices.scratch.lowercase,
            warm_init=choices.scratch.warm_init and not choices.is_causal,
        )
    if choices.model is None:
        raise ValueError("no model is chosen yet")
    return FromCheckpoint(path=choices.model.path)


def suggested_name(choices: Choices) -> str:
    """Return a name made of the data and the base model."""
    data = choices.data.name if choices.data else ""
    if choices.from_scratch:
        model = f"BERT {choices.scratch.size}"
    else:
        model = choices.model.name if choices.model else ""
    return " · ".join(part for part in (data, model) if part)[:RUN_NAME_LENGTH] or "run"


def choices_from_job(job: JobSpec, datasets: list[Data], models: list[Model]) -> Choices:
    """The choices that compose `job`, to change something and start it again.

    Data sets and models that are not in the lists (any more) are named as in the job.
    """
    data = next(
        (d for d in datasets if d.source == job.data or _same_folder(d.source, job.data)),
        Data(job.data.name, job.data),
    )
    if isinstance(job.data, StoredData) and job.data.target is not None:
        data = data.with_target(job.data.target)
    choices = replace(
        Choices(),
        data=data,
        features=job.features.model_copy(update={"cache": None}),
        hardware=job.hardware,
        name=job.name,
        **_search_choices(job),
    )
    choices = replace(choices, goal=_job_goal(job)).with_task(job.task)
    if isinstance(job.base_model, FromScratch):
        choices = replace(choices, scratch=_scratch_choices(job.base_model, models))
    else:
        choices = replace(choices, model=_model_at(job.base_model.path, models))
    quick = choices.with_recipe("quick")
    if quick.quick and all(
        getattr(quick.defaults, n) == getattr(job.training, n) for n in RECIPE_FIELDS
    ):
        choices = quick
    return choices.with_set_by_user(dict(job.training))


def _search_choices(job: JobSpec) -> dict[str, Any]:
    """The varied fields and the plan of a job; a range is shown by its ends."""
    if job.search is None:
        return {}
    fields = {
        item.path: item.values[1:] if item.path in (BASE_MODEL, DATA) else _values(item)
        for item in job.search.fields
    }
    return {"varied": fields, "plan": SearchPlan(**job.search.model_dump(exclude={"fields"}))}


def _values(field: SearchField) -> tuple[Any, ...]:
    if field.values or field.low is None or field.high is None:
        return field.values
    low, high = field.low, field.high
    return (Range(int(low), int(high)) if field.whole else Range(low, high),)


def _job_goal(job: JobSpec) -> Goal:
    can_start_from_scratch = job.task.info.from_scratch is not None
    return Goal(job.task.kind, can_start_from_scratch and isinstance(job.base_model, FromScratch))


def _scratch_choices(source: FromScratch, models: list[Model]) -> Scratch:
    size = next(
        (
            name
            for name, preset in PRESETS.items()
            if preset.model_copy(
                update={"vocab_size": source.model.vocab_size, "causal": source.model.causal}
            )
            == source.model
        ),
        CUSTOM_SIZE,
    )
    return Scratch(
        size=size,
        custom=source.model,
        vocabulary=_model_at(source.tokenizer, models) if source.tokenizer else None,
        vocab_size=source.model.vocab_size,
        lowercase=source.lowercase,
        warm_init=source.warm_init,
    )


def _model_at(path: Path, models: list[Model]) -> Model:
    return next((m for m in models if m.path == path), Model(path.name, path))


def _same_folder(item: DataSource, other: DataSource) -> bool:
    return (
        isinstance(item, StoredData)
        and isinstance(other, StoredData)
        and item.folder == other.folder
    )
