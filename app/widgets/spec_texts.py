"""Specs in the user's language: titles, helps, values, and what is wrong with them."""

from collections.abc import Callable
from typing import Any

from pydantic.fields import FieldInfo
from PySide6.QtCore import QCoreApplication

from app.translation import in_language
from app.widgets.number_field import written
from engine.validation import problem_of


def _tr(text: str) -> str:
    return QCoreApplication.translate("form", text)


def title_of(name: str, info: FieldInfo) -> str:
    """The title of a field in the user's language."""
    return in_language(info.title or name.replace("_", " ").capitalize())


def short_title_of(name: str, info: FieldInfo) -> str:
    """The title without what stands in brackets behind it, for a list of several."""
    return title_of(name, info).partition(" (")[0]


def help_of(info: FieldInfo) -> str:
    """The help text of a field in the user's language."""
    return in_language(info.description) if info.description else ""


NAMES: dict[str, Callable[[], str]] = {
    "auto": lambda: _tr("Automatic"),
    "cpu": lambda: _tr("CPU"),
    "cuda": lambda: _tr("GPU (CUDA)"),
    "mps": lambda: _tr("GPU (Apple Metal)"),
    "gelu": lambda: "GELU",
    "gelu_new": lambda: _tr("GELU (tanh approximation)"),
    "relu": lambda: "ReLU",
    "mlm": lambda: _tr("Masked language modelling (MLM)"),
    "clm": lambda: _tr("Causal language modelling (CLM)"),
    "dynamic": lambda: _tr("Dynamic"),
    "static": lambda: _tr("Static"),
    "query and value": lambda: _tr("Query and value"),
    "all": lambda: _tr("All matrices"),
    "fine-tuned": lambda: _tr("Fine-tuning"),
    "embeddings": lambda: _tr("Embeddings"),
    "second-to-last": lambda: _tr("Second-to-last layer"),
    "last": lambda: _tr("Last layer"),
    "sum of last four": lambda: _tr("Sum of the last four layers"),
    "concatenation of last four": lambda: _tr("Concatenation of the last four layers"),
    "sum of all": lambda: _tr("Sum of all layers"),
    "learned mix": lambda: _tr("Learned mix of layers"),
    "one layer": lambda: _tr("One layer"),
    "layer sweep": lambda: _tr("Layer probing sweep"),
    "bilstm": lambda: _tr("BiLSTM"),
    "linear": lambda: _tr("Linear layer"),
    "mean": lambda: _tr("Mean of the tokens"),
    "first": lambda: _tr("[CLS] token"),
}


def value_text(value: object) -> str:
    """A value of a spec as the window shows it."""
    if value is None:
        return _tr("as in the model")
    if isinstance(value, bool):
        return _tr("on") if value else _tr("off")
    if isinstance(value, int | float):
        return written(value)
    if isinstance(value, dict):
        pairs = [f"{name} {value_text(inner)}" for name, inner in value.items()]
        return ", ".join(pairs) or _tr("none")
    text = str(value) or _tr("none")
    return NAMES[text]() if text in NAMES else text


def problem_text(item: Any) -> str:
    """One of `ValidationError.errors()` as a sentence."""
    problem = in_language(problem_of(item)).rstrip(".")
    return f"{problem[:1].upper()}{problem[1:]}."
