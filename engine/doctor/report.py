"""Results of the checks, as data and as lines for people."""

import math
from collections.abc import Iterator

from pydantic import BaseModel, ConfigDict, computed_field


class Figure(BaseModel):
    """A measured value; it passes up to `limit`, and is only reported if that is None."""

    model_config = ConfigDict(frozen=True)

    name: str
    value: float | None  # None: not finite
    limit: float | None = None
    unit: str = ""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def passed(self) -> bool:
        return self.limit is None or (self.value is not None and self.value <= self.limit)


class StepError(BaseModel):
    """An error that ended one step of a check; `details` are empty if the problem is complete."""

    model_config = ConfigDict(frozen=True)

    name: str
    problem: str
    details: str = ""


class CheckResult(BaseModel):
    """One check: its figures, and the errors in its steps."""

    model_config = ConfigDict(frozen=True)

    name: str
    figures: tuple[Figure, ...] = ()
    faults: tuple[StepError, ...] = ()
    seconds: float = 0.0

    @computed_field  # type: ignore[prop-decorator]
    @property
    def passed(self) -> bool:
        return not self.faults and all(figure.passed for figure in self.figures)


class Report(BaseModel):
    """All checks of a device, and the machine."""

    model_config = ConfigDict(frozen=True)

    device: str
    environment: dict[str, str]
    checks: tuple[CheckResult, ...] = ()

    @computed_field  # type: ignore[prop-decorator]
    @property
    def passed(self) -> bool:
        return all(check.passed for check in self.checks)

    @property
    def failed(self) -> list[str]:
        """The names of the checks that failed."""
        return [check.name for check in self.checks if not check.passed]


def bounded_figure(name: str, value: float, limit: float = 0.0, unit: str = "") -> Figure:
    """A figure that must not be above `limit`; a value that is not finite fails."""
    return Figure(name=name, value=value if math.isfinite(value) else None, limit=limit, unit=unit)


def unbounded_figure(name: str, value: float, unit: str) -> Figure:
    """A figure without a limit."""
    return Figure(name=name, value=value if math.isfinite(value) else None, unit=unit)


def head(report: Report) -> Iterator[str]:
    """Lines about the device and the machine."""
    width = max(map(len, report.environment), default=0)
    for name, value in report.environment.items():
        yield f"{name:{width}}  {value}"


def lines(check: CheckResult) -> Iterator[str]:
    """Lines of a check and its figures."""
    yield f"{_word(check.passed)}  {check.name}  ({check.seconds:.1f} s)"
    for figure in check.figures:
        value = "not a number" if figure.value is None else f"{figure.value:.3g}"
        unit = f" {figure.unit}" if figure.unit else ""
        bound = "" if figure.limit is None else f"  (at most {figure.limit:.3g})"
        mark = "      " if figure.passed else "FAILED"
        yield f"  {mark}  {figure.name}: {value}{unit}{bound}"
    for fault in check.faults:
        yield f"  FAILED  {fault.name}: {fault.problem}"
        yield from (f"          {line}" for line in fault.details.splitlines())


def _word(passed: bool) -> str:
    return "passed" if passed else "FAILED"
