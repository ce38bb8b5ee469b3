"""Validation errors of pydantic as sentences."""

from typing import Any

from pydantic import ValidationError

from engine.config.problems import BrokenRules, Problem
from engine.errors import StudioError
from engine.phrases import join, phrase

# discriminator values that pydantic adds to the location
TAGS = {"scratch", "checkpoint", "stored", "file"}


def problems_in(error: ValidationError) -> list[Problem]:
    """All problems of a validation, with the paths of their fields."""
    return [problem for item in error.errors() for problem in _problems_of(item)]


def describe_validation(error: ValidationError, where: str) -> StudioError:
    """All problems of the object named `where`, in one error."""
    wrong = join("; ", map(_with_field, problems_in(error)))
    return StudioError(
        "{where} is not valid: {wrong}.", "Please correct these fields.", where=where, wrong=wrong
    )


def _with_field(problem: Problem) -> str:
    """Add the field name; a rule over several fields names them itself."""
    if len(problem.fields) != 1:
        return problem.text
    return phrase("{field}: {problem}", field=problem.fields[0], problem=problem.text)


def _problems_of(item: Any) -> list[Problem]:
    path = tuple(str(part) for part in item["loc"] if part not in TAGS)
    error = item.get("ctx", {}).get("error")
    if isinstance(error, BrokenRules):
        return [_below(path, problem) for problem in error.problems]
    if isinstance(error, ValidationError):  # of a part that was validated by itself
        return [_below(path, problem) for problem in problems_in(error)]
    return [Problem(problem_of(item), (".".join(path),) if path else ())]


def _below(place: tuple[str, ...], problem: Problem) -> Problem:
    """Prefix the fields of a problem with the path `place`."""
    return Problem(problem.text, tuple(".".join((*place, field)) for field in problem.fields))


def problem_of(item: Any) -> str:
    """One of `ValidationError.errors()` as the end of a sentence, without a full stop."""
    context = item.get("ctx", {})
    match item["type"]:
        case "greater_than":
            return phrase("must be greater than {bound}", bound=_plain(context["gt"]))
        case "greater_than_equal":
            return phrase("must be at least {bound}", bound=_plain(context["ge"]))
        case "less_than":
            return phrase("must be less than {bound}", bound=_plain(context["lt"]))
        case "less_than_equal":
            return phrase("must be at most {bound}", bound=_plain(context["le"]))
        case "int_parsing" | "int_type" | "int_from_float":
            return phrase("must be a whole number")
        case "float_parsing" | "float_type" | "finite_number":
            return phrase("must be a number")
        case "bool_parsing" | "bool_type":
            return phrase("must be true or false")
        case "missing" | "string_too_short":
            return phrase("is required")
        case "extra_forbidden":
            return phrase("is not a known setting")
        case "literal_error" | "enum":
            return phrase("must be {expected}", expected=context["expected"])
        case "string_too_long":
            return phrase("must have at most {bound} characters", bound=context["max_length"])
        case "value_error" if context["error"].args:
            reason = context["error"].args[0]
            return reason if isinstance(reason, str) else str(reason)
    return str(item["msg"])


def _plain(bound: float) -> float:
    """A bound without “.0” after a whole number."""
    return int(bound) if bound == int(bound) else bound
