"""Settings of jobs by path, compact enough for ten thousand jobs, and their titles."""

from collections.abc import Iterator
from functools import cache
from typing import Any

from pydantic import BaseModel

from engine.config.families.bert import BertSpec
from engine.config.features import Features
from engine.config.fields import get_settings
from engine.config.job import FromScratch
from engine.config.tasks import TASKS
from engine.config.training import HardwareSpec, TrainingSpec

Value = str | int | float | bool | None
EXCLUDED = ("name",)  # the user may have renamed the run
MAX_SHARED = 50_000  # values shared among jobs

_layouts: dict[tuple[str, ...], dict[str, int]] = {}
_shared: dict[tuple[type, Value], Value] = {}


def is_number(value: Value) -> bool:
    """True for numbers, but not for booleans."""
    return isinstance(value, int | float) and not isinstance(value, bool)


class JobFields:
    """Settings by path, such as “training.learning_rate”. Jobs of one kind share the paths, and all
    jobs share equal values."""

    __slots__ = ("_layout", "_values")

    def __init__(self, job: dict[str, Any]) -> None:
        """`job` is a JobSpec of any version, as JSON."""
        pairs = list(_flatten(job, ""))
        paths = tuple(path for path, _ in pairs)
        self._layout = _layouts.setdefault(paths, {path: n for n, path in enumerate(paths)})
        self._values = tuple(_intern(value) for _, value in pairs)

    def get(self, path: str) -> Value:
        """The value at `path`; None if the job lacks it."""
        index = self._layout.get(path)
        return None if index is None else self._values[index]

    def paths(self) -> tuple[str, ...]:
        """All paths, in job order."""
        return tuple(self._layout)


def _flatten(job: dict[str, Any], path: str) -> Iterator[tuple[str, Value]]:
    for name, value in job.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{path}{name}.")
        elif isinstance(value, list):
            yield f"{path}{name}", ", ".join(map(str, value))
        elif path or name not in EXCLUDED:
            yield f"{path}{name}", value if isinstance(value, Value) else str(value)


def _intern(value: Value) -> Value:
    if len(_shared) > MAX_SHARED:
        _shared.clear()
    return _shared.setdefault((type(value), value), value)


@cache
def job_titles() -> dict[str, str]:
    """Titles of all settings by path; those of training come first."""
    specs: list[tuple[str, type[BaseModel]]] = [
        ("training.", TrainingSpec),
        *(("task.", kind) for kind in TASKS.values()),
        ("features.", Features),
        ("base_model.", FromScratch),
        ("base_model.model.", BertSpec),
        ("hardware.", HardwareSpec),
    ]
    result: dict[str, str] = {}
    for path, spec in specs:
        for name, info in get_settings(spec).items():
            result.setdefault(f"{path}{name}", str(info.title))
    return result
