"""Specs in the user's language: titles, helps, values, and what is wrong with them."""

from collections.abc import Callable
from typing import Any

from pydantic.fields import FieldInfo
from PySide6.QtCore import QCoreApplication

from app.translation import in_language
from app.widgets.number_field import written


def _tr(text: str) -> str:
    return QCoreApplication.translate("form", text)


def title_of(name: str, info: FieldInfo) -> str:
    """The title of a field in the user's language."""
    return in_language(info.title or name.replace("_", " ").capitalize())


def help_of(info: FieldInfo) -> str:
    """The help text of a field in the user's language."""
    return in_language(info.description) if info.description else ""


NAMES: dict[str, Callable[[], str]] = {
    "auto": lambda: _tr("Automatic"),
    "cpu": lambda: _tr("CPU"),
    "cuda": lambda: _tr("GPU (CUDA)"),
    "mps": lambda: _tr("GPU (Apple Metal)"),
    "fp32": lambda: _tr("32 bit"),
    "bf16": lambda: _tr("16 bit (bfloat16)"),
    "fp16": lambda: _tr("16 bit (float16)"),
    "gelu": lambda: "GELU",
    "gelu_new": lambda: _tr("GELU (tanh approximation)"),
    "relu": lambda: "ReLU",
    "mlm": lambda: _tr("Masked language modelling (MLM)"),
    "clm": lambda: _tr("Causal language modelling (CLM)"),
    "csv": lambda: "CSV",
    "tsv": lambda: "TSV",
    "jsonl": lambda: _tr("JSON lines"),
    "text": lambda: _tr("Plain text"),
}


def value_in_words(value: object) -> str:
    """A value of a spec as the window shows it."""
    if value is None:
        return _tr("as the model has it")
    if isinstance(value, bool):
        return _tr("on") if value else _tr("off")
    if isinstance(value, int | float):
        return written(value)
    if isinstance(value, dict):
        pairs = [f"{name} {value_in_words(inner)}" for name, inner in value.items()]
        return ", ".join(pairs) or _tr("none")
    text = str(value) or _tr("nothing")
    return NAMES[text]() if text in NAMES else text


def problem_in_words(item: dict[str, Any]) -> str:
    """One error of pydantic as a sentence."""
    context = item.get("ctx", {})
    bound = next((context[key] for key in ("gt", "ge", "lt", "le") if key in context), None)
    match item["type"]:
        case "greater_than":
            return _tr("This must be above {0}.").format(value_in_words(bound))
        case "greater_than_equal":
            return _tr("This must be at least {0}.").format(value_in_words(bound))
        case "less_than":
            return _tr("This must be below {0}.").format(value_in_words(bound))
        case "less_than_equal":
            return _tr("This must be at most {0}.").format(value_in_words(bound))
        case "int_parsing" | "int_type" | "int_from_float":
            return _tr("This must be a whole number.")
        case "float_parsing" | "float_type":
            return _tr("This must be a number.")
        case "missing" | "string_too_short":
            return _tr("This must be filled in.")
        case "value_error":
            message = str(context.get("error", item["msg"]))
            return f"{message[:1].upper()}{message[1:]}."
    return f"{item['msg']}."
