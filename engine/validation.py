"""What pydantic found wrong with a spec, in words."""

from typing import Any

from pydantic import ValidationError

from engine.errors import StudioError
from engine.phrases import joined, phrase


def describe_validation(error: ValidationError, where: str) -> StudioError:
    """Every wrong field of what `where` names, in one error."""
    wrong = joined("; ", (_of_field(item) for item in error.errors()))
    return StudioError(
        phrase("{where} is not valid: {wrong}.", where=where, wrong=wrong),
        phrase("Please correct these fields."),
    )


def _of_field(item: Any) -> str:
    field = ".".join(str(part) for part in item["loc"])
    problem = problem_of(item)
    return phrase("{field}: {problem}", field=field, problem=problem) if field else problem


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
            found = context["error"].args[0]
            return found if isinstance(found, str) else str(found)
    return str(item["msg"])


def _plain(bound: float) -> float:
    """A bound without “.0” behind a whole number."""
    return int(bound) if bound == int(bound) else bound
