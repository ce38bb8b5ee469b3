"""Search spaces: several values for fields of a job, and a budget."""

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Self, TypeVar

from pydantic import BaseModel, Field, JsonValue, ValidationError
from pydantic.fields import FieldInfo

from engine.config import Spec
from engine.config.features import LAYER_SWEEP
from engine.config.fields import setting
from engine.config.problems import Problem
from engine.phrases import phrase

if TYPE_CHECKING:
    from engine.config.job import JobSpec

Method = Literal["grid", "random", "tpe"]
Values = Mapping[str, JsonValue]  # a combination: value by field path

METHODS: tuple[Method, ...] = ("grid", "random", "tpe")
SEARCHABLE = ("task", "base_model", "data", "training", "features", "hardware")
SEED, SEEDS = "training.seed", "training.seeds"
MAX_COMBINATIONS = 10_000


MIN_LOG_RATIO = 10  # high / low from which a range is sampled on a log scale


class Range(NamedTuple):
    """All numbers from `low` to `high`."""

    low: float
    high: float


class SearchField(Spec):
    """A field with several values, or with a range of them.

    `path` is as in `--set training.learning_rate=1e-5,3e-5`. Values are as in JSON. `log` samples a
    range on a log scale.
    """

    path: str = Field(min_length=1, max_length=200)
    values: tuple[JsonValue, ...] = ()
    low: float | None = None
    high: float | None = None
    log: bool = False
    whole: bool = False

    @classmethod
    def from_range(cls, path: str, low: float, high: float, whole: bool) -> Self:
        """A range of numbers, on a log scale if its ends are far apart."""
        log = low > 0 and high / low >= MIN_LOG_RATIO
        return cls(path=path, low=low, high=high, log=log, whole=whole)

    @property
    def is_range(self) -> bool:
        """True for a range, False for a list of values."""
        return not self.values


class SearchSpec(Spec):
    """The varied fields, how their values are combined, and the budget."""

    fields: tuple[SearchField, ...] = Field(min_length=1, max_length=50)
    method: Method = Field(
        "grid",
        title="Search method",
        description=(
            "Grid tries every combination, random some of them, and tpe (Optuna) chooses the next "
            "one from the scores so far."
        ),
        json_schema_extra=setting("elsewhere"),
    )
    budget: Annotated[int, Field(ge=0, le=MAX_COMBINATIONS)] = Field(
        0,
        title="Combinations to try",
        description="At most this many combinations; 0 = all of a grid, and 20 otherwise.",
        json_schema_extra=setting("elsewhere"),
    )
    hours: Annotated[float, Field(ge=0, le=100_000)] = Field(
        0.0,
        title="Time limit (hours of training)",
        description="No run is started after this many hours of training in total; 0 = no limit.",
        json_schema_extra=setting("elsewhere"),
    )
    stop_after: Annotated[int, Field(ge=0, le=MAX_COMBINATIONS)] = Field(
        0,
        title="Combinations without improvement",
        description="The search ends after this many combinations in a row without a better score;"
        " 0 = no limit.",
        json_schema_extra=setting("elsewhere"),
    )
    prune: bool = Field(
        False,
        title="Stop poor runs early (median pruning)",
        description=(
            "Stop a run whose best score is worse than the median of the finished runs at the same "
            "evaluation, or not a number, once 5 have finished."
        ),
        json_schema_extra=setting("elsewhere"),
    )

    @property
    def limit(self) -> int:
        """Maximum number of combinations to try."""
        total = combinations(self)
        if self.method == "grid":
            return min(total, self.budget or total)
        return min(total, self.budget or DEFAULT_BUDGET)

    @property
    def varied(self) -> tuple[SearchField, ...]:
        """The varied fields except the seed, since seeds repeat a combination."""
        return tuple(field for field in self.fields if field.path != SEED)


DEFAULT_BUDGET = 20  # combinations, for random and tpe


def combinations(search: SearchSpec) -> int:
    """Number of combinations; `MAX_COMBINATIONS` if a field is a range."""
    if any(field.is_range for field in search.varied):
        return MAX_COMBINATIONS
    return math.prod(len(field.values) for field in search.varied)


JobT = TypeVar("JobT", bound="JobSpec")


def with_values(job: JobT, values: Values) -> JobT:
    """The job with these values, and without a search.

    Raises ValidationError for invalid values or combinations.
    """
    raw = job.model_dump() | {"search": None}
    for path, value in values.items():
        _set_value(raw, path.split("."), value)
    return type(job).model_validate(raw)


def _set_value(raw: dict[str, Any], path: list[str], value: JsonValue) -> None:
    for part in path[:-1]:
        inner = raw.get(part)
        raw[part] = dict(inner) if isinstance(inner, dict) else {}
        raw = raw[part]
    raw[path[-1]] = value


def field_at(job: BaseModel, path: str) -> FieldInfo | None:
    """The field at a path of the job; None if the path does not exist."""
    first, *rest = path.split(".")
    info = type(job).model_fields.get(first)
    if info is None or not rest:
        return info
    inner = getattr(job, first)
    return field_at(inner, ".".join(rest)) if isinstance(inner, BaseModel) else None


def check_search(job: "JobSpec") -> Iterator[Problem]:
    """Yield the problems of a search: invalid values, and fields that are varied twice."""
    search = job.search
    if search is None:
        return
    paths = [field.path for field in search.fields]
    for path in paths:
        if path.split(".")[0] not in SEARCHABLE or field_at(job, path) is None:
            yield Problem(phrase("A job has no field “{path}”", path=path), ("search",))
            return
        matches = [other for other in paths if other == path or other.startswith(f"{path}.")]
        if len(matches) > 1:
            yield Problem(phrase("The field “{path}” is listed twice", path=path), ("search",))
            return
    if SEEDS in paths:
        text = phrase("Give several values to training.seed, not to training.seeds")
        yield Problem(text, ("search",))
    for field in search.fields:
        yield from _check_field(job, search, field)
    count = combinations(search)
    if search.method == "grid" and count > MAX_COMBINATIONS:
        text = phrase("A grid of {count:,} combinations is too large", count=count)
        yield Problem(text, ("search",))


def _check_field(job: "JobSpec", search: SearchSpec, field: SearchField) -> Iterator[Problem]:
    if field.is_range:
        yield from _check_range(search, field)
        values: tuple[JsonValue, ...] = tuple(
            int(end) if field.whole else end for end in (field.low, field.high) if end is not None
        )
    else:
        values = field.values
        if len({repr(value) for value in values}) < len(values):
            text = phrase("“{path}” has the same value twice", path=field.path)
            yield Problem(text, ("search",))
    for value in values:
        if value == LAYER_SWEEP:
            text = phrase("A layer sweep cannot be one of several values")
            yield Problem(text, ("search", "features.vectors"))
            return
        if (problem := _check_value(job, field.path, value)) is not None:
            text = phrase("“{path}” cannot be {value}: {why}", path=field.path, value=str(value),
                          why=problem)  # fmt: skip
            yield Problem(text, ("search",))


def _check_range(search: SearchSpec, field: SearchField) -> Iterator[Problem]:
    low, high = field.low, field.high
    if low is None or high is None or not math.isfinite(high - low) or low >= high:
        text = phrase("“{path}” needs values, or a range from low to high", path=field.path)
        yield Problem(text, ("search",))
    elif field.log and low <= 0:
        text = phrase("The range of “{path}” must be above 0", path=field.path)
        yield Problem(text, ("search",))
    elif search.method == "grid":
        text = phrase("A grid needs values for “{path}”; a range is for random and tpe",
                      path=field.path)  # fmt: skip
        yield Problem(text, ("search",))


def _check_value(job: "JobSpec", path: str, value: JsonValue) -> str | None:
    """The problem of a single value; rules across fields are checked per combination."""
    from engine.config.validation import describe_problem

    try:
        with_values(job, {path: value})
    except ValidationError as error:
        errors = [item for item in error.errors() if item["loc"]]
        return describe_problem(errors[0]) if errors else None
    return None
