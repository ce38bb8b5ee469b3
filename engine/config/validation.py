"""Validation errors of pydantic as sentences."""

from typing import Any

from pydantic import ValidationError

from engine.config.problems import BrokenRules, Problem
from engine.errors import StudioError
from engine.phrases import join, phrase

# discriminator values that pydantic adds to the location
TAGS = {"scratch", "checkpoint", "stored", "file"}


def list_problems(error: ValidationError) -> list[Problem]:
    """All problems of a validation, with the paths of their fields."""
    return [problem for item in error.errors() for problem in _convert_error(item)]


def describe_validation(error: ValidationError, where: str) -> StudioError:
    """All problems of the object named `where`, in one error."""
    text = join("; ", map(_with_field, list_problems(error)))
    return StudioError(
        "{where} is not valid: {wrong}.", "Please correct these fields.", where=where, wrong=text
    )


def _with_field(problem: Problem) -> str:
    """Add the field name; a rule over several fields names them itself."""
    if len(problem.fields) != 1:
        return problem.text
    return phrase("{field}: {problem}", field=problem.fields[0], problem=problem.text)


def _convert_error(item: Any) -> list[Problem]:
    path = tuple(str(part) for part in item["loc"] if part not in TAGS)
    error = item.get("ctx", {}).get("error")
    if isinstance(error, BrokenRules):
        return [_prefix_fields(path, problem) for problem in error.problems]
    if isinstance(error, ValidationError):  # a part that was validated separately
        return [_prefix_fields(path, problem) for problem in list_problems(error)]
    return [Problem(describe_problem(item), (".".join(path),) if path else ())]


def _prefix_fields(prefix: tuple[str, ...], problem: Problem) -> Problem:
    return Problem(problem.text, tuple(".".join((*prefix, field)) for field in problem.fields))


def describe_problem(item: Any) -> str:
    """One of `ValidationError.errors()` as the end of a sentence, without a full stop."""
    context = item.get("ctx", {})
    match item["type"]:
        case "greater_than":
            return phrase("must be greater than {bound}", bound=_format_bound(context["gt"]))
        case "greater_than_equal":
            return phrase("must be at least {bound}", bound=_format_bound(context["ge"]))
        case "less_than":
            return phrase("must be less than {bound}", bound=_format_bound(context["lt"]))
        case "less_than_equal":
            return phrase("must be at most {bound}", bound=_format_bound(context["le"]))
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


def _format_bound(bound: float) -> float:
    """A bound without “.0” after a whole number."""
    return int(bound) if bound == int(bound) else bound
