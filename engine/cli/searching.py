"""Several values for a field on the command line: `--set training.batch_size=16,32`."""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, cast, get_args, get_origin

from pydantic import BaseModel, JsonValue
from pydantic.fields import FieldInfo

from engine.cli.options import FieldOptions
from engine.cli.stored import require_dataset
from engine.config.dataset import StoredData
from engine.config.families import FAMILIES
from engine.config.fields import is_fraction
from engine.config.job import FromCheckpoint, JobSpec
from engine.config.search import Method, SearchField, SearchSpec, field_at
from engine.config.tasks import TASKS
from engine.config.training import TrainingSpec
from engine.config.typed_numbers import parse_probability
from engine.errors import StudioError
from engine.files.untrusted import check_folder

WHOLE_PARTS = ("base_model", "data")  # parts of a job that a text can name
SEARCH = FieldOptions("Several values", "", SearchSpec, ("budget", "hours", "stop_after", "prune"))
SEPARATOR, RANGE = ",", ".."


def split_assignments(assignments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Separate the assignments that may give several values from the others."""
    varied = [assignment for assignment in assignments if _may_vary(assignment.partition("=")[2])]
    return varied, [assignment for assignment in assignments if assignment not in varied]


def _may_vary(text: str) -> bool:
    try:
        return isinstance(json.loads(text), list)
    except ValueError:
        return SEPARATOR in text or RANGE in text


def text_assignments(job: JobSpec, varied: Sequence[str]) -> list[str]:
    """Assignments to fields of text or lists, in which a comma does not separate values."""
    return [text for text in varied if _is_text(field_at(job, text.partition("=")[0]))]


def _is_text(info: FieldInfo | None) -> bool:
    return info is not None and any(
        kind is str or get_origin(kind) in (tuple, dict) for kind in _kinds(info)
    )


def parse_search(
    job: JobSpec, varied: Sequence[str], method: str | None, options: Mapping[str, Any]
) -> SearchSpec | None:
    """The search on a command line; None if each field has one value.

    Raises StudioError for a method or a budget without several values, and for unreadable values.
    """
    if not varied:
        if method is not None or options:
            raise StudioError(
                "A search needs a field with several values.",
                "Add for example --set training.learning_rate=1e-5,3e-5,1e-4.",
            )
        return None
    fields = tuple(_parse_field(job, assignment) for assignment in varied)
    return SearchSpec(fields=fields, method=cast(Method, method or "grid"), **options)


def first_value(field: SearchField) -> JsonValue:
    """The value of the job itself for a field of its search."""
    if field.values:
        return field.values[0]
    return int(field.low or 0) if field.whole else field.low


def _parse_field(job: JobSpec, assignment: str) -> SearchField:
    path, _, text = assignment.partition("=")
    info = field_at(job, path)
    if info is None:
        raise StudioError("A job has no field “{path}”.", "See an existing job file.", path=path)
    ends = text.split(RANGE)
    if len(ends) == 2 and (numbers := _parse_bounds(path, ends)) is not None:
        low, high = numbers
        return SearchField.from_range(path, low, high, whole=int in _kinds(info))
    return SearchField(path=path, values=tuple(_parse_value(path, info, v) for v in _split(text)))


def _parse_bounds(path: str, ends: Sequence[str]) -> list[float] | None:
    try:
        return [float(parse_value(path, end)) for end in ends]
    except (TypeError, ValueError):
        return None


def _split(text: str) -> list[Any]:
    try:
        parsed = json.loads(text)
    except ValueError:
        return text.split(SEPARATOR)
    return parsed if isinstance(parsed, list) else [parsed]


def _parse_value(path: str, info: FieldInfo, text: Any) -> JsonValue:
    """One of several values as JSON; data sets and models by name or folder."""
    if not isinstance(text, str):
        return cast(JsonValue, parse_value(path, json.dumps(text)))
    if path in WHOLE_PARTS:
        return parse_part(path, text)
    kinds = _kinds(info)
    if Path in kinds:
        return str(Path(text.strip()).absolute())
    return cast(JsonValue, parse_value(path, text))


@cache
def fraction_fields() -> frozenset[str]:
    """The names of all fields that are a fraction, in any part of a job."""
    specs: list[type[BaseModel]] = [TrainingSpec, *TASKS.values()]
    specs += [family.spec for family in FAMILIES.values()]
    fields = (item for spec in specs for item in spec.model_fields.items())
    return frozenset(name for name, info in fields if is_fraction(info))


def parse_value(path: str, text: str) -> Any:
    """A value for the field at a path, parsed as JSON if possible; 10 % of a fraction is 0.1."""
    if path.rpartition(".")[2] in fraction_fields():
        fraction = parse_probability(text)
        if fraction is not None:
            return fraction
    try:
        return json.loads(text)
    except ValueError:
        return text.strip()


def parse_part(path: str, text: str) -> dict[str, JsonValue]:
    """A base model by its folder, or a stored data set by name or folder, as in a job.

    Raises StudioError if there is no such folder or data set.
    """
    folder = Path(text.strip())
    if path == "base_model":
        check_folder(folder.absolute())
        return FromCheckpoint(path=folder.absolute()).model_dump(mode="json")
    dataset = require_dataset(folder)
    data = StoredData(folder=dataset.folder.absolute(), fingerprint=dataset.spec.fingerprint)
    return data.model_dump(mode="json")


def _kinds(info: FieldInfo) -> tuple[object, ...]:
    return (info.annotation, *get_args(info.annotation))
